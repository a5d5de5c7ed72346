"""Receivers of our messages: real servers on the loopback that check and remember."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone
from standardwebhooks import Webhook

from crm_sync import hooks
from crm_sync.models import Subscription, Workspace
from crm_sync.outgoing import outbox, signature
from tests.crm_sync.sockets import Server, serving

OK = "204 No Content"


@dataclass
class Receiver:
    """What it says, which a test changes between two attempts, and what came.

    Attributes:
        refused: what it answers 500 to, by a text in the body.
        hangs: it says nothing until this is set.
    """

    status: str = OK
    headers: tuple[str, ...] = ()
    body: bytes = b""
    refused: str = ""
    hangs: threading.Event | None = None
    server: Server = field(init=False)

    @property
    def url(self) -> str:
        return self.server.url

    def talk(self, connection: socket.socket) -> None:
        request = self.server.requests[-1].decode()
        if self.hangs:
            self.hangs.wait(60)
        wrong = bool(self.refused) and self.refused in request
        status = "500 Oops" if wrong else self.status
        size = () if status == OK else (f"Content-Length: {len(self.body)}",)
        head = "\r\n".join([f"HTTP/1.1 {status}", *size, *self.headers, "", ""])
        connection.sendall(head.encode() + self.body)

    @property
    def came(self) -> list[tuple[str, dict[str, str], bytes]]:
        """The request line, the headers in small letters and the body of each request."""
        found = []
        for one in self.server.requests:
            head, _, body = one.partition(b"\r\n\r\n")
            line, *lines = head.decode().split("\r\n")
            headers = dict(text.split(": ", 1) for text in lines)
            found.append((line, {name.lower(): value for name, value in headers.items()}, body))
        return found

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for _, headers, _ in self.came]

    def messages(self, secret: str) -> list[dict[str, Any]]:
        """Every message, as the library of the specification takes it."""
        for _, headers, body in self.came:
            Webhook(secret).verify(body, headers)
        return [json.loads(body) for _, _, body in self.came]

    def forget(self) -> None:
        self.server.requests.clear()


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()
    with serving(receiver.talk) as server:
        receiver.server = server
        yield receiver


def subscribe(workspace: Workspace, url: str, *kinds: str, **columns: Any) -> Subscription:
    """Make a subscription to these kinds, to all of them if none is named."""
    usual = {
        "kinds": list(kinds) or [one.name for one in hooks.plugged().message_kinds],
        "secret": signature.new_secret(),
        "due_at": timezone.now(),
    }
    with outbox.changing(workspace.pk):
        return Subscription.objects.create(workspace=workspace, address=url, **(usual | columns))
