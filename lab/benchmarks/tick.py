"""One tick: of many workspaces, with little and with much that is due."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from statistics import median

from lab.benchmarks.databases import databases
from lab.benchmarks.drain import stream
from lab.benchmarks.figures import Figure

NAME = "tick"
LIMIT = 100  # ms


def measure() -> Iterator[Figure]:
    """Tick many times over each state, on each database that is there."""
    for database, url in databases():
        with tempfile.TemporaryDirectory() as folder:
            rounds = stream("lab.benchmarks.tick_rounds", folder=folder, database_url=url)
            for one in rounds:
                took = median(one["milliseconds"])
                yield Figure(f"{database}, {one['what']}", took, "ms", below=LIMIT, digits=1)
