"""Pure: a day as people write it, with the name of its month or two digits of its year.

`24. November 2026`, `mar 24 nov. 2026` and `24.11.26` become `2026-11-24`. The names are those of
the four languages, whatever the reader's: none of them means two months. As for `strptime`, 00 to
68 are years of this century, and 69 to 99 of the last one. Where two digits may be a day as well
(`26-11-24`), or the month may stand first (`11/24/26`), the text is left as it is.
"""

import re
import unicodedata

_MONTHS = (
    ("januar", "janner", "january", "janvier", "gennaio"),
    ("februar", "february", "fevrier", "febbraio"),
    ("marz", "mrz", "march", "mars", "marzo"),
    ("april", "avril", "aprile"),
    ("mai", "may", "maggio"),
    ("juni", "june", "juin", "giugno"),
    ("juli", "july", "juillet", "luglio"),
    ("august", "aout", "agosto"),
    ("september", "septembre", "settembre"),
    ("oktober", "october", "octobre", "ottobre"),
    ("november", "novembre"),
    ("dezember", "december", "decembre", "dicembre"),
)
_WEEKDAYS = (
    *("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"),
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    *("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    *("lunedi", "martedi", "mercoledi", "giovedi", "venerdi", "sabato", "domenica"),
)
_NAMED = re.compile(
    r"(?:([^\W\d_]+)\.?,?\s+)?(\d{1,2})(?:\.|er|º|°)?\s*([^\W\d_]+)\.?\s*(\d{4}|\d{2})(?!\d)"
)
_SHORT = re.compile(r"(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{2})(?!\d)", re.ASCII)
_CENTURY = 69  # from here on the last one


def in_digits(text: str) -> str:
    """Return a text in which the day that it begins with is in ISO form; others are unchanged.

    What follows stays, without a comma before it: a time.
    """
    plain = text.strip()
    if found := _SHORT.match(plain):
        day, month, year = found.groups()
    elif found := _NAMED.match(plain):
        weekday, day, name, year = found.groups()
        month = _month(name)
        if not month or (weekday and not _is_weekday(weekday)):
            return text
    else:
        return text
    behind = plain[found.end() :].removeprefix(",")
    return f"{_year(year)}-{int(month):02}-{int(day):02}{behind}"


def _month(name: str) -> int:
    """Return the month with a name, or with its beginning, or 0 if it is none or several."""
    begins = _plain(name)
    found = [
        number
        for number, names in enumerate(_MONTHS, 1)
        if len(begins) > 2 and any(one.startswith(begins) for one in names)
    ]
    return found[0] if len(found) == 1 else 0


def _plain(name: str) -> str:
    """Return a name in small letters without accents."""
    return unicodedata.normalize("NFKD", name).casefold().encode("ascii", "ignore").decode()


def _is_weekday(name: str) -> bool:
    begins = _plain(name)
    return len(begins) > 1 and any(one.startswith(begins) for one in _WEEKDAYS)


def _year(digits: str) -> str:
    if len(digits) == 4:
        return digits
    return f"{19 if int(digits) >= _CENTURY else 20}{digits}"
