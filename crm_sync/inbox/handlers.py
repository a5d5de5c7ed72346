"""Which handler understands which event, and who is told of what came."""

import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar, cast
from uuid import UUID

from crm_sync.inbox.events import Event


class Outcome(enum.Enum):
    """What an event did to the rows of whoever handles it."""

    APPLIED = "APPLIED"
    STALE = "STALE"  # something newer is known; it still entered the timeline
    IGNORED = "IGNORED"


@dataclass(frozen=True)
class Effect:
    """The outcome, and what a person reads about it ("order 12: PLACED → IN_PROGRESS")."""

    outcome: Outcome
    text: str


class Part(Protocol):
    """What an app has read for the events of a batch, and changes in memory."""

    def write(self) -> None:
        """Write what was changed."""


SomePart = TypeVar("SomePart", bound=Part)


class Batch:
    """Events of one workspace that are applied in one transaction, one after the other.

    An app reads what they are about when the first of its handlers asks for its part, and writes it
    when all are through: many events, few statements.

    Attributes:
        now: our clock; it orders nothing (I29).
    """

    def __init__(self, workspace_id: int, events: Sequence[Event], *, now: datetime) -> None:
        self.workspace_id = workspace_id
        self.events = events
        self.now = now
        self._parts: dict[Callable[[Batch], Part], Part] = {}

    def part(self, read: Callable[["Batch"], SomePart]) -> SomePart:
        """Return what `read` makes of this batch; it is called once."""
        if read not in self._parts:
            self._parts[read] = read(self)
        return cast(SomePart, self._parts[read])

    def write(self) -> None:
        """Let each app write what its handlers changed."""
        for part in self._parts.values():
            part.write()


Handler = Callable[
    [Batch, Event, int], Effect
]  # what is applied with it, the event, received event id
HANDLERS: dict[str, Handler] = {}
# Each tells, in words, what an app knows of the rows that an event is about ("order 12, status" →
# "PLACED"); before and after, it shows what the event would change. Filled when the apps load.
Snapshot = Callable[[int, Event], Mapping[str, str]]
SNAPSHOTS: list[Snapshot] = []
# Each is told of a workspace whose received events were applied, at our time, and of callback ids
# whose callbacks could not be stored. Filled when the apps load.
AFTER_APPLIED: list[Callable[[int, datetime], object]] = []
AFTER_MISSED: list[Callable[[Collection[UUID], datetime], object]] = []


def handles(*kinds: str) -> Callable[[Handler], Handler]:
    """Register the function as the handler of these events; it runs inside a transaction."""

    def register(handler: Handler) -> Handler:
        for kind in kinds:
            HANDLERS[kind] = handler
        return handler

    return register
