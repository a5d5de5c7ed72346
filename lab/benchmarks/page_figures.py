"""The figures of pages that another process opens, on each database that is there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from statistics import median
from typing import Any

from lab.benchmarks.databases import databases
from lab.benchmarks.drain import stream
from lab.benchmarks.figures import Figure

LIMIT = 200  # ms, on a machine where a million additions take no longer than so many ms:
QUICK = 25
KILOBYTES = 250  # of HTML


def of_page(what: str, visited: dict[str, Any]) -> Figure:
    """Return the median of a page (`visits.visit`), with a goal for the machine as it was then."""
    pace = max(1, visited["additions"] / QUICK)
    return Figure(what, median(visited["milliseconds"]), "ms", below=LIMIT * pace)


def of_pages(rounds: str, subject: str = "") -> Iterator[Figure]:
    """Run the module of the rounds on each database, and yield the median of each page.

    Args:
        subject: what stands between the database and the page in the name of a figure.
    """
    for database, url in databases():
        with tempfile.TemporaryDirectory() as folder:
            for one in stream(rounds, folder=folder, database_url=url):
                yield of_page(f"{database}{subject}, {one['what']}", one)
