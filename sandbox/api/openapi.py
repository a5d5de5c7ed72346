"""The type of an operation, and the OpenAPI description of all operations."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from sandbox.api.schemas import FLAG, MOMENT, SCHEMAS, TEXT, one_of, ref
from sandbox.api.webhooks import DEPRECATED
from sandbox.interface.event_fields import VISUAL_TYPES
from sandbox.state.callbacks import METHODS
from sandbox.state.platform import Platform
from sandbox.wire import Answer, Document, Request

CONTROL = "/_sandbox"
OPEN = ("/auth/token", "/files/", "/tours/", "/openapi.json", CONTROL)  # no token: A6, A51, A53
Answers = Mapping[int, str | None]


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. The first line of the handler's docstring describes it.

    `answers` contains the schema of each status, or None for an answer without a body. A `?` after
    the schema of the body means that the body is optional. `switch` decides about the form of the
    answer.
    """

    method: str
    path: str
    handler: Callable[[Platform, Request], Answer]
    answers: Answers
    body: str = ""
    refusals: tuple[int, ...] = ()
    query: tuple[str, ...] = ()
    switch: str = ""

    @property
    def body_required(self) -> bool:
        return bool(self.body) and not self.body.endswith("?")


QUERY: dict[str, Document] = {
    "page": {"type": "integer", "minimum": 0, "default": 0},
    "size": {"type": "integer", "minimum": 1, "maximum": 100, "default": 50},
    "product": TEXT,
    "visualQuality": one_of("HD", "WEB") | {"default": "HD"},
    "visualType": one_of(*VISUAL_TYPES),
    "modifiedSince": MOMENT,
    "enabled": FLAG,
    "refused": TEXT,
}
REQUIRED_QUERY = ("enabled",)
OTHER_TYPES = {
    "page": ("text/html", TEXT),
    "file": ("*/*", TEXT | {"contentMediaType": "application/octet-stream"}),
}


def document(operations: Iterable[Operation]) -> Document:
    """Return the whole description."""
    paths: dict[str, Document] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Order and delivery platform, as the sandbox implements it",
            "version": "1",
            "description": "Sections (§) are those of the interface document. A with a number is "
            "our reading where the document is silent.",
        },
        "paths": paths,
        "webhooks": {"event": {method.lower(): _callback() for method in METHODS}},
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def statuses(one: Operation) -> dict[int, str | None]:
    """Return the statuses that an operation may answer with if no fault is on, with schemas."""
    follow = {
        400: one.body or one.query,
        413: one.body,
        401: not one.path.startswith(OPEN),
        403: one.path.startswith(CONTROL),
        404: "{" in one.path,
    }
    refusals = [*one.refusals, *(status for status, applies in follow.items() if applies)]
    return dict(one.answers) | dict.fromkeys(refusals, "Error")


def _operation(one: Operation) -> Document:
    answers = {str(status): _answer(status, name) for status, name in sorted(statuses(one).items())}
    other = _content("any other error, and the faults", "application/json", ref("Error"))
    described: Document = {
        "operationId": _name(one),
        "summary": (inspect.getdoc(one.handler) or "").partition("\n")[0],
        "tags": ["sandbox" if one.path.startswith(CONTROL) else "platform"],
        "responses": answers | {"default": other},
    }
    if parameters := _parameters(one):
        described["parameters"] = parameters
    if one.body:
        content = {"application/json": {"schema": ref(one.body.removesuffix("?"))}}
        described["requestBody"] = {"required": one.body_required, "content": content}
    if one.path.startswith(OPEN):
        described["security"] = []
    if one.path in DEPRECATED:
        described["deprecated"] = True
    return described


def _name(one: Operation) -> str:
    """Return a name for generated clients. A slash at the end of the path makes another name."""
    words = re.findall(r"[A-Za-z0-9]+", one.path + ("slash" if one.path.endswith("/") else ""))
    return one.method.lower() + "".join(word[0].upper() + word[1:] for word in words)


def _parameters(one: Operation) -> list[Document]:
    words = re.findall(r"\{(\w+)\}", one.path)
    return [
        *({"name": word, "in": "path", "required": True, "schema": TEXT} for word in words),
        *(
            {"name": name, "in": "query", "required": name in REQUIRED_QUERY, "schema": QUERY[name]}
            for name in one.query
        ),
    ]


def _answer(status: int, name: str | None) -> Document:
    phrase = HTTPStatus(status).phrase
    if name is None:
        return {"description": phrase}
    if name in OTHER_TYPES:
        return _content(phrase, *OTHER_TYPES[name])
    return _content(phrase, "application/json", ref(name))


def _content(description: str, media_type: str, schema: Document) -> Document:
    return {"description": description, "content": {media_type: {"schema": schema}}}


def _callback() -> Document:
    """Return the description of a callback (§6)."""
    body: dict[str, Any] = {"content": {"application/json": {"schema": ref("Event")}}}
    return {
        "summary": "§6 An event; answer with a 2xx within 30 seconds, nothing is repeated",
        "parameters": [{"name": "X-Event-Type", "in": "header", "required": True, "schema": TEXT}],
        "requestBody": body,
        "responses": {"2XX": {"description": "received"}},
        "security": [],
    }
