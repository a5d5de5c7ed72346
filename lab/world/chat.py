"""The chat of the scene: people read in Slack what has changed (docs/outgoing.md)."""

from lab.world.judge import Judge
from lab.world.network import Delivery, refusing
from lab.world.process import Answer, Environ
from lab.world.scheduler import Scheduler, Thread

HOST = "chat.test"
ADDRESS = f"https://{HOST}/services/some-key"
TAKEN: Answer = ("200 OK", [], b"ok")


class Chat:
    """It takes each message.

    Attributes:
        is_down: whether it answers each message with 503.
        calls: that it got.
    """

    def __init__(self, world: Scheduler, judge: Judge) -> None:
        self.world, self.judge = world, judge
        self.is_down, self.calls = False, 0

    def receive(self, name: str, thread: Thread, environ: Environ, content: bytes) -> Delivery:
        """See `Host`."""
        self.calls += 1
        key = environ["HTTP_WEBHOOK_ID"]

        def serve() -> Answer:
            self.judge.chat.received(key, content.decode())
            return TAKEN

        return Delivery(
            what=f"message {key[-6:]} for the chat of {thread.name}",
            seconds=0.05,
            serve=serve,
            refuse=refusing(self.world),
            is_refused=self.is_down,
            often=5,  # a world has few of them
        )
