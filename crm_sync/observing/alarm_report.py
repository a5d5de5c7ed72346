"""Reports the beginning and the end of alarms: a message for subscriptions, a mail for operators.

The message is written once, in the transaction that notes it. A mail goes at least once: if a
process dies after it was sent, its person may get it again, with the same Message-ID.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from crm_sync import hooks, mail, permits
from crm_sync.hooks import AlarmReader, MessageFacts, MessageKind
from crm_sync.models import Alarm, AlarmKind, Workspace
from crm_sync.outgoing import outbox
from crm_sync.outgoing.outbox import Message
from crm_sync.platform.errors import problem_of
from crm_sync.sentence import said
from crm_sync.translated import minute_in_words, number, said_of
from crm_sync.work import leases, queues
from crm_sync.work.leases import Claim
from crm_sync.work.queues import RowQueue, Turn

log = logging.getLogger(__name__)

QUEUE = "alarms"
BEGAN, ENDED = "BEGAN", "ENDED"
LINES = 30  # alarms in a mail, which only counts the others
TOGETHER = 100  # alarms of a workspace in one mail


class AlarmOutcome(StrEnum):
    """The outcome of a report."""

    TOLD = "told"
    PUT_OFF = "put off"  # a mail could not be sent


def work(claims: Sequence[Claim[Alarm]], turn: Turn) -> list[AlarmOutcome]:
    """Report some alarms of a workspace; the `work` of the queue.

    Raises:
        LeaseLost: another worker holds a row now.
    """
    return [report(claims)] * len(claims)


ALARMS = RowQueue(
    name=QUEUE,
    title=_("alarms"),
    rows=lambda now: Alarm.objects.exclude(kind=AlarmKind.NO_WORKER),
    work=work,
    calls=False,
    batch_size=TOGETHER,
)


def report_without_a_worker(now: datetime) -> AlarmOutcome | None:
    """Report in this process that no worker is alive, or that one is back; None if neither is new.

    It takes as long as its mails. Each ends within EMAIL_TIMEOUT.
    """
    mine = Alarm.objects.filter(kind=AlarmKind.NO_WORKER)
    claims = leases.claim_some(mine, now=now, limit=1)
    return report(claims) if claims else None


def report(claims: Sequence[Claim[Alarm]]) -> AlarmOutcome:
    """Write the messages about alarms and send the mails.

    Raises:
        LeaseLost: another process holds a row now.
    """
    for claim in claims:
        _tell(claim, now=timezone.now())
    problem: Exception | None = None
    for reader, mine in _mails(claims):
        if not all(claim.write({}) for claim in mine):
            raise leases.LeaseLost
        try:
            with permits.away():
                written([claim.row for claim in mine], reader).send()
        except mail.MAIL_ERRORS as error:
            log.warning("a mail about %s alarms could not be sent: %s", len(mine), error)
            problem = error
            if not mail.is_of_one_mail(error):
                break
        else:
            _note(mine, reader)
    for claim in claims:
        if problem is None:
            claim.finish(due_at=None, attempts=0, problem="")
        else:
            queues.put_off(claim, problem=problem_of(problem))
    return AlarmOutcome.TOLD if problem is None else AlarmOutcome.PUT_OFF


@transaction.atomic  # of half of them a repetition would be another mail, with another Message-ID
def _note(claims: Sequence[Claim[Alarm]], reader: AlarmReader) -> None:
    """Note that somebody got the mail about these alarms."""
    for claim in claims:
        claim.row.told_to = [*claim.row.told_to, reader.key]
        # If it has ended since, the list is that of the mail about its end.
        mine_still = claim.fenced.filter(ended_at=claim.row.ended_at)
        mine_still.update(told_to=claim.row.told_to)


def _tell(claim: Claim[Alarm], *, now: datetime) -> None:
    """Write the message about the beginning or the end, unless it was written before."""
    row = claim.row
    column = "end_told_at" if row.is_over else "told_at"
    if getattr(row, column) is not None:
        return
    with transaction.atomic():
        if not claim.fenced.filter(**{column: None}).update(**{column: now}):
            raise leases.LeaseLost
        for workspace_id in _workspaces(row):
            outbox.tell(workspace_id, [_message(row)], now=now)


def _workspaces(row: Alarm) -> list[int]:
    """Return the workspaces that get the message: all that want it, if the alarm is about none."""
    if row.workspace_id is not None:
        return [row.workspace_id]
    rows = Workspace.objects.order_by("pk").values_list("pk", "outgoing_kinds")
    return [key for key, kinds in rows if _name(row.kind) in kinds]


def _message(row: Alarm) -> Message:
    at = row.ended_at or row.began_at
    data = {
        "alarm": row.pk,
        "state": ENDED if row.is_over else BEGAN,
        "name": row.name,
        "text": format(row.text),
    }
    return Message(_name(row.kind), at, data)


def _name(kind: str) -> str:
    return f"alarm.{kind}"


def facts(workspace_id: int, documents: Sequence[Mapping[str, Any]]) -> list[MessageFacts]:
    """Return what a chat shows of messages about alarms. One query."""
    rows = Alarm.objects.in_bulk([one["alarm"] for one in documents])
    found = []
    for one in documents:
        row = rows.get(one["alarm"])
        text = one["text"] if row is None else said(row.text)
        if one["state"] == ENDED:
            text = gettext("It is over.")
        kind = "" if row is None else str(AlarmKind(row.kind).label)
        name = one["name"] or kind
        link = "" if row is None else _page(row)
        status = text if name == kind else said_of(kind, text)
        found.append(MessageFacts(name, "", status, link))
    return found


KINDS = tuple(MessageKind(_name(kind), kind.label, facts) for kind in AlarmKind)


def _mails(claims: Sequence[Claim[Alarm]]) -> list[tuple[AlarmReader, list[Claim[Alarm]]]]:
    """Return who gets a mail about which of these alarms, without those who have got it.

    The alarms are in the order of their keys: a repetition has the same text and Message-ID.
    """
    readers: dict[int, AlarmReader] = {}
    wanted: dict[int, list[Claim[Alarm]]] = {}
    for find in hooks.plugged().alarm_readers:
        for kind in {claim.row.kind for claim in claims}:
            some = [claim for claim in claims if claim.row.kind == kind]
            for reader in find(kind, some[0].row.workspace_id):
                new = [claim for claim in some if reader.key not in claim.row.told_to]
                if new:
                    readers[reader.key] = reader
                    wanted.setdefault(reader.key, []).extend(new)
    return [
        (readers[key], sorted(wanted[key], key=lambda one: one.row.pk)) for key in sorted(wanted)
    ]


def written(rows: Sequence[Alarm], reader: AlarmReader) -> EmailMessage:
    """Return the mail about alarms, in the language and time zone of who gets it."""
    language = reader.language or settings.LANGUAGE_CODE
    with translation.override(language), timezone.override(reader.zone):
        began = [row for row in rows if not row.is_over]
        ended = [row for row in rows if row.is_over]
        lines: list[str] = []
        for title, some in ((gettext("Alarms"), began), (gettext("Over"), ended)):
            lines += [f"{title}:", ""] if some else []
            for row in some[:LINES]:
                lines += [*_about(row), ""]
            more = {"count": number(len(some) - LINES)}
            lines += [gettext("and %(count)s more") % more, ""] if len(some) > LINES else []
        chosen = gettext("You chose this mail: %(address)s") % {"address": reader.settings_page}
        return mail.message(_subject(began, ended), [*lines, chosen], [reader.mail])


def _subject(began: Sequence[Alarm], ended: Sequence[Alarm]) -> str:
    if len(began) + len(ended) == 1:
        (row,) = (*began, *ended)
        title = gettext("Over") if row.is_over else gettext("Alarm")
        return said_of(title, _what(row))
    parts = []
    if began:
        text = ngettext("%(count)s alarm", "%(count)s alarms", len(began))
        parts.append(text % {"count": number(len(began))})
    if ended:
        text = ngettext("%(count)s alarm is over", "%(count)s alarms are over", len(ended))
        parts.append(text % {"count": number(len(ended))})
    return ", ".join(parts)


def _what(row: Alarm) -> str:
    label = str(AlarmKind(row.kind).label)
    return f"{label} ({row.name})" if row.name else label


def _about(row: Alarm) -> list[str]:
    times = {"began": minute_in_words(timezone.localtime(row.began_at))}
    if row.ended_at is None:
        since = gettext("since %(began)s") % times
    else:
        times["ended"] = minute_in_words(timezone.localtime(row.ended_at))
        since = gettext("from %(began)s to %(ended)s") % times
    return [f"- {_what(row)}", *(f"  {one}" for one in (said(row.text), since, _page(row)) if one)]


def _page(row: Alarm) -> str:
    return f"{settings.PUBLIC_BASE_URL}{row.page}"
