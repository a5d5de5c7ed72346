"""Many small workspaces: two workers, a thousand webhooks to poll, fifty with something due."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from lab.benchmarks.databases import databases
from lab.benchmarks.drain import stream
from lab.benchmarks.figures import Figure
from lab.benchmarks.sandbox import write_many
from tests.processes import Installation

NAME = "many"
LIMIT = 5  # seconds
ROWS = 2_000  # properties of the sandbox; more than come due


def measure() -> Iterator[Figure]:
    """Run two workers and beat as in the Procfile, on each database that is there."""
    for database, url in databases():
        with tempfile.TemporaryDirectory() as folder:
            yield from _measured(database, url, Path(folder))


def _measured(database: str, url: str, folder: Path) -> Iterator[Figure]:
    state, journal = folder / "state.json", folder / "journal"
    write_many(state, ROWS)
    installation = Installation(folder, url)
    try:
        installation.start_sandbox("--state", str(state), "--journal", str(journal))
        for name in ("one", "two"):
            installation.start_worker(name)
        installation.start_beat()
        rounds = stream(
            "lab.benchmarks.many_rounds",
            installation.sandbox,
            str(journal),
            folder=str(folder),
            database_url=url,
        )
        for one in rounds:
            yield from _figures(database, one)
    finally:
        installation.stop()


def _figures(database: str, found: dict) -> Iterator[Figure]:
    if late := found.get("late"):
        what = f"{database}, webhooks of 1,000 workspaces: a poll"
        yield Figure(f"{what} is late", median(late), "s, median", digits=1)
        yield Figure(f"{what} is late at most", late[-1], "s", below=LIMIT, digits=1)
        return
    what = f"{database}, 50 of 1,000 workspaces with {found['rows']} due: all begun"
    yield Figure(what, found["begun"][-1], "s", below=LIMIT, digits=1)
