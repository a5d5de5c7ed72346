"""The lists of an agent and the calendar, as pages, over 50,000 orders."""

from __future__ import annotations

from collections.abc import Iterator

from lab.benchmarks.figures import Figure
from lab.benchmarks.page_figures import of_pages

NAME = "lists"


def measure() -> Iterator[Figure]:
    """Open each page several times, on each database that is there."""
    return of_pages("lab.benchmarks.lists_rounds", ", orders")
