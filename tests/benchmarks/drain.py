"""Draining the due properties, beside bare `requests` that do the same GET and PATCH."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import psycopg

from tests.benchmarks.figures import Figure
from tests.benchmarks.sandbox import ROOT, TOKEN, running, write_many
from tests.postgresql import URL

NAME = "drain"
ROWS = 5_000
SLOW_ROWS = 1_500  # with 50 ms an answer, 5,000 would only take longer
LEAST = {"plain": 0.40, "slow": 0.75}
WORDS = {"plain": f"{ROWS:,} due", "slow": f"{SLOW_ROWS:,} due, 50 ms added to each answer"}


def measure() -> list[Figure]:
    """Drain and do the same bare, five times in turn, on each database that is there."""
    return [figure for database, url in databases() for figure in _measured(database, url)]


def databases() -> Iterator[tuple[str, str]]:
    """Yield the name and the address of a fresh database of each kind; say what is not there."""
    yield "SQLite", ""
    server = URL.replace("postgres://", "postgresql://")
    try:
        admin = psycopg.connect(server, autocommit=True, connect_timeout=3)
    except psycopg.OperationalError:
        print("PostgreSQL is left out: there is none at TEST_DATABASE_URL", file=sys.stderr)
        return
    name = f"bench_{os.getpid()}"
    admin.execute(f"drop database if exists {name}")
    admin.execute(f"create database {name}")
    try:
        yield "PostgreSQL", f"{URL.rpartition('/')[0]}/{name}"
    finally:
        admin.execute(f"drop database {name} with (force)")
        admin.close()


def _measured(database: str, url: str) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state.json"
        write_many(state, 2 * ROWS)  # half of them for the bare calls: no conflict between the two
        with running("--state", str(state)) as (host, port, _):
            found = run(
                "tests.benchmarks.drain_rounds",
                f"http://{host}:{port}",
                str(ROWS),
                str(SLOW_ROWS),
                folder=folder,
                database_url=url,
            )
    for kind, rounds in found.items():
        ratio = median(one["drain"] / one["bare"] for one in rounds)
        rate = median(one["drain"] for one in rounds)
        bare = median(one["bare"] for one in rounds)
        yield Figure(f"{database}, {WORDS[kind]}: drained", rate, "a second")
        yield Figure(f"{database}, {WORDS[kind]}: bare requests", bare, "a second")
        yield Figure(
            f"{database}, {WORDS[kind]}: ratio", ratio, "of bare", at_least=LEAST[kind], digits=2
        )


def run(module: str, *arguments: str, folder: str, database_url: str) -> dict:
    """Run a module in a process with a database and a data folder of its own; its JSON."""
    environment = os.environ | {
        "DATA_DIR": folder,
        "DATABASE_URL": database_url or f"sqlite:///{folder}/db.sqlite3",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "LOG_LEVEL": "ERROR",
        "BENCH_TOKEN": TOKEN,
    }
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])
