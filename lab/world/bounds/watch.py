"""Sees the calls to the platform while a bound is tried."""

from collections.abc import Callable
from dataclasses import dataclass

from lab.world.bounds.clock import Clock
from lab.world.call_judge import Call
from lab.world.platform import Manner


def is_push(call: Call, reference: str) -> bool:
    """Return whether a call changes this property."""
    return call.method == "PATCH" and call.reference == reference


@dataclass
class Seen:
    """A call to the platform, the job that makes it, and when its answer comes."""

    call: Call
    job: object
    ends_at: float

    def meets(self, other: "Seen") -> bool:
        """Return whether both are under way at one time."""
        return self.call.left_at < other.ends_at and other.call.left_at < self.ends_at


class Watch:
    """Sees all calls to the platform, and says how many seconds each takes."""

    def __init__(self, on: Clock, seconds: Callable[[Call], float]) -> None:
        self.on, self.seconds = on, seconds
        self.seen: list[Seen] = []
        on.platform.manner = Manner(seconds=self.takes)

    def takes(self, call: Call) -> float:
        """Take note of a call; return its seconds."""
        seconds = self.seconds(call)
        self.seen.append(Seen(call, call.thread.job, self.on.world.now + seconds))
        return seconds

    def of(self, reference: str, method: str = "") -> list[Seen]:
        """Return the calls of a property, with one method or all."""
        mine = (one for one in self.seen if one.call.reference == reference)
        return [one for one in mine if method in ("", one.call.method)]

    def until(self, seconds: float, what: str, is_there: Callable[[], object]) -> bool:
        """Let the world go on until something is seen; else a promise is broken."""
        world = self.on.world
        world.run(world.now + seconds, lambda: bool(is_there()))
        if not is_there():
            self.on.wrong(f"{what}: not within {seconds:g} s")
        return bool(is_there())
