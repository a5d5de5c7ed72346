"""Pure: what the body of a refusal says, and which fields it names (A4).

The interface shows no such body, so the forms of common frameworks are all understood.
"""

import html
import json
import re
from collections.abc import Iterator
from typing import Any

from crm_sync.platform.errors import FieldError
from crm_sync.platform.redaction import Redactor
from crm_sync.text import clean, plain

WORDS = ("message", "error", "detail")  # what an error says for people
FIELD = ("field", "attr", "path", "property")  # how it names one field
# How an item of a list does: Symfony, FluentValidation, Ajv, express-validator, RFC 7807, FastAPI,
# RFC 9457, JSON:API.
ITEM_FIELD = (
    *(*FIELD, "propertyPath", "propertyName", "instancePath", "param"),
    *("name", "loc", "pointer", "source"),
)
ITEM_WORDS = (
    *("message", "defaultMessage", "errorMessage"),
    *("detail", "reason", "msg", "description", "title"),
)
# Where a body has such items; written without hyphens and capitals.
LISTS = {
    *("errors", "violations", "fielderrors", "fieldviolations", "invalidparams"),
    *("validationerrors", "suberrors", "issues"),
    *("details", "detail", "message"),
}
# In a body with one of these, the others are no names of fields either.
PARTS = {*WORDS, *FIELD, "errors", "status", "code", "type", "timestamp"}
# What a path begins with that names no part of a property.
ENVELOPES = ("#", "$", "", "body", "data", "attributes")
LONGEST = 500  # characters
PAGE = 10_000  # characters of a web page that are looked at

_MARKUP = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", re.DOTALL | re.IGNORECASE)

Named = tuple[str, str]  # path in wire names, "" for none; and what is wrong with it


def read(body: bytes, hide: Redactor, *, status: int) -> tuple[str, tuple[FieldError, ...]]:
    """Return what an error body says, in one line of at most 500 characters, and its fields.

    Args:
        hide: takes our secrets out of both.
        status: a web page of 500 or more is of something between us and the platform.
    """
    try:
        document = _object(body)
        named = list(_named(document))
    except (ValueError, RecursionError):
        document, named = {}, []
    parts = _said(document) + [": ".join(filter(None, one)) for one in named]
    text = "; ".join(dict.fromkeys(parts[:5])) or body.decode("utf-8-sig", "replace")
    if text.lstrip().startswith("<"):
        text = _words_of(text) if status < 500 else ""
        text = text or "a web page, no answer of the platform"
    # Cut last: half a secret is one that nobody would know again.
    words = hide.text(clean(" ".join(text.split()))[0])[:LONGEST]
    fields = (FieldError(*(hide.text(clean(part)[0]) for part in one)) for one in named)
    return words, tuple(fields)


def _words_of(page: str) -> str:
    return html.unescape(_MARKUP.sub(" ", page[:PAGE])).strip()


def _object(body: bytes) -> dict[str, Any]:
    """Return the object of a body, with what it wraps in `error`; {} where it is none."""
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
    """Return a text as it is, and several as one; "" for all that is none."""
    if isinstance(value, list):
        return "; ".join(filter(None, map(plain, value)))
    return plain(value) if value else ""


def _named(document: dict[str, Any]) -> Iterator[Named]:
    """Find the fields in a list or an object such as `errors`, in the body, or as its names."""
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
    """Tell whether an object is one error, which names its field and says what is wrong."""
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
            rules = item.get("constraints")  # class-validator: the rule that is broken, and a text
            said += [_text(list(rules.values()))] if isinstance(rules, dict) else []
            yield path, next(filter(None, said), "refused")


def _path(name: Any) -> str:
    """Return a path in wire names: `/data/attributes/photos/0/title` is `photos[0].title`."""
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
            yield from _by_names(f"{path}.{name}" if path else _path(name), inner)
