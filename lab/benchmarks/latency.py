"""From an edit to in sync, and from an event to the page of its order, idle and under load."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lab.benchmarks.databases import sqlite
from lab.benchmarks.drain import stream
from lab.benchmarks.figures import Figure, percentile
from lab.benchmarks.sandbox import write_many
from lab.scale.person import Person
from tests.processes import Installation

NAME = "latency"
PROPERTIES, ORDERS = 100, 401
LOOKS = 100  # ms between two looks of a worker for messages, with the embedded default
TIMES = 2  # as long as what it is made of, and two looks
BESIDE = 6  # times as long under load as idle
BARE = {
    "edit": "the page of a property, GET and PATCH at the platform",
    "event": "the page of an order",
}
WORDS = {"edit": "an edit until it is in sync", "event": "an event until the page shows it"}
PROCESSES = ("web", "callbacks", "worker", "beat")


def measure() -> Iterator[Figure]:
    """Run the processes of the Procfile with the embedded default: SQLite, and no server."""
    with tempfile.TemporaryDirectory() as name, sqlite() as url:
        folder = Path(name)
        state = folder / "state.json"
        write_many(state, PROPERTIES)
        write_orders(state, ORDERS)
        one = Installation(folder, url, DJANGO_SETTINGS_MODULE="config.settings")
        try:
            one.start_sandbox("--state", str(state))
            for process in PROCESSES:
                one.start_procfile(process)
            cookies = Person(one).session.cookies
            addresses = (f"http://127.0.0.1:{n}" for n in (one.web_port, one.callbacks_port))
            words = (*addresses, one.sandbox, cookies["sessionid"])
            idle: dict[str, float] = {}
            rounds = stream("lab.benchmarks.latency_rounds", *words, folder=name, database_url=url)
            for found in rounds:
                yield from figures(found, idle)
        finally:
            one.stop()


def figures(found: dict, idle: dict[str, float]) -> Iterator[Figure]:
    """Yield the p50 and the p99 of a situation, each idle one after what it is made of.

    Args:
        found: a line of `latency_rounds`.
        idle: the p50 of what was measured idle, which a situation under load is a multiple of.
    """
    what, took = found["what"], found["milliseconds"]
    half = percentile(took, 0.5)
    if bare := found["bare"]:
        alone = percentile(bare, 0.5)
        limit = 2 * LOOKS + TIMES * alone
        idle[what] = half
        yield Figure(f"{BARE[what]}, p50", alone, "ms")
    else:
        limit = BESIDE * idle[what]
    words = f"{WORDS[what]}, {found['when']}"
    yield Figure(f"{words}, p50 of {len(took)}", half, "ms", below=limit)
    yield Figure(f"{words}, p99", percentile(took, 0.99), "ms")


def write_orders(path: Path, many: int) -> None:
    """Give the platform orders that are in progress, of its first user and property."""
    state = json.loads(path.read_text())
    for number in range(many):
        key = f"BENCH-{number}"
        state["orders"][key] = {
            "id": key,
            "status": "IN_PROGRESS",
            "createdAt": "2026-01-31T10:00:00Z",
            "userId": next(iter(state["users"])),
            "realEstatePropertyId": next(iter(state["properties"])),
            "assignments": [],
        }
    path.write_text(json.dumps(state))
