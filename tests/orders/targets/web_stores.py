"""Stand-ins of a WebDAV server and of a storage with S3, in process, over a folder."""

import base64
import hashlib
import hmac
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tests.properties.sources.servers import PASSWORD, USER

BASIC = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
Answer = Callable[["Request"], int]


@dataclass
class Store:
    """A store, and what a test has it do.

    Attributes:
        fail: by method, the statuses of the next answers.
        calls: method and path of each request.
    """

    folder: Path
    answer: Answer
    fail: dict[str, list[int]] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0


@dataclass
class Request:
    store: Store
    method: str
    path: str
    raw_path: str
    headers: dict[str, str]
    body: bytes

    @property
    def local(self) -> Path:
        return self.store.folder / self.path.strip("/")


@contextmanager
def serving(folder: Path, answer: Answer) -> Iterator[Store]:
    store = Store(folder, answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(65_537)
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            path = unquote(self.path)
            store.calls.append((self.command, path))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(store, self.command, path, self.path, headers, body)
            failing = store.fail.get(self.command)
            self.send_response(failing.pop(0) if failing else answer(request))
            self.send_header("Content-Length", "0")
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    store.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()


def webdav(request: Request) -> int:  # noqa: PLR0911 - a line for each answer
    """Answer as RFC 4918 says."""
    local = request.local
    if request.headers.get("authorization") != BASIC:
        return 401
    match request.method:
        case "PROPFIND":
            return 207 if local.exists() else 404
        case "MKCOL":
            if local.exists():
                return 405
            if not local.parent.is_dir():
                return 409
            local.mkdir()
            return 201
        case "PUT":
            if not local.parent.is_dir():
                return 409
            local.write_bytes(request.body)
            return 201
        case "MOVE":
            final = unquote(urlsplit(request.headers["destination"]).path).strip("/")
            there = request.store.folder / final
            if there.exists() and request.headers["overwrite"] != "T":
                return 412
            local.replace(there)
            return 201
        case "DELETE":
            if not local.exists():
                return 404
            local.unlink()
            return 204
    return 405


def s3(request: Request) -> int:
    """Answer as S3 does to who signs with the secret; the bucket is the first part of the path."""
    local, headers = request.local, request.headers
    if hashlib.sha256(request.body).hexdigest() != headers["x-amz-content-sha256"]:
        return 400
    if not _is_signed(request):
        return 403
    match request.method:
        case "HEAD":
            return 200 if local.is_file() else 404
        case "PUT":
            local.parent.mkdir(parents=True, exist_ok=True)
            local.write_bytes(request.body)
            return 200
        case "DELETE":
            local.unlink(missing_ok=True)
            return 204
    return 405


def _is_signed(request: Request) -> bool:
    """Sign the request once more, from what has arrived."""
    parts = dict(
        one.strip().split("=", 1)
        for one in request.headers["authorization"].partition(" ")[2].split(",")
    )
    user, day, region, service, end = parts["Credential"].split("/")
    names = parts["SignedHeaders"].split(";")
    lines = [f"{name}:{request.headers[name]}" for name in names]
    canonical = [request.method, request.raw_path, "", *lines, "", ";".join(names)]
    canonical.append(request.headers["x-amz-content-sha256"])
    digest = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
    scope = "/".join((day, region, service, end))
    text = "\n".join(("AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope, digest))
    key = ("AWS4" + PASSWORD).encode()
    for part in (day, region, service, end):
        key = hmac.digest(key, part.encode(), "sha256")
    is_ours = hmac.digest(key, text.encode(), "sha256").hex() == parts["Signature"]
    return is_ours and (user, service) == (USER, "s3") and "host" in names
