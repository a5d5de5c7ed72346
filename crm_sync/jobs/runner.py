"""The one loop over rows that are due: claim, work, count, until it is told to stop.

It ends within what one unit takes once it is told to stop, works or gives back all that it claimed,
and sleeps while it waits.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db import connections

from crm_sync.jobs import due, durability
from crm_sync.jobs.due import LeaseLost, Tally

log = logging.getLogger(__name__)

LOOK = 0.5  # seconds between two looks for more, while nothing more is due
AHEAD = 3  # units that are claimed for each thread, the one that it works on among them
MAY_WAIT = due.LEASE.total_seconds() / 4  # how long a claimed row may wait for a thread
LOST = "lost to another worker"

Claimed = TypeVar("Claimed")


class Stop(Exception):
    """Nothing more can be done for now: the row goes back as it was, and the loop ends."""


@dataclass(frozen=True)
class Source(Generic[Claimed]):
    """Where the work comes from, and what is done with it.

    Attributes:
        claim: takes up to so many rows that are due; fewer when there are no more.
        work: takes claimed rows to their end and returns the outcome of each. Raises `LeaseLost`
            where another worker has a row now, and `Stop`.
        give_back: leaves a claimed row as it was found.
        failed: ends a row at which `work` raised anything else, and returns the outcome.
        together: how many rows one call of `work` takes.
    """

    claim: Callable[[int], Sequence[Claimed]]
    work: Callable[[Sequence[Claimed]], Sequence[str]]
    give_back: Callable[[Claimed], None]
    failed: Callable[[Claimed, Exception], str]
    together: int = 1


@dataclass(frozen=True)
class _Unit(Generic[Claimed]):
    claims: Sequence[Claimed]
    claimed_at: float


def run(
    source: Source[Claimed],
    *,
    goes_on: Callable[[], bool],
    threads: int = 1,
    clock: Callable[[], float] = time.monotonic,
) -> Tally:
    """Work off what is due until nothing is, or until `goes_on` says no.

    Args:
        goes_on: asked before each claim, and each half second; once it says no, what is begun is
            ended, and what is only claimed goes back.
        threads: how many units are worked on at one time; a single one in the caller's thread.
        clock: seconds, only ever compared with itself.

    Returns:
        how many rows came to which outcome.

    Raises:
        Exception: what `claim`, `goes_on`, `give_back` or `failed` raised, after all that was
            begun is ended.
    """
    loop = _Loop(source, goes_on, clock)
    if threads == 1:
        loop.serve(1, loop.do)
    else:
        with _pool(threads) as pool:
            try:
                loop.serve(AHEAD * threads, lambda unit: pool.submit(loop.do, unit))
            finally:
                loop.stopped.set()  # what no thread has begun is given back
    if loop.error is not None:
        raise loop.error
    return loop.tally


class _Loop(Generic[Claimed]):
    def __init__(
        self, source: Source[Claimed], goes_on: Callable[[], bool], clock: Callable[[], float]
    ) -> None:
        self.source, self.goes_on, self.clock = source, goes_on, clock
        self.tally = Tally()
        self.stopped = threading.Event()
        self.error: BaseException | None = None
        self.done: list[Sequence[str] | BaseException] = []  # and not counted yet
        self.wanted = 1  # how many of them the caller's thread waits for
        self.enough = threading.Condition()

    def serve(self, room: int, begin: Callable[[_Unit[Claimed]], object]) -> None:
        """Keep up to `room` units ready, so that no thread waits for a claim."""
        out = 0  # units that were begun and are not counted yet
        look_at = self.clock()
        while True:
            if not self.stopped.is_set() and not self.goes_on():
                self.stopped.set()
            is_open = not self.stopped.is_set()
            if is_open and out < room and (not out or self.clock() >= look_at):
                units = self._claim(room - out)
                out += len(units)
                for unit in units:
                    begin(unit)
                look_at = self.clock() + (LOOK if out < room else 0.0)
            if not out:
                return
            # One claim for many rows is cheap, so half of what is ready may go before the next.
            is_full = is_open and out == room
            out -= self._collect(out - room // 2 if is_full else out)

    def _claim(self, units: int) -> list[_Unit[Claimed]]:
        size = self.source.together
        claims = self.source.claim(units * size)
        now = self.clock()
        return [_Unit(claims[n : n + size], now) for n in range(0, len(claims), size)]

    def _collect(self, wanted: int) -> int:
        """Count the units that are done once there are `wanted`, or after half a second."""
        with self.enough:
            self.wanted = wanted
            self.enough.wait_for(lambda: len(self.done) >= wanted, LOOK)
            done, self.done = self.done, []
        for found in done:
            if isinstance(found, BaseException):
                self.error = self.error or found
                self.stopped.set()
            else:
                for outcome in found:
                    self.tally.add(outcome)
        return len(done)

    def do(self, unit: _Unit[Claimed]) -> None:
        """Work on one unit, in whichever thread."""
        found: Sequence[str] | BaseException
        try:
            found = self._outcomes(unit)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread of the caller
            found = error
        with self.enough:
            self.done.append(found)
            # To wake the caller for each one would stop a thread that works, each time.
            if len(self.done) >= self.wanted:
                self.enough.notify()

    def _outcomes(self, unit: _Unit[Claimed]) -> Sequence[str]:
        if self.stopped.is_set() or self.clock() - unit.claimed_at > MAY_WAIT:
            return self._give_back(unit)
        try:
            return self.source.work(unit.claims)
        except LeaseLost:
            return [LOST] * len(unit.claims)
        except Stop:
            self.stopped.set()
            return self._give_back(unit)
        except Exception as error:
            # A bug of ours, or a value that the database refuses: the rows behind it go on.
            log.exception("%s failed", ", ".join(str(claim) for claim in unit.claims))
            return [self.source.failed(claim, error) for claim in unit.claims]

    def _give_back(self, unit: _Unit[Claimed]) -> Sequence[str]:
        for claim in unit.claims:
            self.source.give_back(claim)
        return []


@contextmanager
def _pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Give threads with a connection to the database each, which is closed with them."""
    opened = []

    def begin() -> None:
        mine = connections["default"]
        mine.inc_thread_sharing()  # the caller's thread closes it
        opened.append(mine)
        durability.relax()  # what a power cut takes back of a row is done again

    pool = ThreadPoolExecutor(threads, initializer=begin)
    try:
        yield pool
    finally:
        pool.shutdown()
        for one in opened:
            one.close()
