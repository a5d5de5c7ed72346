"""Draining the due properties, beside bare `requests` that do the same GET and PATCH."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from statistics import median

from lab.benchmarks.databases import KINDS, databases
from lab.benchmarks.figures import Figure
from lab.benchmarks.sandbox import ROOT, TOKEN, running, write_many

NAME = "drain"
LEAST = {"plain": 0.75, "slow": 0.92}
WORDS = {"plain": "", "slow": ", 50 ms an answer"}
GROWN = 0.8  # of the rate with the fewest due rows
ROWS = 6_000  # on the platform: 4,000 for the drains, others for the bare calls


def measure() -> Iterator[Figure]:
    """Drain little and much, and do the same bare in turn, on each database that is there."""
    for database, url in databases():
        yield from _measured(database, url)


def _measured(database: str, url: str) -> Iterator[Figure]:
    first = 0.0
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state.json"
        write_many(state, ROWS)
        with running("--state", str(state)) as (host, port, _):
            platform = f"http://{host}:{port}"
            module = "lab.benchmarks.drain_rounds"
            for one in stream(module, platform, folder=folder, database_url=url):
                kind, drained = one["kind"], median(one["drained"])
                what = f"{database}, {one['rows']:,} due{WORDS[kind]}: "
                yield Figure(f"{what}drained", drained, "a second")
                if bare := one["bare"]:
                    yield Figure(f"{what}bare requests", median(bare), "a second")
                    ratio = median(a / b for a, b in zip(one["drained"], bare, strict=True))
                    yield Figure(f"{what}ratio", ratio, "of bare", at_least=LEAST[kind], digits=2)
                if first and kind == "plain":
                    grown = drained / first
                    yield Figure(f"{what}grown", grown, "of least", at_least=GROWN, digits=2)
                first = first or drained


def rounds(name: str, on: Collection[str] = KINDS) -> Iterator[tuple[str, dict]]:
    """Run `NAME_rounds` on each kind of database; yield the kind and each line of JSON."""
    for database, url in databases():
        if database in on:
            with tempfile.TemporaryDirectory() as folder:
                for one in stream(f"lab.benchmarks.{name}_rounds", folder=folder, database_url=url):
                    yield database, one


def stream(module: str, *arguments: str, folder: str, database_url: str) -> Iterator[dict]:
    """Run a module with a database and a data folder of its own; yield each line of JSON.

    Each is yielded as soon as it is printed.
    """
    environment = os.environ | {
        "DATA_DIR": folder,
        "DATABASE_URL": database_url,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "LOG_LEVEL": "ERROR",
        "BENCH_TOKEN": TOKEN,
    }
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield from (json.loads(line) for line in process.stdout if line.startswith("{"))
        except BaseException:
            process.terminate()
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
