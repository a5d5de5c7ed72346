"""The sandbox as a WSGI application: a table of routes, and one way through for every request."""

from __future__ import annotations

import errno
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from email.utils import format_datetime
from http import HTTPStatus
from typing import Any

from sandbox.api import access, control, materials, orders, properties, webhooks
from sandbox.faults import Rule, newer_answer
from sandbox.platform import Platform
from sandbox.wire import (
    Answer,
    Document,
    Refused,
    Request,
    parse_body,
    parse_query,
    read_body,
)

log = logging.getLogger(__name__)

Handler = Callable[[Platform, Request], Answer]
Environ = dict[str, Any]
StartResponse = Callable[..., Any]

ROUTES: tuple[tuple[str, str, Handler], ...] = (
    # §4.6
    ("PATCH", "/v1/real-estate-properties/{property_id}", properties.update),
    (
        "PATCH",
        "/v1/real-estate-properties/by-reference/{reference}",
        properties.update_by_reference,
    ),
    ("GET", "/v1/real-estate-properties/{property_id}", properties.read),
    ("GET", "/v1/real-estate-properties/by-reference/{reference}", properties.read_by_reference),
    ("GET", "/v1/real-estate-properties", properties.listing),
    ("POST", "/v1/real-estate-properties", properties.create),
    ("GET", "/v1/users", properties.users),
    # §4.3
    ("POST", "/v1/sessions", orders.open_session),
    ("GET", "/v1/sessions/{session_id}/products", orders.products),
    ("POST", "/v1/sessions/{session_id}/instructions", orders.instructions),
    ("POST", "/v1/orders", orders.place),
    # §4.4
    ("PUT", "/v1/orders/{order_id}/reschedule", orders.reschedule),
    ("PUT", "/v1/orders/{order_id}/cancel", orders.cancel),
    # §4.5
    ("GET", "/v1/orders/{order_id}", orders.read),
    ("GET", "/v1/orders/{order_id}/assignments", orders.assignments),
    ("GET", "/v1/assignments/{assignment_id}", orders.assignment),
    ("GET", "/v1/orders/{order_id}/assignments/{assignment_id}/materials", materials.of_assignment),
    ("GET", "/materials/{order_id}/{assignment_id}", materials.of_event),
    ("GET", "/v1/real-estate-properties/{property_id}/marketing-materials", materials.marketing),
    ("GET", "/files/{key}/{size}/{name}", materials.file),
    ("GET", "/tours/{key}", materials.tour),
    # §4.1
    ("GET", "/v1/webhooks", webhooks.read),
    ("PUT", "/v1/webhooks", webhooks.put),
    ("PATCH", "/v1/webhooks", webhooks.patch),
    ("DELETE", "/v1/webhooks", webhooks.delete),
    ("GET", "/v1/webhooks/triggers", webhooks.triggers),
    # §4.2, A24
    *(
        (method, path, handler)
        for path in ("/webhook", "/webhook/")
        for method, handler in (
            ("GET", webhooks.read),
            ("POST", webhooks.put),
            ("PUT", webhooks.put),
            ("DELETE", webhooks.delete),
        )
    ),
    ("PATCH", "/webhook/enabled", webhooks.legacy_enabled),
    ("GET", "/webhook/history", webhooks.triggers),
    # A6
    ("POST", "/auth/token", access.token),
    # A53
    ("GET", "/_sandbox/", control.page),
    ("GET", "/_sandbox/state", control.state),
    ("GET", "/_sandbox/calls", control.calls),
    ("POST", "/_sandbox/step", control.step),
    ("POST", "/_sandbox/reset", control.reset),
    ("GET", "/_sandbox/faults", control.faults),
    ("POST", "/_sandbox/faults", control.set_faults),
    ("POST", "/_sandbox/clock", control.clock),
    ("POST", "/_sandbox/users", control.add_user),
    ("POST", "/_sandbox/assignments/{assignment_id}/advance", control.advance),
    ("POST", "/_sandbox/assignments/{assignment_id}/status", control.status),
    ("POST", "/_sandbox/assignments/{assignment_id}/input", control.give_input),
    ("POST", "/_sandbox/assignments/{assignment_id}/nudge", control.nudge),
    ("POST", "/_sandbox/assignments/{assignment_id}/appointment", control.appointment),
    ("POST", "/_sandbox/assignments/{assignment_id}/estimate", control.estimate),
    ("PATCH", "/_sandbox/properties/{property_id}", control.edit_property),
    ("POST", "/_sandbox/properties/{property_id}/marketing", control.marketing),
)

OPEN = ("/auth/token", "/files/", "/tours/", "/_sandbox/")  # no token: A6, A51, A53
NOT_RECORDED = ("/files/", "/tours/", "/_sandbox/")
# These take no body, or live without one.
BODY_OPTIONAL = (
    *(control.step, control.reset, control.advance, control.give_input, control.nudge),
    *(control.marketing, webhooks.legacy_enabled),
)
BODY_METHODS = ("POST", "PUT", "PATCH")
BODY_RECORDED = 64 * 1024  # of larger ones a list of 10,000 calls would fill the memory

