"""What is wrong with a broken file, in words for people: parsers speak to programmers."""

import csv
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException

from properties.feeds import limits

DECLARES = "it declares entities or points outside, which no feed needs"
_NO_ELEMENT = 3  # expat: XML_ERROR_NO_ELEMENTS, where the file ends within an element

# What the parsers of JSON and CSV say of it, and what a person can do with.
_JSON = {
    "premature": limits.ENDS_EARLY,
    "incomplete": limits.ENDS_EARLY,
    "overflow": "it holds a number that is too large",
    "utf": "it holds a character that is not UTF-8",
}
_CSV = {
    "new-line": "a line end (CR) in a cell without quotes",
    "unexpected end": "its last cell has no closing quote",
    "expected after": "text follows the closing quote of a cell",
    "field larger": f"a cell has more than {limits.MAX_TEXT:,} characters",
}


def of_xml(error: Exception) -> str:
    """Say what is wrong with XML."""
    if isinstance(error, DefusedXmlException):  # before ValueError, which it is
        return DECLARES
    if not isinstance(error, ParseError):
        return "its encoding is not known"
    line, column = error.position
    where = f"line {line}, column {column + 1}"
    return f"{limits.ENDS_EARLY if error.code == _NO_ELEMENT else 'the mistake is'} at {where}"


def of_json(error: Exception) -> str:
    """Say what is wrong with JSON."""
    return _first(_JSON, str(error), "it holds what JSON does not know")


def of_csv(error: csv.Error) -> str:
    """Say what is wrong with CSV."""
    return _first(_CSV, str(error), "its quotes are not in order")


def of_encoding(error: UnicodeDecodeError) -> str:
    """Say which byte is no character."""
    return f"the byte {error.object[error.start]:02X} is no character: save the file as UTF-8"


def of_workbook(error: BaseException) -> str:
    """Say what is wrong with a workbook; the first cause counts, since openpyxl wraps it."""
    while error.__context__ is not None:
        error = error.__context__
    if isinstance(error, DefusedXmlException):
        return DECLARES
    return "a part of it is damaged: open it in Excel and save it again"


def _first(known: dict[str, str], text: str, other: str) -> str:
    return next((said for word, said in known.items() if word in text.lower()), other)
