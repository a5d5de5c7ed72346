"""What the text of an IDX column says: numbers, dates, flags and texts as people write them."""

import html
import re
from datetime import date

from properties.feeds.idx.codes import COUNTRIES, CURRENCIES, FLAGS, NO_VALUE
from properties.feeds.idx.columns import SMALL, UNITS, As


class Unreadable(Exception):
    """A text that is no value of its column; says why, or nothing where it is a harmless word."""


_SHORT = 60  # characters; what is longer is not a number

# Marks of thousands, of one kind, and a mark of decimals of another kind.
_DIGITS = re.compile(
    r"(\d{1,3}(?:(['\u2019\u00b4` \u00a0\u202f.,])\d{3})(?:\2\d{3})*|\d+)(?:([.,])(\d+))?"
)
_AMOUNT = re.compile(
    r"(?:ca\.?|circa|env\.?|environ|rund|~|chf|s?fr\.?|\s)*"
    r"([+-]?)(\d[\d'\u2019\u00b4`., \u00a0\u202f]*)?(½)?\s*(.*)",
    re.IGNORECASE | re.DOTALL,
)
_FRANCS = re.compile(r"[.,]\s*[-\u2013\u2014]{1,2}$")  # 1'200.- is a price
_FLOOR = re.compile(r"(\d{1,3})\.?\s*(OG|UG|STOCK|ETAGE|ÉTAGE|PIANO|OBERGESCHOSS|UNTERGESCHOSS)")
_FLOORS = {
    **dict.fromkeys(("EG", "ERDGESCHOSS", "PARTERRE", "HOCHPARTERRE", "REZ", "REZ-DE-CHAUSSÉE"), 0),
    **dict.fromkeys(("UG", "UNTERGESCHOSS", "SOUS-SOL"), -1),
}


def number(read: As, text: str) -> int | float:
    """Return the number that a column of numbers says: `112 m2`, `1'200`, `4,5`, `EG` of a floor.

    Raises:
        Unreadable: it is none, has a unit of another column, or may be one of two numbers.
    """
    if len(text) > _SHORT:
        raise Unreadable("is not a number")
    if text.isascii() and text.isdecimal():
        return int(text)
    floor = _floor(text.upper()) if read is As.FLOOR else None
    if floor is not None:
        return floor
    found = _AMOUNT.fullmatch(_FRANCS.sub("", text).replace(" 1/2", "½"))
    if found is None or not (found[2] or found[3]):
        raise Unreadable("is not a number")
    unit = found[4].rstrip(" .").lower().replace("²", "2").replace("³", "3")
    if unit not in UNITS[read]:
        raise Unreadable("is not a number of this column")
    value = _plain(read, found[2] or "0") + (0.5 if found[3] else 0)
    value = -value if found[1] == "-" else value
    return int(value) if value.is_integer() else value


def _floor(text: str) -> int | None:
    """Return the floor that words say: EG is 0, 2. UG is -2."""
    if counted := _FLOOR.fullmatch(text):
        return -int(counted[1]) if counted[2].startswith("U") else int(counted[1])
    return _FLOORS.get(text)


def _plain(read: As, digits: str) -> float:
    """Return what digits with their marks say."""
    found = _DIGITS.fullmatch(digits.rstrip(" \u00a0\u202f.,"))
    if found is None or (found[3] and found[3] == found[2]):
        raise Unreadable("is not a number")
    whole = re.sub(r"\D", "", found[1])
    if found[2] and found[2] in ".," and not found[3] and found[1].count(found[2]) == 1:
        before, after = found[1].split(found[2])
        if before != "0" and read not in SMALL:
            raise Unreadable(f"is unclear: it may be {before}{after} or {before}.{after}")
        return float(f"{before}.{after}")
    return float(f"{whole}.{found[4] or 0}")


# --- dates, flags

_DATE = re.compile(r"(\d{1,2})([.-])(\d{1,2})\2(\d{4})(?:[ T].*)?", re.DOTALL)
_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[ T].*)?", re.DOTALL)


def day(text: str) -> str:
    """Return a date in ISO form.

    Raises:
        Unreadable: it is none.
    """
    parts = _DATE.fullmatch(text[:_SHORT])
    iso = _ISO.fullmatch(text[:_SHORT])
    try:
        if parts:
            return date(int(parts[4]), int(parts[3]), int(parts[1])).isoformat()
        if iso:
            return date(int(iso[1]), int(iso[2]), int(iso[3])).isoformat()
    except ValueError as error:
        raise Unreadable("is no day of a calendar") from error
    raise Unreadable("is not a date" if any(map(str.isdecimal, text)) else "")


def flag(text: str) -> str:
    """Return APPLIES or DOES_NOT_APPLY.

    Raises:
        Unreadable: it says neither.
    """
    found = FLAGS.get(text.upper())
    if found is None:
        raise Unreadable("is neither yes (1, Y) nor no (0, N)")
    return found


