"""Several workers at the same moment, each with its own connection to the database."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import pytest
from django.db import connection, connections, transaction
from django.db.models import QuerySet

Found = TypeVar("Found")
Other = TypeVar("Other")
PATIENCE = 5  # seconds for a thread to come to its stop, or to wait for the other one
# For writes that meet only in the database: on SQLite one waits for the whole other one.
on_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite lets one write after the other"
)


def together(work: Callable[[], Found], *, workers: int = 4) -> list[Found]:
    """Run `work` in so many threads at once; returns what each of them did, or raises as it did."""
    start = threading.Barrier(workers)

    def run(_: int) -> Found:
        start.wait(5)
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(run, range(workers)))


def crossing(
    first: Callable[[], Found], second: Callable[[], Other], *, at: str
) -> tuple[Found, Other]:
    """Run two works that meet: one stops in the middle, until the other one waits for it.

    Args:
        first: stops right before its first statement that holds the text `at`.
        second: begins then. Once it waits for a lock, or has ended, the first one goes on.

    Returns:
        what each of them did; an error of one of them is raised.
    """
    stopped, go_on = threading.Event(), threading.Event()
    holds = threading.Event()  # the first one is in a transaction

    def stop(execute: Any, sql: str, *rest: Any) -> Any:
        if at in sql and not stopped.is_set():
            if connection.in_atomic_block:
                holds.set()
            stopped.set()
            go_on.wait(2 * PATIENCE)
        return execute(sql, *rest)

    def stopping() -> Found:
        with connection.execute_wrapper(stop):
            return _alone(first)

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(stopping)
        if not stopped.wait(PATIENCE):
            raise AssertionError(f"it came to no statement with {at}: {one.result()}")
        other = pool.submit(_alone, second)
        if connection.vendor == "sqlite" and not holds.is_set():  # so nothing blocks the second
            wait([other], PATIENCE)
        else:
            _wait_until_blocked(other)
        go_on.set()
        return one.result(), other.result()


def behind(
    first: Callable[[], Found], second: Callable[[], Other], *, locked: QuerySet[Any]
) -> tuple[Found, Other]:
    """Run two works behind somebody who has a row, the second once the first one waits for it.

    Args:
        locked: the row for which the first one comes to wait while it has others.

    Returns:
        what each of them did; an error of one of them is raised.
    """
    with ThreadPoolExecutor(2) as pool:
        with transaction.atomic():
            list(locked.select_for_update())
            one = pool.submit(_alone, first)
            _wait_until_blocked(one)
            other = pool.submit(_alone, second)
            _wait_until_blocked(other, waiting=2)
        return one.result(), other.result()


def _alone(work: Callable[[], Found]) -> Found:
    try:
        return work()
    finally:
        connections.close_all()


def _wait_until_blocked(work: "Future[Any]", waiting: int = 1) -> None:
    """Return once so many wait for a lock of a row, or a work has ended. SQLite does not tell."""
    if connection.vendor == "sqlite":
        time.sleep(0.2)
        return
    counted = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    until = time.monotonic() + PATIENCE
    while not work.done() and time.monotonic() < until:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # else a transaction sees one moment
            cursor.execute(f"{counted} AND datname = current_database()")
            if cursor.fetchone()[0] >= waiting:
                return
        time.sleep(0.01)
