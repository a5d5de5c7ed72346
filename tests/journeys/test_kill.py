"""kill -9 of the worker in the middle of pushes and callbacks: nothing is lost (I1, I16, I31)."""

import json
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from tests.processes import ROOT, Installation, wait_until

KILLS = 5
HELD = (
    "select (select count(*) from properties_property where lease_token is not null)"
    " + (select count(*) from crm_sync_delivery where lease_token is not null)"
)


def held(url: str) -> int:
    """How many rows are being worked on, asked past Django."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=20)
    else:
        connection = psycopg.connect(url.replace("postgres://", "postgresql://"))
    try:
        return connection.execute(HELD).fetchone()[0]
    finally:
        connection.close()


@pytest.mark.processes
def test_a_worker_that_is_killed_in_the_middle_loses_nothing(tmp_path: Path, database_url: str):
    installation = Installation(tmp_path, database_url, CALL_DEADLINE="2")
    try:
        installation.start_sandbox(step=1.5)
        installation.start_web()
        installation.run("-m", "tests.journeys.driver", "setup")
        moment = json.loads(installation.run("-m", "tests.journeys.driver", "moment"))
        installation.start_worker()
        in_the_middle = kill_while_editing(installation, database_url)
        final = wait_until("all is settled", lambda: settled(installation), limit=75)
        installation.manage("audit")
    finally:
        installation.stop()
    # An audit sees one moment, and nobody who writes waits for it.
    assert moment["seen"] == ["", "", "written meanwhile"]
    assert moment["waited"] < 5
    assert in_the_middle >= KILLS // 2
    assert final["received"] > 0
    assert final == {
        **{"due": [], "pending": 0, "held": 0, "differ": [], "conflicts": 0, "duplicates": 0},
        **{"unsettled": [], "open": 0, "received": final["received"]},
    }


def kill_while_editing(installation: Installation, database_url: str) -> int:
    """Kill and restart the worker; returns how many kills hit a row that was being worked on."""
    seed = random.randrange(10_000)
    print(f"seed {seed}")
    rng = random.Random(seed)
    command = [sys.executable, "-m", "tests.journeys.driver", "edit", "260"]
    editor = subprocess.Popen(command, cwd=ROOT, env=installation.environment)
    hits = 0
    try:
        for _ in range(KILLS):
            wait_until("the worker works", lambda: held(database_url), limit=30)
            time.sleep(rng.random() * 0.01)
            installation.kill("worker")
            hits += held(database_url) > 0
            installation.start_worker()
            installation.manage(
                "audit"
            )  # at any instant (I31): what the kill left, and beside work
    finally:
        assert editor.wait(timeout=90) == 0
    return hits


def settled(installation: Installation) -> dict | None:
    """The verdict, once nothing is due, held or open any more."""
    verdict = json.loads(installation.run("-m", "tests.journeys.driver", "verdict"))
    busy = verdict["due"] or verdict["pending"] or verdict["held"] or verdict["open"]
    return None if busy else verdict
