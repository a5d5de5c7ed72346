"""The mail about a source: the report of an import, or why nothing was fetched."""

from collections.abc import Sequence
from enum import StrEnum
from smtplib import SMTPException

from django.core.mail import EmailMessage
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync import permits
from crm_sync.links import absolute
from crm_sync.mail import message
from crm_sync.platform.errors import problem_of
from crm_sync.text import capitalized
from crm_sync.work import queues
from crm_sync.work.leases import Claim
from crm_sync.work.queues import RowQueue, Turn
from properties.imports.report import OUTCOMES, Summary, count
from properties.models import Fetch, Import, Source
from properties.models.import_ import ImportState as State
from properties.sources.address import shown

QUEUE = "source_mails"
REFUSED = 20  # refused records that a mail names
_STATES = {
    State.PREVIEWED: "waits for you",
    State.DONE: "imported",
    State.UNCHANGED: "nothing changed",
    State.PARTLY: "partly imported",
    State.FAILED: "not imported",
    State.CANCELLED: "cancelled",
}
_ALARMS = {
    Fetch.Outcome.FAILED: "does not come",
    Fetch.Outcome.WAITS: "is still being uploaded",
    Fetch.Outcome.REFUSED: "cannot be fetched",
    Fetch.Outcome.AWAY: "stays away",
}


class MailOutcome(StrEnum):
    """The result of sending a mail."""

    SENT = "sent"
    NOBODY = "nobody"  # the source has no recipients any more
    PUT_OFF = "put off"  # the mail could not be sent


def work(claims: Sequence[Claim[Fetch]], turn: Turn) -> list[MailOutcome]:
    """Send the mail of each fetch that is due; the `work` of the queue.

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
    try:
        mail = written(row, to)
        with permits.away():
            mail.send()
    except (OSError, SMTPException) as error:
        queues.put_off(claim, problem=problem_of(error))
        return MailOutcome.PUT_OFF
    claim.finish(due_at=None, told_at=timezone.now(), attempts=0, problem="")
    return MailOutcome.SENT


def written(row: Fetch, to: Sequence[str]) -> EmailMessage:
    """Return the mail about a fetch."""
    source, done = row.source, row.imported
    what = _STATES[State(done.state)] if done and done.state in _STATES else ""
    what = what or _ALARMS.get(Fetch.Outcome(row.outcome), "is being imported")
    subject = " ".join(f"Feed of {source.sender.name}: {what}".split())
    lines = [
        f"{source.sender.name}, {shown(source.address)}",
        f"Workspace: {source.workspace.slug}",
        "",
    ]
    lines += _report(done) if done else [f"{capitalized(row.text)}.", ""]
    page = absolute("admin:properties_import_change", done.pk) if done else ""
    lines += [page or absolute("admin:properties_source_change", source.pk), ""]
    return message(subject, "\n".join(lines), to)


def _report(done: Import) -> list[str]:
    summary: Summary = done.summary
    lines = [f"File: {done.name}"]
    if done.state == State.PREVIEWED:
        lines.append("It is the first one: nothing was imported yet. Look at it, and press Import.")
    lines += [f"{done.problem}."] if done.problem else []
    lines += ["", *(f"{count(summary, name):>7,} {name}" for name in OUTCOMES)]
    for name in ("missing", "warned"):
        lines += [f"{count(summary, name):>7,} {name}"] if count(summary, name) else []
    refused = summary.get("refused", [])[:REFUSED]
    lines += ["", "Refused:"] if refused else []
    for position, reference, reasons in refused:
        lines.append(f"- {position}, {reference or 'no reference'}: {'; '.join(reasons)}")
    more = count(summary, "refused") - len(refused)
    return [*lines, *([f"- and {more:,} more"] if more > 0 else []), ""]
