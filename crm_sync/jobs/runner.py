"""The one loop over due rows: claim a batch, work on it, count the outcomes.

Once it has to stop it finishes the batches that threads are working on and gives back the rest.
Every claimed row is either worked on or given back. While it waits, it uses no processor time.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Generic, TypeVar

from django.db import connections

from crm_sync.jobs import due, durability
from crm_sync.jobs.due import LeaseLost, Tally

log = logging.getLogger(__name__)

POLL_INTERVAL = 0.5  # seconds between two claims while nothing more is due
PREFETCH = 3  # batches claimed for each thread, including the one that it works on
PREFETCH_TIMEOUT = due.LEASE.total_seconds() / 4  # how long a claimed batch may wait for a thread
LOST = "lost to another worker"

Claimed = TypeVar("Claimed")


class Stop(Exception):
    """Raised by `work`: nothing more can be done now. Its rows are given back, the loop ends."""


@dataclass(frozen=True)
class Source(Generic[Claimed]):
    """What the loop works on, as functions.

    Attributes:
        claim: claims up to this many due rows; fewer when there are no more.
        work: finishes a batch of claimed rows and returns the outcome of each. May raise
            `LeaseLost`, when another worker holds a row now, and `Stop`.
        give_back: puts a claimed row back as it was.
        failed: called for each row of a batch for which `work` raised anything else; reschedules
            the row and returns the outcome.
        batch_size: how many rows one call of `work` takes.
    """

    claim: Callable[[int], Sequence[Claimed]]
    work: Callable[[Sequence[Claimed]], Sequence[str]]
    give_back: Callable[[Claimed], None]
    failed: Callable[[Claimed, Exception], str]
    batch_size: int = 1


@dataclass(frozen=True)
class _Batch(Generic[Claimed]):
    claims: Sequence[Claimed]
    claimed_at: float


def run(
    source: Source[Claimed],
    *,
    goes_on: Callable[[], bool],
    threads: int = 1,
    clock: Callable[[], float] = time.monotonic,
) -> Tally:
    """Work until no row is due, or until `goes_on` returns False.

    Args:
        goes_on: asked before each claim, and every half second until the last batch is done, so
            that it can keep what the caller holds. Once it has returned False, no batch is started
            any more, and those that no thread has started are given back.
        threads: how many batches are worked on at the same time; with 1, in the caller's thread.
        clock: seconds, from any starting point.

    Returns:
        the number of rows for each outcome.

    Raises:
        Exception: whatever `claim`, `goes_on`, `give_back` or `failed` raised, once no thread is
            working any more.
    """
    loop = _Loop(source, goes_on, clock)
    if threads == 1:
        loop.serve(1, loop.do)
    else:
        with _threads(threads, loop.do) as start:
            try:
                loop.serve(PREFETCH * threads, start)
            finally:
                loop.stopped.set()  # batches that no thread has started are given back
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
        self.finished: list[Sequence[str] | BaseException] = []  # and not counted yet
        self.wanted = 1  # how many of these the caller's thread is waiting for
        self.has_enough = threading.Condition()

    def serve(self, limit: int, start: Callable[[_Batch[Claimed]], object]) -> None:
        """Claim and start batches, up to `limit` at a time, so that no thread waits for a claim."""
        pending = 0  # batches that were claimed and are not counted yet
        next_claim = self.clock()
        while True:
            try:
                if not self.goes_on():
                    self.stopped.set()
                is_open = not self.stopped.is_set()
                if is_open and pending < limit and (not pending or self.clock() >= next_claim):
                    batches = self._claim(limit - pending)
                    pending += len(batches)
                    for batch in batches:
                        start(batch)
                    next_claim = self.clock() + (POLL_INTERVAL if pending < limit else 0.0)
            except Exception as error:  # noqa: BLE001 - raised again once nothing is in progress
                self._end_with(error)
                is_open = False
            if not pending:
                return
            # One claim of many rows is cheaper than many claims: wait until half of them are done.
            is_full = is_open and pending == limit
            pending -= self._collect(pending - limit // 2 if is_full else pending)

    def _end_with(self, error: BaseException) -> None:
        self.error = self.error or error
        self.stopped.set()

    def _claim(self, batches: int) -> list[_Batch[Claimed]]:
        size = self.source.batch_size
        claims = self.source.claim(batches * size)
        now = self.clock()
        return [_Batch(claims[n : n + size], now) for n in range(0, len(claims), size)]

    def _collect(self, wanted: int) -> int:
        """Count the finished batches once there are `wanted` of them, or after half a second."""
        with self.has_enough:
            self.wanted = wanted
            self.has_enough.wait_for(lambda: len(self.finished) >= wanted, POLL_INTERVAL)
            finished, self.finished = self.finished, []
        for result in finished:
            if isinstance(result, BaseException):
                self._end_with(result)
            else:
                for outcome in result:
                    self.tally.add(outcome)
        return len(finished)

    def do(self, batch: _Batch[Claimed]) -> None:
        """Work on one batch, in any thread."""
        result: Sequence[str] | BaseException
        try:
            result = self._outcomes(batch)
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            result = error
        with self.has_enough:
            self.finished.append(result)
            # Waking the caller for each batch would each time interrupt a thread that works.
            if len(self.finished) >= self.wanted:
                self.has_enough.notify()

    def _outcomes(self, batch: _Batch[Claimed]) -> Sequence[str]:
        if self.stopped.is_set() or self.clock() - batch.claimed_at > PREFETCH_TIMEOUT:
            return self._give_back(batch)
        try:
            return self.source.work(batch.claims)
        except LeaseLost:
            return [LOST] * len(batch.claims)
        except Stop:
            self.stopped.set()
            return self._give_back(batch)
        except Exception as error:
            # A bug of ours, or a value that the database refuses: the other rows are not held up.
            log.exception("%s failed", ", ".join(str(claim) for claim in batch.claims))
            return [self.source.failed(claim, error) for claim in batch.claims]

    def _give_back(self, batch: _Batch[Claimed]) -> Sequence[str]:
        for claim in batch.claims:
            self.source.give_back(claim)
        return []


@contextmanager
def _threads(
    count: int, do: Callable[[_Batch[Claimed]], None]
) -> Iterator[Callable[[_Batch[Claimed]], None]]:
    """Run threads that `do` each batch which the yielded function is called with.

    Each has a database connection of its own, closed at the end. Nobody asks for the result of a
    batch, so there is no future for each, as an executor would make.
    """
    batches: SimpleQueue[_Batch[Claimed] | None] = SimpleQueue()
    opened = []

    def work() -> None:
        connection = connections["default"]
        connection.inc_thread_sharing()  # the caller's thread closes it
        opened.append(connection)
        durability.relax()  # a write that a power cut takes back is done again
        while (batch := batches.get()) is not None:
            do(batch)

    started = []
    try:
        for _ in range(count):
            thread = threading.Thread(target=work)
            thread.start()
            started.append(thread)
        yield batches.put
    finally:
        for _ in started:
            batches.put(None)
        for thread in started:
            thread.join()
        for connection in opened:
            connection.close()