def says_nothing(text: str) -> bool:
    """Say whether a text is how people write that there is no value: "auf Anfrage", "-"."""
    return text.lower().strip(" .-\u2013") in NO_VALUE


# --- texts

_HEADINGS = tuple(f"h{level}" for level in range(1, 7))
# Only tags of HTML: "< 100 m2 >" is a text. What is between them stays.
_TAG = re.compile(
    r"<(/?)(br|p|div|li|ul|ol|tr|table|td|th|tbody|h[1-6]|b|i|u|em|strong|small|big|span|font"
    r"|center|sup|sub|a|img)\b[^<>]*>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_BREAKS = frozenset({"br", "p", "div", "li", "ul", "ol", "tr", "table", *_HEADINGS})
# A line holds no line break, so programs write one as they would in their source.
_WRITTEN_BREAK = re.compile(r"(?:\\r)?\\n")
_EMPTY_LINES = re.compile(r"\n{3,}")


def plain(text: str) -> str:
    """Return a text without HTML: tags that end a line are line breaks, entities characters."""
    if "\\" in text:
        text = _WRITTEN_BREAK.sub("\n", text)
    if "<" in text:
        text = _TAG.sub(_of_tag, text)
    if "&" in text:
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text).replace("\u00a0", " ")
    return text.strip()


def in_one_line(text: str) -> str:
    """Return a short text without HTML and line breaks."""
    return " ".join(plain(text).split())


def in_lines(text: str) -> str:
    """Return a text of several lines without HTML; no line begins or ends with a blank."""
    text = plain(text.replace("\r\n", "\n").replace("\r", "\n"))
    return _EMPTY_LINES.sub("\n\n", "\n".join(map(str.strip, text.split("\n"))))


def loses(text: str) -> bool:
    """Say whether HTML in a text holds what `plain` leaves out: a link or a picture."""
    return "<" in text and any(tag[2].lower() in {"a", "img"} for tag in _TAG.finditer(text))


def _of_tag(tag: re.Match[str]) -> str:
    name = tag[2].lower()
    if name not in _BREAKS:
        return ""
    if name == "li":
        return "" if tag[1] else "\n- "
    return "\n"


# --- names and addresses

_NUMBER_LAST = re.compile(r",?\s+(\d{1,4}\s?[a-zA-Z]?(?:\s?[-/+]\s?\d{1,4}\s?[a-zA-Z]?)?)$")
_NUMBER_FIRST = re.compile(
    r"(\d{1,4}[a-zA-Z]?(?:[-/]\d{1,4})?),?\s+((?:rue|route|rte|avenue|av\.|chemin|ch\.|boulevard"
    r"|bd|place|quai|ruelle|allée|impasse|passage|sentier|square)\s.*)",
    re.IGNORECASE,
)
# Before a number that is none of a house.
_NO_STREET = re.compile(
    r"\b(postfach|case postale|casella|parzelle|parz\.?|nr\.?|no\.?|gb)\W*$", re.I
)
_SALUTATION = re.compile(
    r"^(?:herrn?|frau|hr\.|fr\.|monsieur|madame|mme|mr\.?|mrs\.?|ms\.?)\s+(?=\S)", re.IGNORECASE
)
# What is not a name: with a digit or a mark in it, or of a company.
_NO_NAME = re.compile(
    r".*[\d.,;:/@&()].*|AG|GmbH|SA|Sàrl|Sagl|Team|Verkauf|Vermietung", re.I | re.DOTALL
)
_MAX_NAME = 255


def street(text: str) -> tuple[str, str]:
    """Return a street and its number, "" where the text has none for certain."""
    if len(text) > _MAX_NAME:
        return text, ""
    if first := _NUMBER_FIRST.fullmatch(text):
        return first[2], first[1]
    last = _NUMBER_LAST.search(text)
    name = text[: last.start()] if last else ""
    if last is None or not any(map(str.isalpha, name)) or _NO_STREET.search(name):
        return text, ""
    return name, last[1]


def person(text: str) -> tuple[str, str]:
    """Return given and family name without a salutation; all is the family name if unsure."""
    if len(text) > _MAX_NAME:
        return "", text
    name = _SALUTATION.sub("", text)
    words = name.split()
    if len(words) == 2 and not any(_NO_NAME.fullmatch(word) for word in words):
        return words[0], words[1]
    return "", name


def country(text: str) -> str:
    """Return the code of a country that may be written in words or small letters."""
    return COUNTRIES.get(text.lower(), text.upper())


def currency(text: str) -> str:
    """Return the code of a currency that may be written as people write it."""
    return CURRENCIES.get(text.lower(), text.upper())
