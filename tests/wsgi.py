"""A transport for `requests` that calls a WSGI application in this process."""

import io
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import requests
from django.db import connections
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPResponse

IN_A_TRANSACTION: list[str] = []  # the calls that were; no test leaves one behind


class WsgiAdapter(BaseAdapter):
    """`session.mount("http://sandbox.test", WsgiAdapter(app))`.

    An application that raises ConnectionResetError or TimeoutError is a connection that breaks.
    A call inside a transaction is a bug: it would block every writer on SQLite.
    """

    def __init__(self, app: Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]):
        super().__init__()
        self.app = app

    def send(self, request, stream=False, timeout=None, verify=True, cert=None, proxies=None):
        refuse_in_a_transaction(f"{request.method} {request.url}")
        started: list[Any] = []
        try:
            chunks = self.app(environ_of(request), lambda *args: started.append(args))
            body = b"".join(chunks)
        except ConnectionResetError as error:
            raise requests.ConnectionError(error, request=request) from error
        except TimeoutError as error:
            raise requests.ReadTimeout(error, request=request) from error
        status, headers = started[0][:2]
        raw = HTTPResponse(
            io.BytesIO(body), headers, int(status[:3]), preload_content=False, reason=status[4:]
        )
        response = requests.Response()
        response.status_code, response.reason = raw.status, raw.reason
        response.headers = CaseInsensitiveDict(raw.headers)
        response.encoding = requests.utils.get_encoding_from_headers(response.headers)
        response.raw, response.url, response.request = raw, request.url, request
        response.connection = self
        if not stream:
            response.content  # noqa: B018 - reads the body, as the adapter of requests does
        return response

    def close(self) -> None:
        """Nothing is open."""


def refuse_in_a_transaction(call: str) -> None:
    """Fail where the thread is in a transaction of ours, not only in the one around its test."""
    for connection in connections.all(initialized_only=True):
        if any(not block._from_testcase for block in connection.atomic_blocks):
            IN_A_TRANSACTION.append(call)
            raise AssertionError(f"{call} inside a transaction")


def environ_of(request: requests.PreparedRequest) -> dict[str, Any]:
    """Return what a WSGI server makes of a request."""
    url = urlsplit(request.url or "")
    body = request.body or b""
    if isinstance(body, str):
        body = body.encode()
    elif not isinstance(body, bytes):
        body = b"".join(body) if not hasattr(body, "read") else body.read()
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(url.path or "/").decode("latin-1"),
        "QUERY_STRING": url.query,
        "SERVER_NAME": url.hostname,
        "SERVER_PORT": str(url.port or (443 if url.scheme == "https" else 80)),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": url.netloc,
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": url.scheme,
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in request.headers.items():
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        key = name.upper().replace("-", "_")
        if key == "CONTENT_TYPE":
            environ[key] = text
        elif key not in ("CONTENT_LENGTH", "TRANSFER_ENCODING"):
            environ[f"HTTP_{key}"] = text
    return environ
