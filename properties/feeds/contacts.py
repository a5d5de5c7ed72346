"""Pure: phone numbers and mail addresses that nobody could use.

The platform takes any text there, and only a person knows what is meant. So they are imported as
they came, and a warning names them.
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
