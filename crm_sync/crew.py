"""Threads that work off what is due together: calls wait for the network, not for each other."""

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic

from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from crm_sync import due, durability
from crm_sync.due import Claim, Row, Tally

LOOK = 0.5  # seconds between two looks for more, while nothing more is due
AHEAD = 3  # rows that are claimed for each thread, the one that it works on among them
MAY_WAIT = due.LEASE / 4  # how long a claimed row may wait for a thread; longer, it is given back

Work = Callable[[Claim[Row]], str]


def work_off(
    rows: QuerySet[Row], work: Work[Row], *, threads: int, goes_on: Callable[[], bool]
) -> Tally:
    """Claim what is due and take it to its end, until nothing is due.

    Args:
        work: takes one claimed row to its end, in one of the threads; returns the outcome.
        threads: how many rows are worked on at one time; one is done in the caller's thread.
        goes_on: asked at least each half second; once it says no, only what is begun is ended.

    Raises:
        Exception: what `work` raised, after all that was begun is ended.
    """
    if threads <= 1:
        return _alone(rows, work, threads, goes_on)
    crew = _Crew(work, threads)
    try:
        crew.serve(rows, goes_on)
    finally:
        crew.dismiss()
    if crew.error is not None:
        raise crew.error
    return crew.tally


def _alone(
    rows: QuerySet[Row], work: Work[Row], threads: int, goes_on: Callable[[], bool]
) -> Tally:
    tally = Tally()
    while threads and goes_on():
        claim = due.claim(rows, now=timezone.now())
        if claim is None:
            break
        tally.add(work(claim))
    return tally


class _Crew(Generic[Row]):
    def __init__(self, work: Work[Row], size: int) -> None:
        self.work, self.size, self.tally = work, size, Tally()
        self.error: BaseException | None = None
        self.stop = threading.Event()
        self.ready: SimpleQueue[Claim[Row] | None] = SimpleQueue()
        self.done: SimpleQueue[str | BaseException | None] = SimpleQueue()
        self.threads = [threading.Thread(target=self._member, daemon=True) for _ in range(size)]
        for thread in self.threads:
            thread.start()

    def serve(self, rows: QuerySet[Row], goes_on: Callable[[], bool]) -> None:
        """Keep as many rows ready as there are threads, so that no thread waits for a claim."""
        out, look_at = 0, 0.0
        while True:
            if not self.stop.is_set() and not goes_on():
                self.stop.set()
            if not self.stop.is_set() and time.monotonic() >= look_at:
                wanted = AHEAD * self.size - out
                claims = due.claim_some(rows, now=timezone.now(), limit=wanted)
                for claim in claims:
                    self.ready.put(claim)
                out += len(claims)
                look_at = time.monotonic() + LOOK if len(claims) < wanted else 0.0
            if not out:
                return
            # One claim for many rows is cheap, so half of what is ready may go before the next.
            out -= self._collect(out - AHEAD * self.size // 2 if not look_at else out)

    def _collect(self, wanted: int) -> int:
        """Count `wanted` rows that were done, or those of half a second."""
        count, end = 0, time.monotonic() + LOOK
        while count < wanted and (left := end - time.monotonic()) > 0:
            try:
                found = self.done.get(timeout=left)
            except Empty:
                break
            count += 1
            if isinstance(found, BaseException):
                self.error = found
                self.stop.set()
            elif found is not None:
                self.tally.add(found)
        return count

    def dismiss(self) -> None:
        """Let each thread end what it has begun."""
        self.stop.set()
        for _ in self.threads:
            self.ready.put(None)
        for thread in self.threads:
            thread.join()

    def _member(self) -> None:
        durability.relax()  # what a power cut takes back of a row is done again
        try:
            while (claim := self.ready.get()) is not None:
                self.done.put(self._one(claim))
        finally:
            connection.close()

    def _one(self, claim: Claim[Row]) -> str | BaseException | None:
        try:
            if self.stop.is_set() or timezone.now() > claim.until - due.LEASE + MAY_WAIT:
                claim.release()
                return None
            return self.work(claim)
        except Exception as error:  # noqa: BLE001 - raised again in the thread of the caller
            return error
