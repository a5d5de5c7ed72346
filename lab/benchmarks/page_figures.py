"""The figures of pages that another process opens, on each database that is there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from statistics import median

from lab.benchmarks.drain import databases, stream
from lab.benchmarks.figures import Figure

LIMIT = 200  # ms


def of_pages(rounds: str, subject: str = "") -> Iterator[Figure]:
    """Run the module of the rounds on each database, and yield the median of each page.

    Args:
        subject: what stands between the database and the page in the name of a figure.
    """
    for database, url in databases():
        with tempfile.TemporaryDirectory() as folder:
            for one in stream(rounds, folder=folder, database_url=url):
                took = median(one["milliseconds"])
                yield Figure(f"{database}{subject}, {one['what']}", took, "ms", below=LIMIT)
