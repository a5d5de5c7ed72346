"""A tenth of the size that the model reckons with, beside a tenth of that: what grows with it?"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

from lab.benchmarks.databases import databases
from lab.benchmarks.drain import stream
from lab.benchmarks.figures import Figure

NAME = "tenth"
FLAT = 1.5  # times the cost at a tenth of the size


def measure() -> Iterator[Figure]:
    """Measure each cost at both sizes, on PostgreSQL: SQLite is not made for as much."""
    for database, url in databases():
        if database != "PostgreSQL":
            continue
        first: dict[str, float] = {}
        with tempfile.TemporaryDirectory() as folder:
            rounds = stream("lab.benchmarks.tenth_rounds", folder=folder, database_url=url)
            for one in rounds:
                what, value = one["what"], one["value"]
                rows = f"{one['of']:,} properties, "
                yield Figure(f"{rows}{what.strip()}", value, one["unit"], digits=1)
                if what in first and one["unit"] != "s":
                    grown = value / first[what]
                    yield Figure("  grown", grown, "times", below=FLAT, digits=2)
                first[what] = value
