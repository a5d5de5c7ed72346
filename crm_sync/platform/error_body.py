"""Pure: read the message and the fields of an error body (A4).

The interface shows no such body, so this reads the formats of all common frameworks.
"""

import html
import json
import re
from collections.abc import Iterator
from typing import Any

from crm_sync.platform.errors import FieldError
from crm_sync.platform.redaction import Redactor
from crm_sync.text import clean, plain

WORDS = ("message", "error", "detail")  # members with a text for people
FIELD = ("field", "attr", "path", "property")  # members that name one field
# The same in an item of a list: Symfony, FluentValidation, Ajv, express-validator, RFC 7807,
# FastAPI, RFC 9457, JSON:API.
ITEM_FIELD = (
    *(*FIELD, "propertyPath", "propertyName", "instancePath", "param"),
    *("name", "loc", "pointer", "source"),
)
ITEM_WORDS = (
    *("message", "defaultMessage", "errorMessage"),
    *("detail", "reason", "msg", "description", "title"),
)
# Members that hold such items, in lower case and without hyphens.
LISTS = {
    *("errors", "violations", "fielderrors", "fieldviolations", "invalidparams"),
    *("validationerrors", "suberrors", "issues"),
    *("details", "detail", "message"),
}
# If a body has one of these members, its other members are not names of fields.
PARTS = {*WORDS, *FIELD, "errors", "status", "code", "type", "timestamp"}
# First parts of a path that are not part of a property.
ENVELOPES = ("#", "$", "", "body", "data", "attributes")
LONGEST = 500  # characters
PAGE = 10_000  # characters of a web page that are read

_MARKUP = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", re.DOTALL | re.IGNORECASE)

Named = tuple[str, str]  # path in wire names, or "", and what is wrong with it


def read(body: bytes, hide: Redactor, *, status: int) -> tuple[str, tuple[FieldError, ...]]:
    """Return the message of an error body, in one line of at most 500 characters, and its fields.

    Args:
        hide: removes our secrets from both.
        status: from 500 on, a web page comes from a server between us and the platform.
    """
    try:
        document = _object(body)
        named = list(_named(document))
    except (ValueError, RecursionError):
        document, named = {}, []
    parts = _said(document) + [": ".join(filter(None, one)) for one in named]
    text = "; ".join(dict.fromkeys(parts[:5])) or body.decode("utf-8-sig", "replace")
    if text.lstrip().startswith("<"):
        text = html.unescape(_MARKUP.sub(" ", text[:PAGE])).strip() if status < 500 else ""
        text = text or "a web page, no answer of the platform"
    # Cut last: half a secret would not be recognised.
    words = hide.text(clean(" ".join(text.split()))[0])[:LONGEST]
    fields = (FieldError(*(hide.text(clean(part)[0]) for part in one)) for one in named)
    return words, tuple(fields)


def _object(body: bytes) -> dict[str, Any]:
    """Return the object of a body, with the members of `error` moved up, or {}."""
    document = json.loads(body)
    if not isinstance(document, dict):
        return {}
    inner = document.get("error")
    if isinstance(inner, dict):
        del document["error"]
        document |= inner
    return document


def _said(document: dict[str, Any]) -> list[str]:
    found = [text for name in WORDS if (text := _text(document.get(name)))]
    title = _text(document.get("title")) if "status" in document else ""  # RFC 7807
    return found or ([title] if title else [])


def _text(value: Any) -> str:
    """Return a text, or a list of texts joined; "" for any other value."""
    if isinstance(value, list):
        return "; ".join(filter(None, map(plain, value)))
    return plain(value) if value else ""


def _named(document: dict[str, Any]) -> Iterator[Named]:
    """Yield the fields: from a list or object such as `errors`, or from the body itself."""
    lists = [value for name, value in document.items() if _is_list(name, value)]
    for value in lists:
        items = [value] if isinstance(value, dict) and _is_item(value) else value
        yield from _items(items) if isinstance(items, list) else _by_names("", items)
    if field := _field(document):
        yield field, next(iter(_said(document)), "refused")
    elif not lists and not PARTS & document.keys():
        yield from _by_names("", document)


def _is_list(name: str, value: Any) -> bool:
    if name in WORDS and _text(value):
        return False
    is_named_so = re.sub("[-_]", "", name).lower() in LISTS
    return is_named_so and isinstance(value, list | dict) and bool(value)


def _is_item(value: dict[str, Any]) -> bool:
    """Return whether an object is one error, with the name of its field and a text."""
    texts = [[value.get(name) for name in names] for names in (FIELD, ITEM_WORDS)]
    return all(any(isinstance(one, str) for one in some) for some in texts)


def _items(items: list[Any]) -> Iterator[Named]:
    for item in items:
        if isinstance(item, str):
            yield "", item
        elif isinstance(item, dict) and any(_is_list(*one) for one in item.items()):
            yield from _named(item)
        elif isinstance(item, dict):
            path = next((_path(item[name]) for name in ITEM_FIELD if item.get(name)), "")
            said = [_text(item.get(name)) for name in ITEM_WORDS]
            rules = item.get("constraints")  # class-validator: the broken rule and a text
            said += [_text(list(rules.values()))] if isinstance(rules, dict) else []
            yield path, next(filter(None, said), "refused")


def _path(name: Any) -> str:
    """Return a path in wire names: `photos[0].title` for `/data/attributes/photos/0/title`."""
    if isinstance(name, dict):  # JSON:API
        name = name.get("pointer") or name.get("parameter")
    if isinstance(name, list):  # FastAPI
        parts = [plain(one) for one in name]
    else:
        parts = re.split(r"/" if str(name)[:1] in "/#" else r"\.", _text(name))
    while parts and parts[0] in ENVELOPES:
        del parts[0]
    path = "".join(f"[{one}]" if one.isdecimal() else f".{one}" for one in parts)
    return path.replace("~1", "/").replace("~0", "~").removeprefix(".")


def _field(document: dict[str, Any]) -> str:
    """Return the field of a flat body. A `path` with "/" is the address of the call."""
    names = (document.get(name) for name in FIELD)
    return next((name for name in names if isinstance(name, str) and "/" not in name), "")


def _by_names(path: str, value: Any) -> Iterator[Named]:
    """Yield the messages: `{"prices": {"rent": ["too low"]}}` has one for prices.rent."""
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
            yield from _by_names(f"{path}.{name}" if path else _path(name), inner)
