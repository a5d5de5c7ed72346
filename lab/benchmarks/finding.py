"""The search for properties, as a page of the list and as a choice, over growing stocks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from statistics import median

from lab.benchmarks.drain import databases, stream
from lab.benchmarks.figures import Figure

NAME = "finding"
LIMIT = 200  # ms


def measure() -> Iterator[Figure]:
    """Search several times for what few, many and no properties have, on each database there is."""
    for database, url in databases():
        with tempfile.TemporaryDirectory() as folder:
            rounds = stream("lab.benchmarks.finding_rounds", folder=folder, database_url=url)
            for one in rounds:
                took = median(one["milliseconds"])
                yield Figure(f"{database}, {one['what']}", took, "ms", below=LIMIT)
