"""What waits beside calls that hang, and beside a long backlog, with one worker and one beat."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from lab.benchmarks.databases import databases
from lab.benchmarks.drain import stream
from lab.benchmarks.figures import Figure
from lab.benchmarks.sandbox import write_many
from tests.processes import Installation

NAME = "hanging"
ROWS = 3_000  # properties of the sandbox
BELOW = {
    "8 edits beside 2 that hang": 2,
    "an edit beside 40 workspaces that hang": 2,
    "a person's edit beside 2,000 due rows": 5,
}
CREATIONS = 1.1  # of what the slots allow


def measure() -> Iterator[Figure]:
    """Run one worker and one beat, on each database that is there."""
    for database, url in databases():
        with tempfile.TemporaryDirectory() as folder:
            yield from _measured(database, url, Path(folder))


def _measured(database: str, url: str, folder: Path) -> Iterator[Figure]:
    state = folder / "state.json"
    write_many(state, ROWS)
    installation = Installation(folder, url)
    try:
        installation.start_sandbox("--state", str(state))
        installation.start_worker()
        installation.start_beat()
        module, sandbox = "lab.benchmarks.hanging_rounds", installation.sandbox
        for one in stream(module, sandbox, folder=str(folder), database_url=url):
            what, values = one["what"], one["seconds"]
            if what in BELOW:
                limit = BELOW[what]
                yield Figure(f"{database}, {what}", max(values), "s", below=limit, digits=1)
            else:
                ratio = max(values)
                yield Figure(f"{database}, {what}", ratio, "of slots", below=CREATIONS, digits=2)
    finally:
        installation.stop()
