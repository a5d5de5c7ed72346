"""The tick over many properties of which none is due."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from statistics import median

from tests.benchmarks.drain import databases, run
from tests.benchmarks.figures import Figure

NAME = "tick"
ROWS = 100_000


def measure() -> list[Figure]:
    """Tick many times on each database that is there."""
    return [figure for database, url in databases() for figure in _measured(database, url)]


def _measured(database: str, url: str) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        found = run("tests.benchmarks.tick_rounds", str(ROWS), folder=folder, database_url=url)
    what = f"{database}, {ROWS:,} properties, none due"
    yield Figure(f"{what}: a tick", median(found["milliseconds"]), "ms", below=50, digits=1)
    yield Figure(f"{what}: calls to the platform", found["calls"], "calls", below=1)
