"""The web server of the scene: it has the feed of an agency, which a source fetches."""

from lab.world.judge import FED, RULED_THEIRS, Judge
from lab.world.network import Delivery, refusing
from lab.world.process import Answer, Environ
from lab.world.scheduler import Scheduler, Thread

HOST = "feeds.test"
ADDRESS = f"https://{HOST}/feed.csv"


class Feeds:
    """It has one file, whose newer versions name the same properties, and more.

    Attributes:
        is_down: whether it answers each request with an error.
    """

    def __init__(self, world: Scheduler, judge: Judge) -> None:
        self.world, self.judge = world, judge
        self.versions, self.is_down = 0, False
        self.lines: list[str] = []

    def publish(self, name: str) -> None:
        """The agency changes one field of all properties that are there."""
        self.versions += 1
        value = 1_900 + self.versions
        references = self.judge.a_feed_brings(FED, value)
        self.lines = [f"{reference},{value},fed {value}" for reference in references]
        self.world.tell(f"{name}: the feed has {FED} {value} of {', '.join(references)}")

    def receive(self, name: str, thread: Thread, environ: Environ, content: bytes) -> Delivery:
        """See `Host`."""

        def serve() -> Answer:
            tag = f'"{self.versions}"'
            if environ.get("HTTP_IF_NONE_MATCH") == tag:
                return "304 Not Modified", [("ETag", tag)], b""
            # The platform owns the last column, so a feed changes nothing there.
            lines = [f"objectReferenceId,{FED},{RULED_THEIRS}", *self.lines]
            body = "\n".join(lines).encode()
            return "200 OK", [("ETag", tag), ("Content-Length", str(len(body)))], body

        refuse, what = refusing(self.world), f"the feed for {thread.name}"
        return Delivery(what, 0.05, serve, refuse, is_refused=self.is_down)
