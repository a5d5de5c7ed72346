"""The receiver of the scene: another program, which gets our messages (docs/outgoing.md)."""

import base64
import hashlib
import hmac

from lab.world.judge import Judge
from lab.world.network import Delivery, refusing
from lab.world.process import Answer, Environ
from lab.world.scheduler import Scheduler, Thread

HOST = "receiver.test"
ADDRESS = f"https://{HOST}/messages"
KEY = bytes(32)
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
TAKEN: Answer = ("204 No Content", [], b"")


class Receiver:
    """It takes each message whose signature is right.

    Attributes:
        seconds: of each answer; infinite while it hangs.
        is_down: whether it answers each message with 503.
        calls: that it got.
    """

    def __init__(self, world: Scheduler, judge: Judge) -> None:
        self.world, self.judge = world, judge
        self.seconds, self.is_down, self.calls = 0.02, False, 0

    def receive(self, name: str, thread: Thread, environ: Environ, content: bytes) -> Delivery:
        """See `Host`."""
        self.calls += 1
        key = environ["HTTP_WEBHOOK_ID"]
        self._is_signed(key, environ, content)

        def serve() -> Answer:
            self.judge.messages.received(key, content.decode())
            return TAKEN

        refuse = refusing(self.world, headers=[("Retry-After", "2")])
        what = f"message {key[-6:]} of {thread.name}"
        return Delivery(what, self.seconds, serve, refuse, is_refused=self.is_down)

    def _is_signed(self, key: str, environ: Environ, content: bytes) -> None:
        at = environ["HTTP_WEBHOOK_TIMESTAMP"]
        digest = hmac.digest(KEY, f"{key}.{at}.".encode() + content, hashlib.sha256)
        signature = f"v1,{base64.b64encode(digest).decode()}"
        if environ["HTTP_WEBHOOK_SIGNATURE"] != signature:
            self.judge.record.wrong.append(f"the message {key} has a wrong signature")
