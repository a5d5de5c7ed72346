"""kill -9 of the worker in the middle of pushes and callbacks: nothing is lost (I1, I16, I31)."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests

from tests.journeys.rows import ask
from tests.processes import ROOT, Installation, wait_until

KILLS = 3
HELD = " union all ".join(
    f"select cast(lease_token as text) from {table} where lease_token is not null"
    for table in ("properties_property", "crm_sync_receivedevent")
)
UNDER_WAY = (
    "select (select count(*) from properties_property where due_at is not null)"
    " + (select count(*) from orders_order where status <> 'COMPLETED')"
)
SLOW = {"fault": "SLOW", "method": "PATCH", "path": "/v1/real-estate-properties/*", "seconds": 0.1}


@pytest.mark.chaos
@pytest.mark.processes
def test_a_worker_that_is_killed_in_the_middle_loses_nothing(tmp_path: Path, database_url: str):
    installation = Installation(tmp_path, database_url, CALL_DEADLINE="1")
    is_settled = tmp_path / "settled"
    try:
        installation.start_sandbox(step=1)
        installation.start_web()
        output = installation.run("-m", "tests.journeys.driver", "setup")
        moment = json.loads(output.splitlines()[-1])
        faults = {"rules": [SLOW]}
        assert requests.post(f"{installation.sandbox}/_sandbox/faults", json=faults, timeout=10).ok
        auditor = driver(installation, "audit", str(is_settled))
        installation.start_beat()
        installation.start_worker()
        in_the_middle = kill_while_editing(installation, database_url)
        final = wait_until("all is settled", lambda: settled(installation, database_url), limit=300)
        is_settled.touch()
        audits, problems = auditor.communicate(timeout=120)
    finally:
        is_settled.touch()
        installation.stop()
    # An audit sees one moment, and nobody who writes waits for it.
    assert moment["seen"] == ["", "", "written meanwhile"]
    assert moment["waited"] < 5
    # It holds at any instant (I31): beside work, after a kill, and in the end.
    assert (auditor.returncode, problems) == (0, "")
    assert int(audits) > 2 * KILLS
    assert in_the_middle >= KILLS // 2
    assert final["received"] > 0
    assert final == {
        **{"due": [], "pending": 0, "held": 0, "differ": [], "conflicts": 0, "duplicates": 0},
        **{"unsettled": [], "open": 0, "received": final["received"]},
    }


def driver(installation: Installation, *step: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.journeys.driver", *step],
        cwd=ROOT,
        env=installation.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_while_editing(installation: Installation, url: str) -> int:
    """Kill and restart the worker; returns how many kills hit a row that was being worked on."""
    seed = random.randrange(10_000)
    print(f"seed {seed}")
    rng = random.Random(seed)
    stop = installation.folder / "stop"
    editor = driver(installation, "edit", str(stop))
    hits, left = 0, set[str]()  # what a dead worker held is held for a while

    def fresh() -> set[str]:
        return leases(url) - left

    try:
        for _ in range(KILLS):
            wait_until("the worker works", fresh, limit=120)
            time.sleep(rng.random() * 0.01)
            installation.kill("worker")
            hits += bool(fresh())
            left |= fresh()
            installation.start_worker()
    finally:
        stop.touch()
        assert editor.communicate(timeout=120) == ("", "")
    return hits


def leases(url: str) -> set[str]:
    """The leases of rows that are being worked on, asked past Django."""
    return {token for (token,) in ask(url, HELD)}


def settled(installation: Installation, url: str) -> dict | None:
    """The verdict, once nothing is due, held or open any more."""
    if leases(url) or ask(url, UNDER_WAY) != [(0,)]:
        return None
    verdict = json.loads(installation.run("-m", "tests.journeys.driver", "verdict"))
    busy = verdict["due"] or verdict["pending"] or verdict["held"] or verdict["open"]
    return None if busy else verdict
