"""The mail with a person's news, in plain text."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from django.core.mail import EmailMessage
from django.utils import timezone

from crm_sync.admin.ui.cells import local_time
from crm_sync.links import absolute
from crm_sync.mail import message
from orders.models.news import News
from orders.people.happenings import Happening

# Singular and plural.
WORDS: Mapping[News, tuple[str, str]] = {
    News.UNCERTAIN: ("is uncertain", "are uncertain"),
    News.ACTION: ("needs action", "need action"),
    News.CANCELLED: ("was cancelled", "were cancelled"),
    News.DELIVERED: ("was delivered", "were delivered"),
}
ADVICE = "It is not known whether the platform took it: look there before you send it again."


def written(
    found: Sequence[Happening],
    numbers: Mapping[News, int],
    *,
    to: str,
    since: datetime,
    zone: ZoneInfo,
) -> EmailMessage:
    """Return the mail. The same content has the same Message-ID, which identifies a copy.

    Args:
        found: the lines that it shows.
        numbers: the number of news of each kind.
        since: the mail contains what happened after it.
    """
    subject, body = subject_of(numbers), body_of(found, numbers, since=since, zone=zone)
    return message(subject, body, [to])


def subject_of(numbers: Mapping[News, int]) -> str:
    """Return the numbers, the most urgent first: "Orders: 1 is uncertain, 3 need action"."""
    parts = [f"{numbers[kind]} {_words(kind, numbers[kind])}" for kind in News if kind in numbers]
    return f"Orders: {', '.join(parts)}"


def body_of(
    found: Sequence[Happening],
    numbers: Mapping[News, int],
    *,
    since: datetime,
    zone: ZoneInfo,
) -> str:
    """Return the lines grouped by kind, each with its moment and its page."""
    with timezone.override(zone):
        lines = [f"What happened since {local_time(since)}:", ""]
        for kind in News:
            mine = [one for one in found if one.kind == kind]
            if mine:
                lines.append(f"{numbers[kind]} {_words(kind, numbers[kind])}")
                lines += [ADVICE] if kind is News.UNCERTAIN else []
                for one in mine:
                    lines += [f"- {_one_line(one.name)}, {local_time(one.at)}", f"  {_page(one)}"]
                lines.append("")
    more = sum(numbers.values()) - len(found)
    if more > 0:
        lines += [f"and {more} more: {absolute('admin:orders_order_changelist')}", ""]
    return "\n".join([*lines, f"You chose this mail: {absolute(MINE)}", ""])


MINE = "admin:orders_personsettings_mine"


def _words(kind: News, number: int) -> str:
    one, several = WORDS[kind]
    return one if number == 1 else several


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _page(one: Happening) -> str:
    return absolute(f"admin:{one.model.replace('.', '_')}_change", one.key)
