"""The mails about a source: the report of an import, or why nothing was fetched.

Each address gets a mail of its own, in the language of its account, so that one that the mail
server refuses keeps it from no other. Which have gone is known by their Message-ID: another state
of an import is another mail.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from django.conf import settings
from django.core.mail import EmailMessage
from django.utils import timezone, translation
from django.utils.translation import gettext, gettext_lazy as _, pgettext_lazy

from crm_sync import permits
from crm_sync.hooks import plugged
from crm_sync.links import absolute
from crm_sync.mail import MAIL_ERRORS, is_of_one_mail, message
from crm_sync.platform.errors import problem_of
from crm_sync.sentence import Sentence, said
from crm_sync.text import capitalized
from crm_sync.translated import Text, number, said_of
from crm_sync.work import leases, queues
from crm_sync.work.leases import Claim
from crm_sync.work.queues import RowQueue, Turn
from properties.imports.report import NAMES, OUTCOMES, Summary, count
from properties.models import Fetch, Import, Source
from properties.models.import_ import ImportState as State
from properties.sources.address import shown

QUEUE = "source_mails"
REFUSED = 20  # refused records that a mail names
_STATES: dict[State, Text] = {
    State.PREVIEWED: pgettext_lazy("feed", "waits for you"),
    State.DONE: pgettext_lazy("feed", "imported"),
    State.UNCHANGED: pgettext_lazy("feed", "nothing changed"),
    State.PARTLY: pgettext_lazy("feed", "partly imported"),
    State.FAILED: pgettext_lazy("feed", "not imported"),
    State.CANCELLED: pgettext_lazy("feed", "cancelled"),
}
_ALARMS: dict[str, Text] = {
    Fetch.Outcome.FAILED: pgettext_lazy("feed", "does not come"),
    Fetch.Outcome.WAITS: pgettext_lazy("feed", "is still being uploaded"),
    Fetch.Outcome.REFUSED: pgettext_lazy("feed", "cannot be fetched"),
    Fetch.Outcome.AWAY: pgettext_lazy("feed", "stays away"),
}
_UNDER_WAY = pgettext_lazy("feed", "is being imported")


class MailOutcome(StrEnum):
    """The result of sending a mail."""

    SENT = "sent"
    NOBODY = "nobody"  # the source has no recipients any more
    PUT_OFF = "put off"  # a mail could not be sent


def work(claims: Sequence[Claim[Fetch]], turn: Turn) -> list[MailOutcome]:
    """Send the mails of each fetch that is due; the `work` of the queue.

    Raises:
        LeaseLost: another worker holds the row now.
    """
    return [_send(claim) for claim in claims]


MAILS = RowQueue(
    name=QUEUE,
    title=_("source mails"),
    rows=lambda now: Fetch.objects.all(),
    work=work,
    calls=False,
)


def recipients(source: Source) -> list[str]:
    """Return the mail addresses of a source."""
    return source.mail_to.replace(",", " ").split()


def _send(claim: Claim[Fetch]) -> MailOutcome:
    row = claim.row
    to = recipients(row.source)
    if not to:
        claim.finish(due_at=None)
        return MailOutcome.NOBODY
    sent: list[str] = list(row.mails_sent)
    problem: Exception | None = None
    for address, language in _languages(to).items():
        with translation.override(language):
            mail = written(row, [address])
        name = mail.extra_headers["Message-ID"]
        if name in sent:
            continue
        try:
            with permits.away():
                mail.send()
        except MAIL_ERRORS as error:
            problem = error
            if not is_of_one_mail(error):
                break
        else:
            sent.append(name)
            if not claim.write({"mails_sent": sent}):
                raise leases.LeaseLost
    if problem is not None:
        queues.put_off(claim, problem=problem_of(problem))
        return MailOutcome.PUT_OFF
    done = {"told_at": timezone.now(), "attempts": 0, "problem": "", "mails_sent": []}
    claim.finish(due_at=None, **done)
    return MailOutcome.SENT


def _languages(addresses: Sequence[str]) -> Mapping[str, str]:
    """Return the language of each address: that of its account, else that of the program."""
    known: dict[str, str] = {}
    for languages in plugged().mail_languages:
        known |= languages(addresses)
    return {one: known.get(one.lower(), settings.LANGUAGE_CODE) for one in addresses}


def written(row: Fetch, to: Sequence[str]) -> EmailMessage:
    """Return the mail about a fetch, in the active language."""
    source, done = row.source, row.imported
    what = _STATES[State(done.state)] if done and done.state in _STATES else ""
    what = what or _ALARMS.get(Fetch.Outcome(row.outcome), _UNDER_WAY)
    subject = gettext("Feed of %(sender)s: %(why)s") % {"sender": source.sender.name, "why": what}
    lines = [
        f"{source.sender.name}, {shown(source.address)}",
        said_of(gettext("Workspace"), source.workspace.slug),
        "",
    ]
    lines += _report(done) if done else [f"{capitalized(said(row.text))}.", ""]
    page = absolute("admin:properties_import_change", done.pk) if done else ""
    lines.append(page or absolute("admin:properties_source_change", source.pk))
    return message(subject, lines, to)


def _report(done: Import) -> list[str]:
    summary: Summary = done.summary
    lines = [said_of(gettext("File"), done.name)]
    if done.state == State.PREVIEWED:
        lines.append(
            gettext("It is the first one: nothing was imported yet. Look at it, and press Import.")
        )
    lines += [f"{said(done.problem)}."] if done.problem else []
    also = [name for name in ("missing", "warned") if count(summary, name)]
    found = {name: number(count(summary, name)) for name in (*OUTCOMES, *also)}
    lines += ["", *(f"{found[name]:>7} {NAMES[name]}" for name in found)]
    refused = summary.get("refused", [])[:REFUSED]
    lines += ["", gettext("Refused:")] if refused else []
    without = gettext("no reference")
    for position, reference, reasons in refused:
        where, *why = (Sentence.of(one).said() for one in (position, *reasons))
        record = f"{where}, {reference or without}"
        lines.append(f"- {said_of(record, '; '.join(why))}")
    more = count(summary, "refused") - len(refused)
    rest = gettext("and %(count)s more") % {"count": number(more)}
    return [*lines, *([f"- {rest}"] if more > 0 else []), ""]
