"""Which handler understands which event, and the doorbell (design §2.1, §2.4)."""

import enum
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar, cast

from django.db import transaction

from crm_sync.events import Event

log = logging.getLogger(__name__)

RING_INTERVAL = 0.3  # seconds between two rings for one queue of one workspace
SILENCE = 5.0  # seconds without a ring after one that failed


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


Handler = Callable[[Batch, Event, int], Effect]  # what is applied with it, the event, delivery id
HANDLERS: dict[str, Handler] = {}
# Each tells, in words, what an app knows of the rows that an event is about ("order 12, status" →
# "PLACED"); before and after, it shows what the event would change. Filled when the apps load.
Witness = Callable[[int, Event], Mapping[str, str]]
WITNESSES: list[Witness] = []


def handles(*kinds: str) -> Callable[[Handler], Handler]:
    """Register the function as the handler of these events; it runs inside a transaction."""

    def register(handler: Handler) -> Handler:
        for kind in kinds:
            HANDLERS[kind] = handler
        return handler

    return register


class Doorbell:
    """Tells a worker that something is due. A ring may fail or be left out: the tick comes anyway.

    Coalesced, because the file-system broker slows down with each waiting message, and silent for
    a few seconds after a failure, because a frozen broker costs a time-out for each ring.
    """

    def __init__(self, publish: Callable[[str, int], object] | None = None) -> None:
        self.publish = publish
        self._last: dict[tuple[str, int], float] = {}
        self._silent_until = 0.0
        self._lock = threading.Lock()

    def ring(self, queue: str, workspace_id: int) -> None:
        """Ring after the commit of the current transaction, at once where there is none."""
        transaction.on_commit(lambda: self._ring(queue, workspace_id), robust=True)

    def _ring(self, queue: str, workspace_id: int) -> None:
        now = time.monotonic()
        with self._lock:
            recent = now - self._last.get((queue, workspace_id), -RING_INTERVAL) < RING_INTERVAL
            if self.publish is None or recent or now < self._silent_until:
                return
            self._last[(queue, workspace_id)] = now
        try:
            self.publish(queue, workspace_id)
        except Exception as error:  # noqa: BLE001 - each broker raises its own; none may reach the user
            with self._lock:
                self._silent_until = time.monotonic() + SILENCE
            log.warning("the broker does not answer (%s); the tick does the work", error)


doorbell = Doorbell()  # crm_sync.tasks gives it the Celery task when the app loads
