"""The pages of the admin over a large installation: time of the server, size of the HTML."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

from lab.benchmarks.databases import databases
from lab.benchmarks.drain import stream
from lab.benchmarks.figures import Figure
from lab.benchmarks.page_figures import KILOBYTES, of_page

NAME = "pages"


def measure() -> Iterator[Figure]:
    """Open each page several times, on PostgreSQL: SQLite is not made for as much."""
    for database, url in databases():
        if database != "PostgreSQL":
            continue
        with tempfile.TemporaryDirectory() as folder:
            rounds = stream("lab.benchmarks.pages_rounds", folder=folder, database_url=url)
            for one in rounds:
                yield of_page(one["what"], one)
                yield Figure(f"{one['what']}, HTML", one["kilobytes"], "KB", below=KILOBYTES)
