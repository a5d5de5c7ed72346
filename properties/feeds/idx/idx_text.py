"""Read the texts of IDX columns: dates, flags and texts as people write them."""

import html
import re

from properties.catalog import parsing
from properties.catalog.numbers import Unreadable
from properties.feeds.idx.codes import COUNTRIES, CURRENCIES, NO_VALUE

_HEADINGS = tuple(f"h{level}" for level in range(1, 7))
# Only tags of HTML: "< 100 m2 >" is a text.
_TAG = re.compile(
    r"<(/?)(br|p|div|li|ul|ol|tr|table|td|th|tbody|h[1-6]|b|i|u|em|strong|small|big|span|font"
    r"|center|sup|sub|a|img)\b[^<>]*>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_BREAKS = frozenset({"br", "p", "div", "li", "ul", "ol", "tr", "table", *_HEADINGS})
# A record is one line, so programs write a line break as an escape.
_WRITTEN_BREAK = re.compile(r"(?:\\r)?\\n")
_EMPTY_LINES = re.compile(r"\n{3,}")
_SALUTATION = re.compile(
    r"^(?:herrn?|frau|hr\.|fr\.|monsieur|madame|mme|mr\.?|mrs\.?|ms\.?)\s+(?=\S)", re.IGNORECASE
)
# Not a person's name: it has a digit or a mark, or is a word of a company.
_NO_NAME = re.compile(
    r".*[\d.,;:/@&()].*|AG|GmbH|SA|Sàrl|Sagl|Team|Verkauf|Vermietung", re.I | re.DOTALL
)
_MAX_NAME = 255


def day(text: str) -> str:
    """Return a date in ISO form.

    Raises:
        Unreadable: the text is no date. There is no message for a word such as "sofort".
    """
    try:
        return parsing.day(text)
    except Unreadable:
        if not any(map(str.isdecimal, text)):
            raise Unreadable from None
        raise


# A blank is no flag. The field list reads it as N, but mostly the sender of a blank does not know.
# DOES_NOT_APPLY would then be a false claim, and each import would overwrite the value that a
# person set in the admin. An N is weak evidence too, but somebody wrote it. If a program writes it
# by default, the sender's flag "N" can be set to ignore it.
def flag(text: str) -> str:
    """Return APPLIES or DOES_NOT_APPLY.

    Raises:
        Unreadable: the text is neither yes nor no.
    """
    return "APPLIES" if parsing.yes_or_no(text) else "DOES_NOT_APPLY"


def is_no(text: str) -> bool:
    """Return whether a flag is a no."""
    try:
        return flag(text) == "DOES_NOT_APPLY"
    except Unreadable:
        return False


def says_nothing(text: str) -> bool:
    """Return whether a text means that there is no value, such as "auf Anfrage" or "-"."""
    return text.lower().strip(" .-\u2013") in NO_VALUE


# --- texts


def plain(text: str) -> str:
    """Return a text without HTML. Tags that end a line become line breaks, entities characters."""
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
    """Return a text of several lines without HTML and without blanks around the lines."""
    text = plain(text.replace("\r\n", "\n").replace("\r", "\n"))
    return _EMPTY_LINES.sub("\n\n", "\n".join(map(str.strip, text.split("\n"))))


def loses(text: str) -> bool:
    """Return whether `plain` loses a link or a picture of the text."""
    return "<" in text and any(tag[2].lower() in {"a", "img"} for tag in _TAG.finditer(text))


def _of_tag(tag: re.Match[str]) -> str:
    name = tag[2].lower()
    if name not in _BREAKS:
        return ""
    if name == "li":
        return "" if tag[1] else "\n- "
    return "\n"


# --- names and addresses


def person(text: str) -> tuple[str, str]:
    """Return given name and family name, without a salutation. If unsure, all is family name."""
    if len(text) > _MAX_NAME:
        return "", text
    name = _SALUTATION.sub("", text)
    words = name.split()
    if len(words) == 2 and not any(_NO_NAME.fullmatch(word) for word in words):
        return words[0], words[1]
    return "", name


def country(text: str) -> str:
    """Return the code of a country that is written in words or small letters."""
    return COUNTRIES.get(text.lower(), text.upper())


def currency(text: str) -> str:
    """Return the code of a currency that people write in another way, such as "Fr."."""
    return CURRENCIES.get(text.lower(), text.upper())
