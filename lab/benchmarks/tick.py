"""One tick: of many workspaces, with little and with much that is due."""

from collections.abc import Iterator
from statistics import median

from lab.benchmarks.drain import rounds
from lab.benchmarks.figures import Figure

NAME = "tick"
LIMIT = 100  # ms


def measure() -> Iterator[Figure]:
    """Tick many times over each state, on each database that is there."""
    for database, one in rounds(NAME):
        took = median(one["milliseconds"])
        yield Figure(f"{database}, {one['what']}", took, "ms", below=LIMIT, digits=1)
