"""Recovers missed events from the trigger history, a second channel (§2.2, I19-I21).

A poll reads the webhook's configuration, and the history if it may have new records. Each event
that we did not receive goes through the same inbox. If a poll cannot account for every attempt, it
records a `Gap`: every open order is read again, and a person sees the interval.
"""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync import hooks, tracing
from crm_sync.inbox import masking, store
from crm_sync.models import Gap, ReceivedEvent, WebhookMonitor, Workspace, due
from crm_sync.platform.client import Client
from crm_sync.platform.errors import NotFoundError, SyncError, TransientError, problem_of
from crm_sync.sentence import sentence
from crm_sync.text import clean
from crm_sync.webhook import configuration, history, schedule
from crm_sync.webhook.history import KEPT, Document, HistoryRecord
from crm_sync.work import leases
from crm_sync.work.leases import Claim
from crm_sync.work.queues import RowQueue

log = logging.getLogger(__name__)

MICROSECOND = timedelta(microseconds=1)
SILENCE = timedelta(seconds=35)  # a callback has 30 seconds (§6.1 rule 3), and a few to arrive
UNAUTHORIZED = 401  # the answer of our own address to a wrong secret


class PollOutcome(StrEnum):
    """The outcome of a poll."""

    AS_BEFORE = "as before"
    POLLED = "polled"  # the history was read, too
    GAP = "gap"
    PUT_OFF = "put off"


@dataclass(frozen=True)
class PollResult:
    """The data that a poll has read.

    Attributes:
        configuration: None if no webhook is configured (A20).
        as_of: the time by the platform's clock; by ours if the answer has no date.
        records: the history, oldest first, or None if there was no reason to read it.
    """

    configuration: Document | None
    as_of: datetime
    records: list[HistoryRecord] | None

    @property
    def attempted_at(self) -> datetime | None:
        """The time of the last attempt, from the configuration."""
        return history.moment((self.configuration or {}).get("lastTriggeredAt"))


def poll(claim: Claim[WebhookMonitor], *, now: datetime) -> PollOutcome:
    """Poll the webhook of one workspace and write the result.

    Raises:
        LeaseLost: another worker holds the row now.
    """
    try:
        return _poll(claim, Workspace.objects.get(pk=claim.row.workspace_id), now=now)
    except leases.LeaseLost:
        raise
    except SyncError as error:
        return _put_off(claim, error, now=now)
    except Exception as error:
        # A bug of ours, or a secret that no key decrypts: the row must not stay leased.
        log.exception("the poll of %s failed", claim.row)
        return _put_off(claim, error, now=now)


def _poll(claim: Claim[WebhookMonitor], workspace: Workspace, *, now: datetime) -> PollOutcome:
    with workspace.calling() as client:
        result = _read(client, claim.row, now=now)
    return _apply(claim, workspace, result, now=now)


def _read(client: Client, known: WebhookMonitor, *, now: datetime) -> PollResult:
    try:
        answer = client.get_webhook()
        if not isinstance(answer.document, dict):
            raise TransientError(
                sentence("the webhook configuration is not a JSON object"), unclear=False
            )
        result = PollResult(answer.document, answer.as_of or now, None)
        if not known.is_certain and result.attempted_at == known.last_triggered_at:
            return result
        records = [history.record(one) for one in client.get_triggers()]
    except NotFoundError:
        return PollResult(None, now, [])
    return PollResult(result.configuration, result.as_of, history.in_order(records))


def _apply(
    claim: Claim[WebhookMonitor], workspace: Workspace, result: PollResult, *, now: datetime
) -> PollOutcome:
    """Store the missed events, request reads for the gaps, then write how far we have polled.

    If the process dies in between, nothing is lost: the next poll finds the same events again.
    """
    known = claim.row
    seen = set(known.window)
    new = [one for one in result.records or [] if one.key not in seen]
    recovered = _store(workspace, new, now=now)
    is_accounted = _is_accounted(known, result, new, now=now)
    gaps = _gaps(known, result, new, is_accounted=is_accounted)
    if gaps:
        asked = sum(ask(workspace.pk, now) for ask in hooks.plugged().after_gap)
        for gap in gaps:
            gap.noticed_at, gap.asked = now, asked
    with transaction.atomic():
        Gap.objects.bulk_create(gaps)
        drift = _drift(known, workspace, result, new)
        failed = [one for one in new if one.is_success is False]
        columns: dict[str, Any] = {
            "attempts": 0,
            "problem": "",
            "polled_at": now,
            "drift": drift,
            "drift_since": (known.drift_since or now) if drift else None,
            **_last_failure(workspace, failed),
        }
        if result.records is not None:
            times = [one.at for one in result.records if one.at]
            columns |= {
                "window": [one.key for one in result.records],
                "window_until": max(times, default=None),
            }
        if is_accounted or gaps:
            columns["last_triggered_at"] = result.attempted_at
        # A person may reset these counters at the same time.
        claim.fenced.update(recovered=F("recovered") + recovered, failed=F("failed") + len(failed))
        claim.finish(due_at=now + schedule.pause(workspace.pk, now=now), **columns)
    if gaps:
        return PollOutcome.GAP
    return PollOutcome.AS_BEFORE if result.records is None else PollOutcome.POLLED


