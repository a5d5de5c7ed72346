"""Pure: phone numbers, mail addresses and streets as people write them.

The platform accepts any text as a phone number or mail address, and only a person knows the right
one. So an invalid contact is imported unchanged, with a warning.
"""

import re
from collections.abc import Iterator
from typing import Any

from crm_sync.sentence import Sentence, sentence
from crm_sync.text import quoted
from properties import catalog

# At least seven digits with the usual separators: feeds write phone numbers in many ways.
_PHONE = re.compile(r"\+?(?:[ ()./-]*\d){7,}[ ()./-]*")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")


def _no_phone(path: str, value: str) -> Sentence:
    return sentence(
        "%(path)s: %(value)s is no phone number; it is imported all the same",
        path=path,
        value=quoted(value),
    )


def _no_address(path: str, value: str) -> Sentence:
    return sentence(
        "%(path)s: %(value)s is no mail address; it is imported all the same",
        path=path,
        value=quoted(value),
    )


_LOOKS = {
    **dict.fromkeys(("phone", "mobile"), (_PHONE, _no_phone)),
    **dict.fromkeys(("email", "inquiryEmail"), (_EMAIL, _no_address)),
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
# Words before a number that is not a house number.
_NO_STREET = re.compile(
    r"\b(postfach|case postale|casella|parzelle|parz\.?|nr\.?|no\.?|gb)\W*$", re.I
)


def odd_contacts(document: dict[str, Any]) -> Iterator[Sentence]:
    """Yield a warning for each invalid contact of a record, once for each text."""
    told: set[str] = set()
    for path, looks, refused in _FIELDS:
        value = catalog.value_at(document, path)
        if isinstance(value, str) and value not in told and not looks.fullmatch(value):
            told.add(value)
            yield refused(path, value)


def street(text: str) -> tuple[str, str]:
    """Return a street and its number; "" if the text has no certain number."""
    if len(text) > MAX_STREET:
        return text, ""
    if first := _NUMBER_FIRST.fullmatch(text):
        return first[2], first[1]
    last = _NUMBER_LAST.search(text)
    name = text[: last.start()] if last else ""
    if last is None or not any(map(str.isalpha, name)) or _NO_STREET.search(name):
        return text, ""
    return name, last[1]