_PATTERNS = tuple(
    (re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path))), method, handler)
    for method, path, handler in ROUTES
)


@dataclass(slots=True)
class _Exchange:
    """What is known of one request, also when it is refused halfway."""

    method: str
    path: str
    body: Document | None = None
    fault: Rule | None = None


class Sandbox(Platform):
    """The platform as a WSGI application; see `Platform` for what it can be told to do."""

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request; whatever it holds, the answer is a documented one."""
        exchange = _Exchange(environ["REQUEST_METHOD"], _path(environ))
        headers: dict[str, str] = {}
        try:
            answer, content = self._serve(environ, exchange)
        except Refused as refusal:
            answer, headers = Answer(refusal.status, refusal.body()), refusal.headers
            content = answer.payload()
        except Exception:
            log.exception("%s %s failed", exchange.method, exchange.path)
            answer = Answer(500, Refused(500, "a fault of the sandbox itself").body())
            content = answer.payload()
        if not exchange.path.startswith(NOT_RECORDED):
            call = (exchange.method, exchange.path, exchange.body, answer.status)
            self.calls.append(call)
        served = self._respond(start_response, answer, content, headers)
        return _disturbed(served, exchange.fault) if exchange.fault else served

    def _serve(self, environ: Environ, exchange: _Exchange) -> tuple[Answer, bytes]:
        method, path = exchange.method, exchange.path
        # Read before anything is refused: what stays unread would break the connection.
        content = read_body(environ) if method in BODY_METHODS else b""
        handler, params = _route(method, path)
        self._check_access(environ, path)
        body = _body(content, method, handler)
        exchange.body = body if len(content) <= BODY_RECORDED else None
        request = Request(
            method=method,
            path=path,
            params=params,
            query=parse_query(environ.get("QUERY_STRING", "")),
            body=body or {},
            base_url=_base_url(environ),
        )
        with self.lock:
            if not path.startswith(NOT_RECORDED):
                exchange.fault = self.faults.on_request(method, path)
            if exchange.fault and (refused := exchange.fault.refusal()):
                raise refused
            answer = handler(self, request)
            if exchange.fault and exchange.fault.fault == "NEWER_ANSWER":
                answer = newer_answer(answer)
            return answer, answer.payload()

    def date(self) -> str:
        """The sandbox's clock as a `Date` header."""
        return format_datetime(self.now(), usegmt=True)

    def _check_access(self, environ: Environ, path: str) -> None:
        if path.startswith(OPEN):
            return
        key = self.workspace.signing_key
        self.access.check(environ.get("HTTP_AUTHORIZATION"), key=key, now=self.now())
        if path.startswith("/webhook"):
            webhooks.check_not_removed(self)

    def _respond(
        self,
        start_response: StartResponse,
        answer: Answer,
        content: bytes,
        headers: dict[str, str],
    ) -> list[bytes]:
        status = HTTPStatus(answer.status)
        sent = [("Date", self.date()), *headers.items()]
        if status != HTTPStatus.NO_CONTENT:
            sent.append(("Content-Type", answer.content_type))
            sent.append(("Content-Length", str(len(content))))
        start_response(f"{status.value} {status.phrase}", sent)
        return [content]


def _disturbed(content: list[bytes], fault: Rule) -> Iterable[bytes]:
    """What becomes of an answer; the effect is there already.

    An error number of a lost connection makes a server close it without a word of its own.
    """
    if fault.fault in ("SLOW", "TIME_OUT_AFTER"):
        time.sleep(fault.seconds)
    if fault.fault == "TIME_OUT_AFTER":
        raise TimeoutError(errno.ECONNRESET, "the answer never comes")
    if fault.fault == "CUT_OFF":
        return _cut_off(content[0])
    return content


def _cut_off(content: bytes) -> Iterator[bytes]:
    yield content[: len(content) // 2]
    raise ConnectionResetError(errno.ECONNRESET, "the answer breaks off")


def _path(environ: Environ) -> str:
    """The path as text: WSGI hands its bytes over as if they were Latin-1."""
    return (
        str(environ.get("PATH_INFO") or "/").encode("latin-1", "replace").decode("utf-8", "replace")
    )


def _route(method: str, path: str) -> tuple[Handler, dict[str, str]]:
    """The handler of a path and the words in it; 404 for no such path, 405 for its methods."""
    allowed = []
    for pattern, of_method, handler in _PATTERNS:
        if match := pattern.fullmatch(path):
            if of_method == method:
                return handler, match.groupdict()
            allowed.append(of_method)
    if not allowed:
        raise Refused(404, f"there is no path {path}")
    refusal = Refused(405, f"{path} does not take {method}")
    refusal.headers["Allow"] = ", ".join(allowed)
    raise refusal


def _body(content: bytes, method: str, handler: Handler) -> Document | None:
    if method not in BODY_METHODS or (not content and handler in BODY_OPTIONAL):
        return None
    return parse_body(content)


def _base_url(environ: Environ) -> str:
    host = environ.get("HTTP_HOST") or f"{environ['SERVER_NAME']}:{environ['SERVER_PORT']}"
    return f"{environ.get('wsgi.url_scheme', 'http')}://{host}"