def _store(workspace: Workspace, records: list[HistoryRecord], *, now: datetime) -> int:
    """Store each event that was not received in any way, oldest first."""
    events = {one.digest: one for one in records if one.payload is not None}
    lacking = store.lacking(workspace.pk, set(events)) if events else set()
    missed = [one for digest, one in events.items() if digest in lacking]
    # A claim sorts only by `due_at`, so one time for all would mix events at the end of a batch.
    for after, one in zip(range(len(missed), 0, -1), missed, strict=True):
        with tracing.under(""):  # it gets an id of its own, and the poll keeps its own
            store.store(
                workspace.pk,
                one.body,
                headers=clean(masking.masked_headers(one.headers, workspace))[0],
                method="",
                source=ReceivedEvent.Source.HISTORY,
                now=now - after * MICROSECOND,
            )
    return len(missed)


def _is_accounted(
    known: WebhookMonitor, result: PollResult, new: list[HistoryRecord], *, now: datetime
) -> bool:
    """Return whether we know the last attempt, from the history or from its callback.

    It compares ages, each by its own clock (I29).
    """
    attempted_at = result.attempted_at
    if attempted_at is None or attempted_at == known.last_triggered_at or new:
        return True
    newest = max((one.at for one in result.records or [] if one.at), default=None)
    if newest is not None and newest >= attempted_at - SILENCE:
        return True
    # A replay did not come from the platform.
    mine = ReceivedEvent.objects.filter(workspace_id=known.workspace_id, replay_of=None)
    came_at = mine.order_by("-received_at").values_list("received_at", flat=True).first()
    return came_at is not None and now - came_at <= result.as_of - attempted_at + SILENCE


def _gaps(
    known: WebhookMonitor, result: PollResult, new: list[HistoryRecord], *, is_accounted: bool
) -> list[Gap]:
    """Return the intervals in which events may have been lost (I21)."""
    found = []

    def add(why: Gap.Why, began_at: datetime | None, ended_at: datetime | None) -> None:
        end = ended_at or result.as_of  # from a `Date` of whole seconds, so perhaps too early
        end = max(end, began_at) if began_at else end
        mine = known.workspace_id
        found.append(Gap(workspace_id=mine, why=why, began_at=began_at, ended_at=end))

    records = result.records
    if records is not None and not {one.key for one in records} & set(known.window):
        if len(records) >= KEPT:
            add(Gap.Why.OVERFLOW, known.window_until, records[0].at)
        elif known.window:
            add(Gap.Why.ERASED, known.window_until, records[0].at if records else None)
    if unreadable := [one for one in new if one.payload is None]:
        add(Gap.Why.UNREADABLE, unreadable[0].at, unreadable[-1].at)
    if not is_accounted and result.attempted_at and result.as_of - result.attempted_at > SILENCE:
        add(Gap.Why.UNEXPLAINED, known.window_until, result.attempted_at)
    return found


def _drift(
    known: WebhookMonitor, workspace: Workspace, result: PollResult, new: list[HistoryRecord]
) -> dict[str, dict[str, str]]:
    """Compare the platform's configuration with ours (I26)."""
    theirs = result.configuration
    if theirs is None:
        return {configuration.GONE: {"theirs": "none configured", "ours": workspace.callback_url}}
    found = history.differences(theirs, configuration.expected(workspace))
    if workspace.auth_type == Workspace.AuthType.NONE:
        return found
    if theirs.get("hasAuthSecret") is False:
        found[configuration.NO_SECRET] = {"theirs": "no secret", "ours": "a secret"}
    elif not found.keys() & {"url", "authType", "authHeaderName", "authParameterName"}:
        # No endpoint returns the secret: only the answer of our own address shows a wrong one.
        tried = [one for one in new if one.is_success or one.status == UNAUTHORIZED]
        is_refused = (
            tried[-1].status == UNAUTHORIZED if tried else configuration.OTHER_SECRET in known.drift
        )
        if is_refused:
            found[configuration.OTHER_SECRET] = {"theirs": "another secret", "ours": "ours"}
    return found


def _last_failure(workspace: Workspace, failed: list[HistoryRecord]) -> dict[str, Any]:
    """Return the columns with the reason of the last failed attempt."""
    if not failed:
        return {}
    return {
        "last_failure": masking.masked_text(failed[-1].failure, workspace)[: history.SHOWN],
        "last_failure_at": failed[-1].at,
    }


def _put_off(claim: Claim[WebhookMonitor], error: Exception, *, now: datetime) -> PollOutcome:
    """Poll again between 15 and 60 seconds from now."""
    attempts = claim.row.attempts + 1
    wait = min(max(due.backoff(attempts), schedule.SOONEST), schedule.LATEST)
    claim.finish(due_at=now + wait, attempts=attempts, problem=problem_of(error))
    return PollOutcome.PUT_OFF


TRIGGERS = RowQueue(
    name=schedule.QUEUE,
    title=_("webhooks"),
    rows=lambda now: WebhookMonitor.objects.all(),
    work=lambda claims, turn: [poll(claim, now=timezone.now()) for claim in claims],
    wait=schedule.LATEST + leases.LEASE,
)
