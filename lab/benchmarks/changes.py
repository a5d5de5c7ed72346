"""The pages over the history of all properties, with 1,000,000 changes."""

from __future__ import annotations

from collections.abc import Iterator

from lab.benchmarks.figures import Figure
from lab.benchmarks.page_figures import of_pages

NAME = "changes"


def measure() -> Iterator[Figure]:
    """Open each page several times, on each database that is there."""
    return of_pages("lab.benchmarks.changes_rounds")
