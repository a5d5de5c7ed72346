"""Pure: the keys by which a property of ours and one of the platform are recognised as the same.

Each criterion makes one text of a document, or None if the document says too little. Two
properties match if their texts are equal. Case, accents, separators and the usual abbreviations
do not count.
"""

import re
import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from crm_sync.text import plain
from properties.search_text import folded

LENGTH = 100  # characters of a key: three of them and a reference fit into one index

_OTHERS = re.compile(r"[\W_]+")
_NO_DIGITS = re.compile(r"\D+")
# "Seestr. 4" and "Seestrasse 4", also where the word is written by itself.
_STREET = re.compile(r"str(asse)?\b")
_ROOMS = re.compile(r"(\d{1,4})(?:\.(\d*?)0*)?")


class Criterion(StrEnum):
    """What a person chooses to match by."""

    REFERENCE = "reference"
    IS24 = "is24"
    UNIT = "egid"
    ADDRESS = "address"


def reference_key(reference: str | None) -> str | None:
    """Return the letters and digits of a reference: "MH-1001" and "mh 1001" are the same."""
    return _key(_signs(reference or ""))


def is24_key(document: Mapping[str, Any]) -> str | None:
    """Return the letters and digits of the `is24Id`."""
    return _key(_signs(_plain(document.get("is24Id"))))


def unit_key(document: Mapping[str, Any]) -> str | None:
    """Return EGID and EWID, the official numbers of the building and the dwelling, as "12/3".

    A building without an EWID, such as a house, is "12/". Without an EGID there is no key.
    """
    found = document.get("swissReferences")
    if not isinstance(found, Mapping):
        return None
    egid, ewid = (_number(found.get(name)) for name in ("egid", "ewid"))
    return _key(f"{egid}/{ewid}") if egid else None


def address_key(document: Mapping[str, Any]) -> str | None:
    """Return street, number, postal code and rooms. Without street or postal code there is no key.

    The locality does not count, because the postal code says it and people word it differently.
    """
    found = document.get("address")
    if not isinstance(found, Mapping):
        return None
    street, number, code = (
        _plain(found.get(name)) for name in ("street", "streetNumber", "postalCode")
    )
    code = _joined(folded(code))
    if not code or not _OTHERS.sub("", street):
        return None
    place = _joined(_STREET.sub("str", folded(f"{street} {number}")))
    return _key(f"{place}|{code}|{_rooms(_plain(document.get('numberOfRooms')))}")


def _rooms(text: str) -> str:
    """Return a number of rooms in one form: "3", "3.0" and "3." are "3"; "" for none."""
    found = _ROOMS.fullmatch(text)
    return ".".join(filter(None, found.groups())) if found else ""


def _number(value: Any) -> str:
    return _NO_DIGITS.sub("", _plain(value)).lstrip("0")


def _plain(value: Any) -> str:
    return "" if value is None or isinstance(value, bool | Mapping | list) else plain(value)


def _signs(reference: str) -> str:
    """Return letters and digits, without case. An umlaut is kept, for AUE and AU are two things."""
    whole = reference if reference.isascii() else unicodedata.normalize("NFKC", reference)
    return _OTHERS.sub("", whole.casefold())


def _joined(words: str) -> str:
    return words.replace(" ", "")


def _key(text: str) -> str | None:
    return text[:LENGTH] or None
