"""The figures of pages that another process opens, on each database that is there."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from lab.benchmarks.drain import rounds
from lab.benchmarks.figures import Figure

LIMIT = 200  # ms, on a machine where a million additions take no longer than so many ms:
QUICK = 25
KILOBYTES = 250  # of HTML


def of_page(what: str, visited: dict[str, Any]) -> Figure:
    """Return the median of a page (`visits.visit`), with a goal for the machine as it was then."""
    pace = max(1, visited["additions"] / QUICK)
    return Figure(what, median(visited["milliseconds"]), "ms", below=LIMIT * pace)


@dataclass(frozen=True)
class OfPages:
    """A benchmark of pages alone, each of which is opened several times.

    Attributes:
        subject: what stands between the database and the page in the name of a figure.
    """

    NAME: str
    subject: str = ""

    def measure(self) -> Iterator[Figure]:
        """Yield the median of each page, on each database that is there."""
        for database, one in rounds(self.NAME):
            yield of_page(f"{database}{self.subject}, {one['what']}", one)
