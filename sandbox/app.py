"""The sandbox as a WSGI application. Each request goes through the same steps."""

import errno
import itertools
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import format_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from sandbox.api import webhooks
from sandbox.api.openapi import CONTROL, OPEN
from sandbox.api.operations import route
from sandbox.api.shapes import given, refused, shaped
from sandbox.faults.rules import FILES, Rule, disguised
from sandbox.interface.switches import USUAL
from sandbox.state.platform import Platform
from sandbox.wire import (
    Answer,
    Document,
    Refused,
    Request,
    discard_body,
    parse_body,
    parse_form,
    parse_query,
    read_body,
)

log = logging.getLogger(__name__)

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
BODY_METHODS = ("POST", "PUT", "PATCH")
NOT_RECORDED = (FILES, "/tours/", "/openapi.json", CONTROL)
BODY_RECORDED = 64 * 1024  # larger bodies of 10,000 recorded calls would fill the memory
MASKED = ("authSecret", "secret", "clientSecret", "token", "password")
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
FROM_PAGE = "from=page"  # the query of the forms on the sandbox's own page


@dataclass(slots=True)
class _Exchange:
    """One request, as far as it was read before the answer or refusal."""

    method: str
    path: str
    query: str
    body: Document | None = None
    fault: Rule | None = None
    effect: int = 0
    began: float = field(default_factory=time.time)

    @property
    def of_page(self) -> bool:
        """True if a form of the page sent it, so that the answer redirects to the page."""
        return self.query == FROM_PAGE and self.path.startswith(CONTROL)


class Sandbox(Platform):
    """The platform as a WSGI application. `Platform` has its actions."""

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request. The answer is always a documented one."""
        path, query = _path(environ), environ.get("QUERY_STRING", "")
        exchange = _Exchange(environ["REQUEST_METHOD"], path, query)
        try:
            answer, content = self._serve(environ, exchange)
        except Refused as refusal:
            answer = self._refused(refusal, exchange)
            content = answer.payload()
        except Exception:
            log.exception("%s %s failed", exchange.method, exchange.path)
            answer = Answer(500, Refused(500, "a fault of the sandbox itself").body())
            content = answer.payload()
        if not exchange.path.startswith(NOT_RECORDED):
            call = (exchange.method, exchange.path, exchange.body, answer.status)
            self.calls.append(call)
        is_endless = exchange.fault is not None and exchange.fault.fault == "ENDLESS"
        served = self._respond(start_response, answer, content, has_length=not is_endless)
        if answer.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return _then_discard(served, environ)
        try:
            return _disturbed(served, exchange.fault) if exchange.fault else served
        finally:
            if self.journal:
                self.journal.write(_entry(exchange, answer.status, environ))

    def _serve(self, environ: Environ, exchange: _Exchange) -> tuple[Answer, bytes]:
        method, path = exchange.method, exchange.path
        # Read the body before any refusal, because unread bytes would break the connection.
        content = read_body(environ) if method in BODY_METHODS else b""
        _check_host(environ, self.hosts)
        webhooks.check_not_removed(self, path)
        operation, params = route(method, path)
        self._check_access(environ, path)
        if exchange.of_page:
            body: Document | None = parse_form(content)
        elif content or operation.body_required:
            body = parse_body(content)
        else:
            body = None
        if body is not None and len(content) <= BODY_RECORDED:
            exchange.body = _masked(body)
        request = Request(
            method=method,
            path=path,
            params=params,
            query=parse_query(exchange.query),
            body=given(body or {}, self._positions(path)),
            base_url="" if self.switches["addresses"] == "relative" else _base_url(environ),
        )
        with self.lock:
            if path.startswith(FILES) or not path.startswith(NOT_RECORDED):
                exchange.fault = self.faults.on_request(method, path)
            if exchange.fault and (refused := exchange.fault.refusal()):
                raise refused
        if exchange.fault and exchange.fault.fault == "LATE":
            time.sleep(exchange.fault.seconds)
        with self.lock, self._lagging(exchange.fault):
            answer = shaped(operation.handler(self, request), operation, self._positions(path))
            self.effects += 1
            exchange.effect = self.effects
            if exchange.of_page:
                answer = _back_to_page()
            if exchange.fault:
                answer = disguised(answer, exchange.fault)
            return answer, answer.payload()

    def _lagging(self, fault: Rule | None) -> AbstractContextManager[None]:
        if fault is None or fault.fault != "LAGGING":
            return nullcontext()
        return self.workspace.properties.as_at(self.now() - timedelta(seconds=fault.seconds))

    def _positions(self, path: str) -> dict[str, str]:
        """Return the switches, which apply to the interface and not to the sandbox's own paths."""
        return USUAL if path.startswith(NOT_RECORDED) else self.switches

    def date(self) -> str:
        """Return the sandbox's time as a `Date` header."""
        return format_datetime(self.now(), usegmt=True)

    def _check_access(self, environ: Environ, path: str) -> None:
        if path.startswith(CONTROL):
            _check_origin(environ)
        if path.startswith(OPEN):
            return
        key = self.workspace.signing_key
        self.access.check(environ.get("HTTP_AUTHORIZATION"), key=key, now=self.now())

    def _refused(self, refusal: Refused, exchange: _Exchange) -> Answer:
        if exchange.of_page:
            return _back_to_page(refusal.message)
        answer = refused(refusal, self._positions(exchange.path))
        return disguised(answer, exchange.fault) if exchange.fault else answer

    def _respond(
        self, start_response: StartResponse, answer: Answer, content: bytes, *, has_length: bool
    ) -> list[bytes]:
        status = HTTPStatus(answer.status)
        sent = [("Date", self.date()), *answer.headers.items()]
        if status != HTTPStatus.NO_CONTENT:
            sent.append(("Content-Type", answer.content_type))
            if has_length:
                sent.append(("Content-Length", str(len(content))))
        start_response(f"{status.value} {status.phrase}", sent)
        return [content]


