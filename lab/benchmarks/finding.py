"""The search for properties, as a page of the list and as a choice, over growing stocks."""

from __future__ import annotations

from collections.abc import Iterator

from lab.benchmarks.figures import Figure
from lab.benchmarks.page_figures import of_pages

NAME = "finding"


def measure() -> Iterator[Figure]:
    """Search several times for what few, many and no properties have, on each database there is."""
    return of_pages("lab.benchmarks.finding_rounds")
