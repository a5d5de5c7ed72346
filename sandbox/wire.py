"""Requests, answers, and the documented error body.

Refused     the request is answered with its status and the error body (A4)
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

MAX_BODY = 1024 * 1024
MAX_DISCARDED = 16 * MAX_BODY
Document = dict[str, Any]

DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
TIMESTAMP = re.compile(DAY.pattern + r"T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_WHOLE = re.compile(DAY.pattern + r"T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


class Refused(Exception):
    """The request is answered with `status`. `errors` contains the problem of each field.

    `switch` names the switch that decides about the status, if the interface allows several.
    """

    def __init__(
        self,
        status: int,
        message: str,
        errors: Mapping[str, str] | None = None,
        *,
        switch: str = "",
    ) -> None:
        super().__init__(message)
        self.switch = switch
        self.status = status
        self.message = message
        self.errors = dict(errors or {})
        self.headers: dict[str, str] = {}

    def body(self) -> Document:
        """Return the error body of A4."""
        errors = [{"field": name, "message": text} for name, text in self.errors.items()]
        return {
            "status": self.status,
            "error": HTTPStatus(self.status).phrase,
            "message": self.message,
            "errors": errors,
        }


def bad(field: str, message: str) -> Refused:
    """Return a 400 that names one field."""
    return Refused(400, f"{field}: {message}", {field: message})


@dataclass(slots=True)
class Request:
    """One request for a handler. `params` are the words of the path."""

    method: str
    path: str
    params: dict[str, str]
    query: dict[str, str]
    body: Document
    base_url: str

    def number(self, name: str, default: int, *, lowest: int, highest: int | None = None) -> int:
        """Return a whole number of the query within its bounds, else a 400 names it (§4.6)."""
        text = self.query.get(name)
        if text is None:
            return default
        # int() would accept "1_0", " 1" and the digits of other scripts.
        if not (text.isascii() and text.isdigit() and len(text) <= 9) or int(text) < lowest:
            raise bad(name, f"must be a whole number of at least {lowest}")
        if highest is not None and int(text) > highest:
            raise bad(name, f"must be at most {highest}")
        return int(text)

    def text(self, name: str) -> str | None:
        """Return a text of the body, None if absent or null. A 400 names any other type."""
        value = self.body.get(name)
        if value is not None and not isinstance(value, str):
            raise bad(name, "must be a text")
        return value


@dataclass(slots=True)
class Answer:
    """The answer of a handler: a JSON value, or bytes of another type."""

    status: int
    value: Any = None
    content: bytes | None = None
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)

    def payload(self) -> bytes:
        """Return the bytes of the body. A 204 has none."""
        if self.content is not None:
            return self.content
        return b"" if self.status == HTTPStatus.NO_CONTENT else encode(self.value)


def encode(value: Any) -> bytes:
    """Return compact JSON in pure ASCII, so that a lone surrogate survives."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def read_body(environ: Mapping[str, Any]) -> bytes:
    """Read the whole request body, with or without a declared length. Too large a body is a 413."""
    declared = environ.get("CONTENT_LENGTH") or ""
    if declared and not (declared.isascii() and declared.isdigit() and len(declared) <= 18):
        raise Refused(400, "Content-Length is not a number")
    if not declared and not environ.get("wsgi.input_terminated"):
        return b""
    expected = int(declared) if declared else None
    too_large = Refused(413, f"the body is larger than {MAX_BODY} bytes")
    if expected is not None and expected > MAX_BODY:
        raise too_large
    content = _read(environ["wsgi.input"], MAX_BODY + 1 if expected is None else expected)
    if len(content) > MAX_BODY:
        raise too_large
    if expected is not None and len(content) < expected:
        # The part that arrived may be valid JSON by chance.
        raise Refused(400, "the body ends before its Content-Length")
    return content


def _read(stream: Any, size: int) -> bytes:
    try:
        return bytes(stream.read(size))
    except TimeoutError as error:
        raise Refused(408, "the body did not arrive in time") from error
    except Exception as error:  # each server has its own errors for a body that breaks off
        raise Refused(400, "the body breaks off or is not well-formed") from error


def discard_body(environ: Mapping[str, Any]) -> None:
    """Read and drop the rest of the body, up to a limit."""
    left = min(int(environ.get("CONTENT_LENGTH") or MAX_DISCARDED), MAX_DISCARDED)
    try:
        while left > 0 and (piece := _read(environ["wsgi.input"], min(left, 65_536))):
            left -= len(piece)
    except Refused:
        return  # the answer has been sent already


def parse_body(content: bytes) -> Document:
    """Return the JSON object of a body, or raise a 400. NaN and huge numbers are not JSON."""
    try:
        value = json.loads(content, parse_constant=_no_number, parse_int=_readable)
    except UnicodeDecodeError as error:
        raise Refused(400, "the body is not valid JSON: it is not UTF-8") from error
    except RecursionError as error:
        raise Refused(400, "the body is not valid JSON: it is nested too deeply") from error
    except ValueError as error:
        raise Refused(400, f"the body is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise Refused(400, "the body must be a JSON object")
    return value


def parse_form(content: bytes) -> Document:
    """Return the fields of a form of the sandbox's own page. An empty field is null."""
    pairs = parse_query(content.decode("utf-8", "replace"))
    return {name: value or None for name, value in pairs.items()}


def _readable(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ValueError("it holds a number that is too long") from error


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a JSON number")


def parse_query(text: str) -> dict[str, str]:
    """Return the query as names and values. If a name is repeated, the last value counts."""
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=100))
    except ValueError as error:
        raise Refused(400, "the query has too many parameters") from error


def timestamp(moment: datetime) -> str:
    """Return an ISO 8601 timestamp in UTC."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def whole_timestamp(text: str, field: str) -> str:
    """Return a timestamp with seconds and an offset, for callbacks and answers, or raise a 400."""
    moment = parse_timestamp(text, field)
    return text if _WHOLE.fullmatch(text) else timestamp(moment)


def parse_timestamp(text: str, field: str) -> datetime:
    """Return a timestamp of the wire as an aware time, or raise a 400 that names the field.

    Without an offset it is UTC (A52).
    """
    if not TIMESTAMP.fullmatch(text):
        raise bad(field, "must be an ISO 8601 timestamp such as 2026-01-31T09:00:00Z")
    try:
        moment = datetime.fromisoformat(text)
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise bad(field, "must be an ISO 8601 timestamp") from error
    if not 1900 <= moment.year <= 2999:  # so that a few days can be added
        raise bad(field, "must lie between the years 1900 and 2999")
    return moment