def _masked(body: Document) -> Document:
    """Return a body for the record, with its secrets masked."""
    return {name: "***" if name in MASKED else value for name, value in body.items()}


def _entry(exchange: _Exchange, status: int, environ: Environ) -> Document:
    """Return the line of the journal for one call."""
    return {
        "effect": exchange.effect,
        "began": exchange.began,
        "ended": time.time(),
        "caller": f"{environ.get('REMOTE_ADDR')}:{environ.get('REMOTE_PORT')}",
        "method": exchange.method,
        "path": exchange.path,
        "body": exchange.body,
        "status": status,
        "fault": exchange.fault.fault if exchange.fault else None,
    }


def _disturbed(content: list[bytes], fault: Rule) -> Iterable[bytes]:
    """Delay, drop, cut off or repeat an answer, as the fault requires. The call was carried out.

    With the error number of a lost connection, a server closes the connection without an answer.
    """
    if fault.fault in ("SLOW", "TIME_OUT_AFTER"):
        time.sleep(fault.seconds)
    if fault.fault == "TIME_OUT_AFTER":
        raise TimeoutError(errno.ECONNRESET, "the answer never comes")
    if fault.fault == "CUT_OFF":
        return _cut_off(content[0])
    if fault.fault == "ENDLESS":
        return itertools.repeat(content[0])
    return content


def _cut_off(content: bytes) -> Iterator[bytes]:
    yield content[: len(content) // 2]
    raise ConnectionResetError(errno.ECONNRESET, "the answer breaks off")


def _then_discard(content: list[bytes], environ: Environ) -> Iterator[bytes]:
    """Read the rest of the body. Otherwise a caller that is still sending gets no answer."""
    yield from content
    discard_body(environ)


def _back_to_page(refused: str = "") -> Answer:
    """Redirect to the page, so that reloading it does not repeat the step."""
    location = f"{CONTROL}/?refused={quote(refused[:500])}" if refused else f"{CONTROL}/"
    return Answer(303, content=b"", headers={"Location": location})


def _check_host(environ: Environ, allowed: frozenset[str]) -> None:
    """Refuse a host name that somebody may have pointed to this machine (DNS rebinding).

    A page under that name would have the same origin as the sandbox. Browsers always send the
    header, so a caller without it is accepted.
    """
    host = str(environ.get("HTTP_HOST") or "").casefold()
    name = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
    if host and "*" not in allowed and name not in allowed:
        raise Refused(403, f"{name!r} is not a name of this sandbox: start it with --allow-host")


def _check_origin(environ: Environ) -> None:
    """Refuse a page of another site, because the control paths need no token."""
    origin = environ.get("HTTP_ORIGIN")
    # Compare it as text, because it may not be an address.
    if origin is not None and origin.partition("://")[2] != environ.get("HTTP_HOST"):
        raise Refused(403, "the control paths take no calls from other sites")


def _path(environ: Environ) -> str:
    """Return the path as text. WSGI passes its bytes as Latin-1."""
    return (
        str(environ.get("PATH_INFO") or "/").encode("latin-1", "replace").decode("utf-8", "replace")
    )


def _base_url(environ: Environ) -> str:
    host = environ.get("HTTP_HOST") or f"{environ['SERVER_NAME']}:{environ['SERVER_PORT']}"
    return f"{environ.get('wsgi.url_scheme', 'http')}://{host}"
