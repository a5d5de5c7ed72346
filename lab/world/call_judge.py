"""Judges our calls to the platform on their way: how many at a time, and none that is held."""

import json
from dataclasses import dataclass
from math import inf
from typing import Any

from lab.world.record import Record
from lab.world.scheduler import Thread

LIMIT, LOW_LIMIT = 8, 4  # calls at a time that the workspace allows; some seeds begin with few
# Seconds in which a process that stood still may send a call that it was about to send.
WAKING = 0.5


@dataclass
class Call:
    """A call of ours on its way.

    Attributes:
        reference: of the property that it changes; "" if it changes none.
        read: the step at which the platform served the last read of this job; None without one.
        left, left_at: the step and the moment at which it left us.
        waits: the number of this wait of its thread (`Thread.waits`).
    """

    thread: Thread
    method: str
    path: str
    body: dict[str, Any]
    reference: str
    read: int | None
    left: int
    left_at: float
    waits: int


class CallJudge:
    """The calls that are under way.

    Attributes:
        limit: of all calls at a time.
        push_limit: of those that change or read a property.
        last_change: the moment at which the last changing call left.
    """

    def __init__(self, record: Record, limit: int) -> None:
        self.record, self.limit = record, limit
        self.push_limit: int | None = None
        self.last_change = 0.0
        self.under_way: dict[Thread, Call] = {}
        self._held_at: int | None = None  # the step at which a person held pushes
        self._unlocked_at, self._locks = 0.0, 0

    def leaves(self, thread: Thread, environ: dict[str, Any], content: bytes) -> Call:
        """Take note of a call that leaves."""
        try:
            body = json.loads(content or b"{}")
        except ValueError:
            body = {}
        path = environ["PATH_INFO"].encode("latin-1").decode()
        name = path.rpartition("/")[2]
        is_property = "/real-estate-properties" in path
        reference = name if "/by-reference/" in path else ""
        if is_property and not reference:
            there = self.record.box.workspace.properties.get(name)
            reference = (there or body).get("objectReferenceId", "")
        read = thread.reads.get(reference)
        method = environ["REQUEST_METHOD"]
        call = Call(
            thread,
            method,
            path,
            body,
            reference,
            read,
            self.record.world.steps,
            self.record.world.now,
            thread.waits,
        )
        if method != "GET":
            self.last_change = self.record.world.now
        if method != "GET" and reference and thread.process.kind == "worker":
            self._alone(call)
        self.under_way[thread] = call
        if thread.process.kind == "worker":
            self._calls_at_once()
            self._may_leave(call)
        return call

    def locked(self, is_locked: bool) -> None:
        """Take note that somebody else holds the lock of the database, or lets it go."""
        self._locks += 1 if is_locked else -1
        self._unlocked_at = inf if self._locks else self.record.world.now

    def is_under_way(self, call: Call, waking: float = 0.0) -> bool:
        """Return whether a live worker waits for its answer, and could renew what it holds since.

        It cannot while it stands still, or while somebody else holds the lock of the database, as
        any process may that stands still within a transaction.

        Args:
            waking: seconds after that in which a call that leaves does not count either.
        """
        process = call.thread.process
        is_free = max(self._unlocked_at, self.record.world.frozen_until) + waking < call.left_at
        is_live = process.is_alive and is_free
        is_waited_for = call.thread.state == "call" and call.thread.waits == call.waits
        return is_live and process.kind == "worker" and is_waited_for

    def _alone(self, call: Call) -> None:
        """I6: at most one call that changes a property runs at a time."""
        others = (one for one in self.under_way.values() if one.method != "GET")
        if any(one.reference == call.reference and self.is_under_way(one) for one in others):
            self.record.wrong.append(f"two calls change {call.reference} at one time (I6)")

    def _calls_at_once(self) -> None:
        """A8: the platform gets as many calls at a time as the workspace allows, and no more."""
        alive = [call for call in self.under_way.values() if self.is_under_way(call, WAKING)]
        if len(alive) > self.limit:
            self.record.wrong.append(f"{len(alive)} calls at a time (A8)")
        pushes = sum(bool(call.reference) for call in alive)
        if self.push_limit is not None and pushes > self.push_limit:
            self.record.wrong.append(
                f"{pushes} pushes at a time, where {self.push_limit} may be (A8)"
            )

    def holds(self, is_held: bool) -> None:
        """Take note that a person holds pushes, or is about to let them go on."""
        self._held_at = self.record.world.steps if is_held else None

    def _may_leave(self, call: Call) -> None:
        """I34: no call that changes a property leaves after a hold, unless it had asked before."""
        if self._held_at is None or call.method == "GET" or "/real-estate-pr" not in call.path:
            return
        if call.thread.asked_hold > self._held_at:
            self.record.wrong.append(f"{call.method} {call.path} left after a hold (I34)")
