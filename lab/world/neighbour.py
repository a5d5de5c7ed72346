"""The platform of a neighbour: another workspace of the same installation, which nobody edits."""

from collections.abc import Callable
from datetime import datetime

from lab.world.network import Delivery
from lab.world.platform import TOKEN
from lab.world.process import Answer, Environ, answer_of
from lab.world.scheduler import Thread
from sandbox.app import Sandbox

HOST = "neighbour.test"
ADDRESS = f"http://{HOST}"


class Neighbour:
    """A sandbox that answers at once."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.box = Sandbox(token=TOKEN, now=now)

    def receive(self, name: str, thread: Thread, environ: Environ, content: bytes) -> Delivery:
        """See `Host`."""

        def serve() -> Answer:
            return answer_of(self.box, environ, content)

        def refuse(decision: str) -> Answer:
            return "503 No", [], b""

        what = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']} for the neighbour"
        return Delivery(what, 0.02, serve, refuse)
