"""The network of the scene: it loses, refuses and delays our calls as the seed wants it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

from lab.world.process import Answer, Environ
from lab.world.scheduler import Scheduler, Thread

REFUSALS = ("500 No", "503 No", "429 No")  # of a host that cannot answer now


def nothing() -> None:
    """Do nothing."""


@dataclass
class Delivery:
    """One call of ours on its way.

    Attributes:
        what: the call in words.
        seconds: until it has its effect, if it is not late; infinite if it never has one.
        back: seconds from its effect until its answer is there.
        serve: lets it have its effect, and returns the answer.
        refuse: returns another answer; called with the name of the decision.
        is_refused: whether it is refused in any case.
        is_mute: whether its answer is lost in any case.
        often: how many times as often something befalls it.
        late: how many times the time of a call it may be late.
        after: called once the answer is on its way.
    """

    what: str
    seconds: float
    serve: Callable[[], Answer]
    refuse: Callable[[str], Answer]
    back: float = 0.0
    is_refused: bool = False
    is_mute: bool = False
    often: float = 1
    late: float = 1.5
    after: Callable[[], None] = nothing


def refusing(
    world: Scheduler, statuses: Sequence[str] = REFUSALS, headers: Sequence[tuple[str, str]] = ()
) -> Callable[[str], Answer]:
    """Return what refuses a call with one of these statuses, by the seed."""
    return lambda decision: (world.choose(decision, statuses), [*headers], b"")


class Host(Protocol):
    """A host that our calls reach."""

    def receive(self, name: str, thread: Thread, environ: Environ, content: bytes) -> Delivery:
        """Return the delivery of a call that leaves now; `name` is of what is decided for it."""


class Network:
    """Carries the calls of all processes to the `hosts`, by their names."""

    def __init__(self, world: Scheduler, hosts: dict[str, Host]) -> None:
        self.world, self.hosts = world, hosts
        world.serve = self.carry

    def carry(self, thread: Thread, detail: Any, deadline: float) -> None:
        """Let a call of ours reach its host, or not, and its answer come back, or not."""
        environ, content = detail
        world, temper = self.world, self.world.temper
        name, waits = f"{thread.name} call {thread.points}", thread.waits
        call = self.hosts[environ["SERVER_NAME"]].receive(name, thread, environ, content)
        delay = call.seconds

        def serve() -> None:
            answer = call.serve()
            often = call.often * temper.answer_lost
            if call.is_mute or world.happens(f"{name} answer lost", often):
                world.tell(f"the answer to {call.what} is lost: {answer[0]}")
                return
            if call.back:
                world.at(world.now + call.back, lambda: give(answer))
            else:
                give(answer)
            call.after()

        def give(answer: Answer) -> None:
            if thread.process.is_alive and thread.state == "call" and thread.waits == waits:
                world.ready(thread, answer)

        if delay == inf or world.happens(f"{name} lost", call.often * temper.call_lost):
            world.tell(f"{call.what} is lost")
            return
        if call.is_refused or world.happens(f"{name} refused", call.often * temper.refused):
            refusal = call.refuse(f"{name} status")
            world.tell(f"{call.what} is answered with {refusal[0][:3]}")
            world.at(world.now + delay, lambda: give(refusal))
            return
        if world.happens(f"{name} late", call.often * temper.call_late):
            left = max(0.0, deadline - world.now)
            # Past its deadline as well, as long as a call may still arrive (I2, I8).
            delay = call.late * left * 0.99 * world.share(f"{name} delay")
            world.tell(f"{call.what} takes {delay:.1f} s")
        world.at(world.now + delay, serve)
