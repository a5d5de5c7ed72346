"""Pure: what the body of a refusal says, and which fields it names (A4)."""

import json
from collections.abc import Iterator
from typing import Any

from crm_sync.platform.errors import FieldError
from crm_sync.platform.redaction import Redactor
from crm_sync.text import clean

WORDS = ("message", "error", "detail")  # what an error says for people
FIELD = ("field", "attr", "path", "property")  # how it names one field
# In a body with one of these, the others are no names of fields either.
PARTS = {*WORDS, *FIELD, "errors", "status", "code", "type", "timestamp"}
LONGEST = 500  # characters

Named = tuple[str, str]  # path in wire names, "" for none; and what is wrong with it


def read(body: bytes, hide: Redactor) -> tuple[str, tuple[FieldError, ...]]:
    """Return what an error body says, in one line of at most 500 characters, and its fields.

    Args:
        hide: takes our secrets out of both.
    """
    document = _object(body)
    named = list(_named(document))
    parts = [str(document[name]) for name in WORDS if document.get(name)]
    parts += [": ".join(filter(None, one)) for one in named]
    text = "; ".join(dict.fromkeys(parts[:5])) or body.decode("utf-8", "replace")
    if text.lstrip().startswith("<"):
        text = "a web page, no answer of the platform"
    # Cut last: half a secret is one that nobody would know again.
    words = hide.text(clean(" ".join(text.split()))[0])[:LONGEST]
    fields = (FieldError(*(hide.text(clean(part)[0]) for part in one)) for one in named)
    return words, tuple(fields)


def _object(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _named(document: dict[str, Any]) -> Iterator[Named]:
    """Find the fields in a list or an object `errors`, in the body itself, or as its names."""
    errors = document.get("errors")
    if isinstance(errors, list) and errors:
        yield from (one for item in errors if (one := _item(item)))
    elif isinstance(errors, dict) and errors:
        yield from _by_names("", errors)
    elif field := _field(document):
        yield field, str(next((document[name] for name in WORDS if document.get(name)), "refused"))
    elif not PARTS & document.keys():
        yield from _by_names("", document)


def _item(item: Any) -> Named | None:
    if isinstance(item, str):
        return "", item
    if not isinstance(item, dict):
        return None
    path = next((item[name] for name in FIELD if item.get(name)), "")
    return str(path), str(item.get("message") or "refused")


def _field(document: dict[str, Any]) -> str:
    """Return the one field of a flat body; `path` is often the address of the call instead."""
    names = (document.get(name) for name in FIELD)
    return next((name for name in names if isinstance(name, str) and "/" not in name), "")


def _by_names(path: str, value: Any) -> Iterator[Named]:
    """Walk to the messages: `{"prices": {"rent": ["too low"]}}` says so of prices.rent."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list) and all(isinstance(one, str) for one in value):
        yield path, "; ".join(value)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _by_names(f"{path}[{index}]", item)
    elif isinstance(value, dict) and isinstance(value.get("message"), str):
        yield path, value["message"]
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _by_names(f"{path}.{name}" if path else name, inner)
