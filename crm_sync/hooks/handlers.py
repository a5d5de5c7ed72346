"""What an event handler gets and returns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeVar, cast

from crm_sync.platform.events import Event


class Outcome(StrEnum):
    """What an event did to the rows of the app that handles it."""

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

    An app reads the rows for all events when its first handler asks for its part, and writes them
    when all handlers are done: many events, few statements.

    Attributes:
        now: our clock; it orders nothing (I29).
    """

    def __init__(self, workspace_id: int, events: Sequence[Event], *, now: datetime) -> None:
        self.workspace_id = workspace_id
        self.events = events
        self.now = now
        self._parts: dict[Callable[[Batch], Part], Part] = {}

    def part(self, read: Callable[["Batch"], SomePart]) -> SomePart:
        """Return the part that `read` makes of this batch; it is called once for a batch."""
        if read not in self._parts:
            self._parts[read] = read(self)
        return cast(SomePart, self._parts[read])

    def write(self) -> None:
        """Let each app write what its handlers changed."""
        for part in self._parts.values():
            part.write()


# Takes the batch, the event and the id of the received event; runs inside a transaction.
EventHandler = Callable[[Batch, Event, int], Effect]
# Takes a workspace id and an event; returns in words what the app knows of the event's rows
# ("order 12, status" → "PLACED"). Called before and after, it shows what the event changes.
Snapshot = Callable[[int, Event], Mapping[str, str]]
