"""A feed of 500,000 records on SQLite: its speed, and that memory does not grow with the feed."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from lab.benchmarks.databases import sqlite
from lab.benchmarks.figures import Figure
from lab.benchmarks.imports import PEAK, feed_of, imported, installed, write_feed

NAME = "large"
SIZE = 500_000


def measure() -> Iterator[Figure]:
    """Import it twice by the real command: all new, then unchanged."""
    with tempfile.TemporaryDirectory() as name, sqlite() as url:
        folder = Path(name)
        write_feed(feed_of(folder, SIZE), SIZE)
        environment = installed(folder / "data", url, (SIZE,))
        for outcome in ("new", "unchanged"):
            run = imported(folder, environment, SIZE, outcome)
            yield Figure(f"SQLite, {SIZE:,} {outcome}", SIZE / run.seconds, "a second")
            yield Figure("  peak memory", run.peak, "MiB", below=PEAK)
