"""Several workers at the same moment, each with its own connection to the database."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connections

Found = TypeVar("Found")


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
