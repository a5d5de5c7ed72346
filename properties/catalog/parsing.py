"""Read a number, a date, a time, a yes or a no from a text.

One rule for the form, the tables, IDX and SwissRETS: the same text is the same value, or is refused
for the same reason, wherever it is read.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, tzinfo
from typing import Any

from crm_sync.sentence import Sentence, sentence
from crm_sync.text import quoted
from properties.catalog.field import Field, Kind
from properties.catalog.numbers import FRANCS, LONGEST, Unreadable, number
from properties.catalog.written_days import in_digits

# The words for true and false in Excel, in the languages of Switzerland, and what people write.
_WORDS = {
    **dict.fromkeys(("true", "wahr", "vrai", "vero", "1", "x"), True),
    **dict.fromkeys(("yes", "y", "ja", "j", "oui", "si", "sì"), True),
    **dict.fromkeys(("false", "falsch", "faux", "falso", "0", "no", "n", "nein", "non"), False),
}

_DAY = re.compile(
    r"(?:(\d{4})-(\d{2})-(\d{2})|(\d{1,2})([.-])(\d{1,2})\5(\d{4}))"
    r"(?:[T ]+(\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?)\s?(Z|[+-]\d{2}:?\d{2})?|Z|[+-]\d{2}:\d{2})?",
    re.IGNORECASE | re.ASCII,
)


def read(field: Field, text: str, zone: tzinfo, currency: str = FRANCS, thousands: str = "") -> Any:
    """Return the value of a text in a field; unchanged if the field holds texts.

    Args:
        zone: that of a time without an offset.
        currency: the one that may stand beside an amount.
        thousands: the mark that groups thousands in the language of who typed the text.

    Raises:
        Unreadable: it can be no number, date, time, yes or no of the field.
    """
    match field.kind:
        case Kind.INTEGER | Kind.DECIMAL:
            return number(field, text, currency=currency, thousands=thousands)
        case Kind.BOOLEAN:
            return yes_or_no(text)
        case Kind.DATE:
            return day(text)
        case Kind.DATETIME:
            return moment(text, zone)
    if field.is_characteristic and text.lower() in _WORDS:
        return "APPLIES" if _WORDS[text.lower()] else "DOES_NOT_APPLY"
    return text


def fault(field: Field, text: str) -> Sentence | None:
    """Return why a text is no value of its field; None if it is one."""
    try:
        read(field, text, UTC)
    except Unreadable as error:
        return error.why
    return None


def day(text: str) -> str:
    """Return the day of a date in ISO form; a time behind it is left out.

    Raises:
        Unreadable: it is none.
    """
    return _cut(text, _no_date)[0]


def moment(text: str, zone: tzinfo) -> str:
    """Return a time in UTC in ISO form; a date without a time stays a date (A52).

    Args:
        zone: that of a time without an offset.

    Raises:
        Unreadable: it is none.
    """
    iso, time, offset = _cut(text, _no_time)
    if not time:
        return iso
    try:
        at = datetime.fromisoformat(f"{iso}T{time}{offset.upper()}")
        there = at if at.tzinfo else at.replace(tzinfo=zone)
        return there.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError):  # 25:00; year 1 in an offset east of UTC
        raise Unreadable(_no_time(text)) from None


def yes_or_no(text: str) -> bool:
    """Return True for a yes, and False for a no, in words of four languages or as 1 and 0.

    Raises:
        Unreadable: it is neither yes nor no.
    """
    word = _WORDS.get(text.strip().lower())
    if word is None:
        raise Unreadable(sentence("%(text)s is neither yes nor no", text=quoted(text)))
    return word


def _no_date(text: str) -> Sentence:
    return sentence("%(text)s is not a date such as 2026-01-31", text=quoted(text))


def _no_time(text: str) -> Sentence:
    return sentence("%(text)s is not a time such as 2026-01-31 09:00", text=quoted(text))


def _cut(text: str, refusal: Callable[[str], Sentence]) -> tuple[str, str, str]:
    """Split a text into the day in ISO form, the time and the offset.

    Args:
        refusal: what is said of a text that is none.
    """
    plain = text.strip()
    is_short = len(plain) <= LONGEST
    found = is_short and (_DAY.fullmatch(plain) or _DAY.fullmatch(in_digits(plain)))
    if not found:
        raise Unreadable(refusal(text))
    year, month, day_ = found.group(1, 2, 3) if found[1] else found.group(7, 6, 4)
    try:
        iso = date(int(year), int(month), int(day_)).isoformat()
    except ValueError:
        why = sentence("%(text)s is no day of the calendar", text=quoted(text))
        raise Unreadable(why) from None
    return iso, (found[8] or "").replace(",", "."), found[9] or ""
