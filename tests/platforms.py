"""The sandbox with the world in between: calls that vanish, answers that never come."""

from collections.abc import Callable, Iterable
from typing import Any

from crm_sync.platform import transport
from properties.models import Property
from sandbox.app import Sandbox
from tests.wsgi import WsgiAdapter

Environ = dict[str, Any]
Canned = tuple[str, list[tuple[str, str]], bytes]


def delete(box: Sandbox, platform_id: str | None) -> None:
    """Delete a property there, so long after our last call that no copy lags behind it."""
    del box.workspace.properties[platform_id or ""]
    Property.objects.filter(platform_id=platform_id).update(replaced=[])


class Between:
    """Stands between the real client and the sandbox.

    `before(environ)` runs ahead of each call and may answer itself; `after(environ)` runs when the
    sandbox has done it. Either may raise TimeoutError or ConnectionResetError: the answer is lost.
    `reword(environ, answer)` gives the answer that comes instead of the sandbox's.
    """

    def __init__(self, app: Callable[..., Iterable[bytes]], address: str):
        self.app = app
        self.before: Callable[[Environ], Canned | None] = lambda _: None
        self.after: Callable[[Environ], None] = lambda _: None
        self.reword: Callable[[Environ, Canned], Canned] = lambda _, answer: answer
        transport.MOUNTS[address] = WsgiAdapter(self)

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        canned = self.before(environ)
        if canned is None:
            started: list[tuple[str, list[tuple[str, str]]]] = []
            whole = b"".join(self.app(environ, lambda *begun: started.append(begun[:2])))
            self.after(environ)
            canned = self.reword(environ, (*started[0], whole))
        status, headers, body = canned
        start_response(status, headers)
        return [body]


def lost(*methods: str, times: int = 1) -> Callable[[Environ], None]:
    """Lose the next answers to calls of these methods."""
    left = [times]

    def act(environ: Environ) -> None:
        if environ["REQUEST_METHOD"] in methods and left[0]:
            left[0] -= 1
            raise TimeoutError

    return act


def without_body(*methods: str) -> Callable[[Environ, Canned], Canned]:
    """Let good answers to calls of these methods say nothing: 204 without a body."""

    def reword(environ: Environ, answer: Canned) -> Canned:
        status, headers, _ = answer
        if environ["REQUEST_METHOD"] not in methods or not status.startswith("2"):
            return answer
        return "204 No Content", [(k, v) for k, v in headers if k.lower() == "date"], b""

    return reword
