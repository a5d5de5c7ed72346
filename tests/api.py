"""A program that calls our API with a token, in this process; each answer must fit the schema."""

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any
from urllib.parse import quote

from django.core.cache import caches
from django.http import HttpResponse
from django.test import Client
from django.urls import resolve
from django.utils import timezone
from jsonschema import Draft202012Validator

from crm_sync.api import tokens
from crm_sync.models import ApiToken, Workspace

BASE = "/api/v1"
EVERYTHING = (
    "changes:read",
    "properties:read",
    "properties:write",
    "orders:read",
    "orders:write",
    "sources:fetch",
)


class Program:
    """Calls with one token; every answer is JSON, the bytes of a file, or 204 without a body."""

    def __init__(self, token: str):
        self.token = token
        self.client = Client(raise_request_exception=False)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        """Send a call; a body that is neither text nor bytes goes out as JSON."""
        sent = body if isinstance(body, str | bytes) else b"" if body is None else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            named.setdefault("Authorization", f"Bearer {self.token}")
        kind = named.pop("Content-Type", "application/json")
        answer = self.client.generic(method, BASE + path, sent, content_type=kind, headers=named)
        if answer.status_code == 204:
            assert (answer.content, _answers(method, path).keys() & {"204"}) == (b"", {"204"})
            return answer
        if answer.streaming:  # the bytes of a file
            return answer
        assert faults(answer.json(), _promised(method, path, answer.status_code)) == []
        return answer

    def get(self, path: str, **headers: str) -> Any:
        """Return what a good answer says."""
        answer = self.call("GET", path, **headers)
        assert answer.status_code == 200, answer.content
        return answer.json()


def program(
    workspace: Workspace, scopes: Sequence[str] = EVERYTHING, name: str = "ERP", **columns: Any
) -> Program:
    """Make a token, and return the program that has it."""
    now = timezone.now()
    _, token = tokens.issue(workspace, name=name, scopes=scopes, now=now, **columns)
    caches["api"].clear()
    return Program(token)


def row_of(one: Program) -> ApiToken:
    """Return the row of its token."""
    return ApiToken.objects.get(prefix=one.token[:10])


def encoded(reference: str) -> str:
    """Return the address of a property."""
    return f"/properties/{quote(reference, safe='')}"


def error(answer: HttpResponse) -> tuple[int, str, list[str]]:
    """Return status, code and the paths of an error, which has the one shape of all."""
    said = answer.json()
    assert list(said) == ["code", "message", "fields"], said
    assert said["message"]
    assert all(list(one) == ["path", "message"] for one in said["fields"]), said
    return answer.status_code, said["code"], [one["path"] for one in said["fields"]]


@cache
def description() -> dict[str, Any]:
    """Return the OpenAPI description of the API."""
    return dict(Client().get(f"{BASE}/schema/").json())


def faults(value: Any, schema: Any) -> list[str]:
    """Return where a value does not fit a schema, or the one that has this name."""
    if isinstance(schema, str):
        schema = {"$ref": f"#/components/schemas/{schema}"}
    whole = schema | {"components": description()["components"]}
    return [one.json_path for one in Draft202012Validator(whole).iter_errors(value)]


def _promised(method: str, path: str, status: int) -> Any:
    """Return the schema of an answer."""
    responses = _answers(method, path)
    found = responses.get(str(status)) or responses.get("default")
    return found["content"]["application/json"]["schema"] if found else "Error"


def _answers(method: str, path: str) -> dict[str, Any]:
    """Return the answers that the description has of a call, by their status."""
    route = resolve(BASE + path.partition("?")[0]).route
    described = description()["paths"].get("/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route), {})
    return dict(described.get(method.lower(), {}).get("responses", {}))
