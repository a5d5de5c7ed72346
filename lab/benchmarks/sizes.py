"""The bytes that a property, an event, an order and a workspace take in the database."""

from collections.abc import Iterator

from lab.benchmarks.drain import rounds
from lab.benchmarks.figures import Figure

NAME = "sizes"


def measure() -> Iterator[Figure]:
    """Store many of each kind, with their indexes, on each database that is there."""
    for database, one in rounds(NAME):
        yield Figure(f"{database}, {one['what']}", one["bytes"], "bytes")
