"""Pure: phone numbers, mail addresses and streets as people write them.

The platform takes any text as a phone number or mail address, and only a person knows what is
meant. So a bad one is imported as it came, and a warning names it.
"""

import re
from collections.abc import Iterator
from typing import Any

from crm_sync.text import quoted
from properties import catalog

# Anything with at least seven digits and the usual separators; feeds spell phones in all ways.
_PHONE = re.compile(r"\+?(?:[ ()./-]*\d){7,}[ ()./-]*")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")
_LOOKS = {
    **dict.fromkeys(("phone", "mobile"), (_PHONE, "phone number")),
    **dict.fromkeys(("email", "inquiryEmail"), (_EMAIL, "mail address")),
}
_FIELDS = [
    (field.path, *_LOOKS[field.name])
    for field in catalog.FIELDS.values()
    if field.name in _LOOKS and "[]" not in field.path and not field.read_only
]
MAX_STREET = 255  # characters
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


def odd_contacts(document: dict[str, Any]) -> Iterator[str]:
    """Yield a warning for each of them in a record, the same text once."""
    told: set[str] = set()
    for path, looks, what in _FIELDS:
        value: Any = document
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, str) and value not in told and not looks.fullmatch(value):
            told.add(value)
            yield f"{path}: {quoted(value)} is no {what}; it is imported all the same"


def street(text: str) -> tuple[str, str]:
    """Return a street and its number, "" where the text has none for certain."""
    if len(text) > MAX_STREET:
        return text, ""
    if first := _NUMBER_FIRST.fullmatch(text):
        return first[2], first[1]
    last = _NUMBER_LAST.search(text)
    name = text[: last.start()] if last else ""
    if last is None or not any(map(str.isalpha, name)) or _NO_STREET.search(name):
        return text, ""
    return name, last[1]
