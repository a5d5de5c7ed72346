"""The bytes that a property, an event, an order and a workspace take in the database."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

from lab.benchmarks.databases import databases
from lab.benchmarks.drain import stream
from lab.benchmarks.figures import Figure

NAME = "sizes"


def measure() -> Iterator[Figure]:
    """Store many of each kind, with their indexes, on each database that is there."""
    for database, url in databases():
        with tempfile.TemporaryDirectory() as folder:
            for one in stream("lab.benchmarks.sizes_rounds", folder=folder, database_url=url):
                yield Figure(f"{database}, {one['what']}", one["bytes"], "bytes")
