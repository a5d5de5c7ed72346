"""docs/benchmarks.md: a section for each part, written by the run that measured it."""

import os
import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from lab.benchmarks.figures import Figure

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
ADDITIONS = 10_000_000


def with_section(page: str, part: str, figures: Sequence[Figure], measured: str) -> str:
    """Return the page with the section of this part anew; a part that it lacks comes last."""
    rows = "".join(
        f"| {one.what.strip()} | {one.number()} {one.unit} | {one.goal()} |\n" for one in figures
    )
    section = (
        f"## {part}\n\n`python -m lab.benchmarks {part}`, {measured}.\n\n"
        f"| what | measured | goal |\n|---|---|---|\n{rows}"
    )
    old = re.compile(rf"^## {re.escape(part)}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    if found := old.search(page):
        rest = page[found.end() :]
        return page[: found.start()] + section + ("\n" if rest else "") + rest
    return f"{page}\n{section}"


def machine() -> str:
    """Say when and on what it is measured: the speed of the machine moves every rate."""
    took = seconds_of_additions(ADDITIONS)
    speed = f"{ADDITIONS // 1_000_000} million additions in Python in {took:.2f} s"
    return f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {speed}"


def seconds_of_additions(count: int) -> float:
    """Return how long so many additions take: what a rate can be compared with."""
    began, total = time.perf_counter(), 0
    for n in range(count):
        total += n
    return time.perf_counter() - began
