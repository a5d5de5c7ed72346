"""One claim of due rows, from a small backlog and from a large one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from statistics import median

from lab.benchmarks.databases import databases
from lab.benchmarks.drain import stream
from lab.benchmarks.figures import Figure

NAME = "claims"
MOST = 5  # times as long, of a hundred times as many


def measure() -> Iterator[Figure]:
    """Claim from more and more rows of two queues, on each database that is there."""
    for database, url in databases():
        first: dict[str, float] = {}
        with tempfile.TemporaryDirectory() as folder:
            rounds = stream("lab.benchmarks.claims_rounds", folder=folder, database_url=url)
            for one in rounds:
                queue, took = one["queue"], median(one["milliseconds"])
                limit = MOST * first[queue] if queue in first else None
                what = f"{database}, {one['claimed']} of {one['due']:,} due {queue} claimed"
                yield Figure(what, took, "ms", below=limit, digits=1)
                first.setdefault(queue, took)
