"""The lists of an agent and the calendar, as pages, over 50,000 orders."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from statistics import median

from lab.benchmarks.drain import databases, stream
from lab.benchmarks.figures import Figure

NAME = "lists"
LIMIT = 200  # ms


def measure() -> Iterator[Figure]:
    """Open each page several times, on each database that is there."""
    for database, url in databases():
        with tempfile.TemporaryDirectory() as folder:
            rounds = stream("lab.benchmarks.lists_rounds", folder=folder, database_url=url)
            for one in rounds:
                took = median(one["milliseconds"])
                yield Figure(f"{database}, orders, {one['what']}", took, "ms", below=LIMIT)
