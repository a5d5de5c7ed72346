"""How the text of a problem became a kind with its parts, and back.

In 0.1 the text alone was stored, and its kind was read out of it each time it was shown.
"""

import http.client
import json
import re
from collections.abc import Callable
from typing import Any

from django.db.migrations import RunPython
from django.db.models import Q, QuerySet

_CALL = re.compile(r"(?:GET|POST|PUT|PATCH|DELETE) \S+: (?P<said>.*)", re.DOTALL)
_STATUS = re.compile(r"(?P<status>[1-5]\d\d)\b(?P<words>.*)", re.DOTALL)
_BEGINNINGS = {
    "cannot connect": "UNREACHABLE",
    "no whole answer within": "SLOW",
    "no answer": "BROKEN_OFF",
    "the certificate is not accepted": "BAD_CERTIFICATE",
    "the answer is larger than": "UNREADABLE",
}
_STATUSES = {
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    410: "NOT_FOUND",
    405: "ELSEWHERE",
    415: "ELSEWHERE",
    408: "SLOW",
    409: "NOT_ALLOWED",
    412: "LOCKED",
    413: "TOO_LARGE",
    423: "LOCKED",
    429: "BUSY",
    504: "SLOW",
}
_METHODS = ("GET ", "POST ", "PUT ", "PATCH ", "DELETE ")
_NO_CREDENTIALS = " has no credentials"
TOGETHER = 500  # rows


def kinded(text: str) -> "str | dict[str, str]":
    """Return the form with the kind; a sentence of ours stays as it is."""
    found = _CALL.match(text)
    if found is None:
        kind, words = ("NO_CREDENTIALS" if _NO_CREDENTIALS in text else ""), ""
    else:
        kind, words = _of_call(found["said"])
    return {"kind": kind, "words": words, "text": text} if kind else text


def _of_call(said: str) -> tuple[str, str]:
    for beginning, kind in _BEGINNINGS.items():
        if said.startswith(beginning):
            return kind, ""
    answered = _STATUS.match(said)
    if answered is None:
        return "", ""
    status = int(answered["status"])
    name = http.client.responses.get(status, "")
    words = "; ".join(part for part in answered["words"].strip().split("; ") if part != name)
    if status < 400:
        return ("UNREADABLE" if status < 300 else "ELSEWHERE"), words
    return _STATUSES.get(status, "DOWN" if status >= 500 else "REFUSED"), words


def dumped(text: str) -> str:
    """Return the form of a text column, in which only JSON begins with a brace."""
    stored = kinded(text)
    if isinstance(stored, str) and stored.startswith("{"):
        stored = {"kind": "OTHER", "words": "", "text": stored}
    return stored if isinstance(stored, str) else json.dumps(stored, ensure_ascii=False)


def plain(stored: Any) -> str:
    """Return the text alone again."""
    if isinstance(stored, str) and stored.startswith("{"):
        stored = json.loads(stored)
    return str(stored["text"]) if isinstance(stored, dict) else str(stored)


def convert(rows: "QuerySet[Any]", column: str) -> None:
    """Write the kinds to a column that is still a plain text for this migration."""
    calls = Q(**{f"{column}__contains": _NO_CREDENTIALS})
    for beginning in (*_METHODS, "{"):
        calls |= Q(**{f"{column}__startswith": beginning})
    each(rows.filter(calls), column, dumped)


def revert(rows: "QuerySet[Any]", column: str) -> None:
    """Write the texts alone, as long as the column once took them."""
    longest = rows.model._meta.get_field(column).max_length
    each(rows.filter(**{f"{column}__startswith": "{"}), column, lambda one: plain(one)[:longest])


def conversion(app: str, *models: str) -> RunPython:
    """Return the operation for the column `problem` of these models, there and back."""

    def rows(apps: Any) -> "list[QuerySet[Any]]":
        return [apps.get_model(app, model).objects.all() for model in models]

    def there(apps: Any, _: Any) -> None:
        for one in rows(apps):
            convert(one, "problem")

    def back(apps: Any, _: Any) -> None:
        for one in rows(apps):
            revert(one, "problem")

    return RunPython(there, back)


def each(rows: "QuerySet[Any]", column: str, change: "Callable[[Any], Any]") -> None:
    """Change a column of these rows, some hundred at a time."""
    after = 0
    while found := list(rows.filter(pk__gt=after).order_by("pk").only(column)[:TOGETHER]):
        for row in found:
            setattr(row, column, change(getattr(row, column)))
        type(found[0])._default_manager.bulk_update(found, [column])
        after = found[-1].pk
