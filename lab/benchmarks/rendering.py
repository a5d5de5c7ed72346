"""What the pages of a property cost: processor of the web process, HTML, SQL, templates."""

from collections.abc import Iterator
from statistics import median

from lab.benchmarks.drain import rounds
from lab.benchmarks.figures import Figure
from lab.benchmarks.page_figures import KILOBYTES, LIMIT

NAME = "rendering"
STATEMENTS = 20


def measure() -> Iterator[Figure]:
    """Open each page many times, on each database that is there."""
    for database, one in rounds(NAME):
        what, took = f"{database}, {one['what']}", median(one["milliseconds"])
        yield Figure(what, took, "ms of processor", below=LIMIT)
        yield Figure(f"{what}, HTML", one["kilobytes"], "KB", below=KILOBYTES)
        yield Figure(f"{what}, SQL", one["statements"], "statements", below=STATEMENTS)
        yield Figure(f"{what}, templates", one["templates"], "rendered")
