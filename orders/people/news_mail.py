"""The mail with a person's news, in plain text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.mime.text import MIMEText
from zoneinfo import ZoneInfo

from django.core.mail import EmailMessage
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy, ngettext_lazy

from crm_sync.admin.ui.cells import local_time
from crm_sync.links import absolute
from crm_sync.mail import message
from crm_sync.translated import Counted, Text, number
from orders.models.news import News
from orders.people.happenings import Happening

# Of orders, with their number.
WORDS: Mapping[News, Text] = {
    News.UNCERTAIN: ngettext_lazy("%(count)s is uncertain", "%(count)s are uncertain", "count"),
    News.ACTION: ngettext_lazy("%(count)s needs action", "%(count)s need action", "count"),
    News.CANCELLED: ngettext_lazy("%(count)s was cancelled", "%(count)s were cancelled", "count"),
    News.SCHEDULED: ngettext_lazy(
        "%(count)s has an appointment", "%(count)s have an appointment", "count"
    ),
    News.DELIVERED: ngettext_lazy("%(count)s was delivered", "%(count)s were delivered", "count"),
}


@dataclass(frozen=True)
class Invitation:
    """What a mail says and carries about the appointments of its orders.

    Attributes:
        lines: by the key of an order.
        files: name, METHOD and text of each file for calendar programs.
    """

    lines: Mapping[int, Sequence[str]] = field(default_factory=dict)
    files: Sequence[tuple[str, str, str]] = ()


NO_INVITATION = Invitation()
ADVICE = gettext_lazy(
    "It is not known whether the platform took it: look there before you send it again."
)


def written(
    found: Sequence[Happening],
    numbers: Mapping[News, int],
    *,
    to: str,
    since: datetime,
    zone: ZoneInfo,
    invitation: Invitation = NO_INVITATION,
) -> EmailMessage:
    """Return the mail. The same content has the same Message-ID, which identifies a copy.

    Args:
        found: the lines that it shows.
        numbers: the number of news of each kind.
        since: the mail contains what happened after it.
        invitation: of the appointments of its orders.
    """
    lines = lines_of(found, numbers, since=since, zone=zone, invitation=invitation)
    mail = message(subject_of(numbers), lines, [to])
    for name, method, text in invitation.files:
        part = MIMEText(text, "calendar", "utf-8")
        part.set_param("method", method)  # RFC 6047
        part.add_header("Content-Disposition", "attachment", filename=name)
        mail.attach(part)
    return mail


def subject_of(numbers: Mapping[News, int]) -> str:
    """Return the numbers, the most urgent first: "Orders: 1 is uncertain, 3 need action"."""
    parts = ", ".join(_words(kind, numbers[kind]) for kind in News if kind in numbers)
    return _("Orders: %(news)s") % {"news": parts}


def lines_of(
    found: Sequence[Happening],
    numbers: Mapping[News, int],
    *,
    since: datetime,
    zone: ZoneInfo,
    invitation: Invitation = NO_INVITATION,
) -> list[str]:
    """Return the lines grouped by kind, each with its moment and its page."""
    with timezone.override(zone):
        lines = [_("What happened since %(moment)s:") % {"moment": local_time(since)}, ""]
        for kind in News:
            mine = [one for one in found if one.kind == kind]
            if mine:
                lines.append(_words(kind, numbers[kind]))
                lines += [str(ADVICE)] if kind is News.UNCERTAIN else []
                for one in mine:
                    page = f"admin:{one.model.replace('.', '_')}_change"
                    lines.append(f"- {one.name}, {local_time(one.at)}")
                    if kind is News.SCHEDULED:
                        lines += [f"  {text}" for text in invitation.lines.get(one.key, ())]
                    lines.append(f"  {absolute(page, one.key)}")
                lines.append("")
    more = sum(numbers.values()) - len(found)
    if more > 0:
        listed = {"count": number(more), "address": absolute("admin:orders_order_changelist")}
        lines += [_("and %(count)s more: %(address)s") % listed, ""]
    return [*lines, _("You chose this mail: %(address)s") % {"address": absolute(MINE)}]


MINE = "admin:orders_personsettings_mine"


def _words(kind: News, count: int) -> str:
    return WORDS[kind] % {"count": Counted(count)}
