"""One claim of due rows, from a small backlog and from a large one."""

from collections.abc import Iterator
from statistics import median

from lab.benchmarks.drain import rounds
from lab.benchmarks.figures import Figure

NAME = "claims"
MOST = 5  # times as long, of a hundred times as many


def measure() -> Iterator[Figure]:
    """Claim from more and more rows of two queues, on each database that is there."""
    first: dict[tuple[str, str], float] = {}
    for database, one in rounds(NAME):
        queue, took = one["queue"], median(one["milliseconds"])
        least = first.get((database, queue))
        limit = None if least is None else MOST * least
        what = f"{database}, {one['claimed']} of {one['due']:,} due {queue} claimed"
        yield Figure(what, took, "ms", below=limit, digits=1)
        first.setdefault((database, queue), took)
