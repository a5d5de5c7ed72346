"""kill -9 of workers while they place orders: at most one order for each review (I9)."""

import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.journeys.rows import ask
from tests.processes import Installation, wait_until
from tests.sizes import figures, seed_of, times

KILLS, ORDERS = times("PLACING_KILLS", 5), times("PLACED_ORDERS", 40)
DEADLINE = 1.0  # seconds for one call
POST = {"method": "POST", "path": "/v1/orders"}
FAULTS = [
    {"fault": "TOO_MANY_REQUESTS", **POST, "chance": 0.05, "seconds": 0.5},
    {"fault": "CUT_OFF", **POST, "chance": 0.05},
    {"fault": "TIME_OUT_AFTER", **POST, "chance": 0.05, "seconds": 0.1},
    # Its caller has given up by then, and the order is there all the same.
    {"fault": "LATE", **POST, "chance": 0.05, "seconds": DEADLINE + 0.5},
    {"fault": "LATE", **POST, "seconds": 0.6},
]
ON_THEIR_WAY = (
    "select cast(lease_token as text) from orders_placement"
    " where lease_token is not null and state = 'SENDING'"
)


@pytest.mark.chaos
@pytest.mark.processes
def test_what_was_confirmed_is_ordered_at_most_once_however_workers_die(
    tmp_path: Path, database_url: str
):
    rng = random.Random(seed_of("placing"))
    installation = Installation(tmp_path, database_url, CALL_DEADLINE=f"{DEADLINE:g}")
    journal = tmp_path / "journal"
    try:
        installation.start_sandbox("--journal", str(journal), step=0.2)
        installation.start_web()
        buyers(installation, "setup", str(ORDERS))
        buyers(installation, "order")
        faults = {"seed": rng.randrange(10_000), "rules": FAULTS}
        assert requests.post(f"{installation.sandbox}/_sandbox/faults", json=faults, timeout=10).ok
        hits = kill_while_ordering(installation, database_url, rng)
        final = wait_until("all is placed", lambda: settled(installation), limit=180)
        installation.manage("audit")
        there = installation.state()["orders"]
    finally:
        installation.stop()
    judge(final["placements"], there, journal, hits)


def buyers(installation: Installation, *step: str) -> Any:
    output = installation.run("-m", "tests.journeys.buyers", *step)
    return json.loads(output.splitlines()[-1]) if output and step[0] == "verdict" else None


def kill_while_ordering(installation: Installation, url: str, rng: random.Random) -> int:
    """Kill workers that have an order on its way; returns how many leases no worker gave back."""
    workers = ("celery-1", "celery-2")
    installation.start_beat()
    for name in workers:
        installation.start_worker(name)
    left, hits = set[str](), 0

    def fresh() -> set[str]:
        return {token for (token,) in ask(url, ON_THEIR_WAY)} - left

    for _ in range(KILLS):
        try:
            wait_until("an order is on its way", fresh, limit=30)
        except AssertionError:
            break  # all are placed
        time.sleep(rng.random() * 0.1)
        busy = [name for name in workers if installation.is_connected(name)]
        victim = rng.choice(busy or workers)
        installation.kill(victim)
        held = fresh()
        time.sleep(DEADLINE + 0.7)  # what the other worker holds is given back by then
        dead = held & fresh()
        hits += bool(dead)
        left |= dead
        installation.start_worker(victim)
    return hits


def settled(installation: Installation) -> dict[str, Any] | None:
    """The verdict, once no placement and no event waits any more."""
    found = buyers(installation, "verdict")
    states = {state for _, state, _, _ in found["placements"]}
    is_over = states <= {"PLACED", "UNCERTAIN"}
    busy = found["busy"] or found["leased"] or found["unapplied"]
    return found if is_over and not busy else None


def judge(
    placements: list[list[Any]], there: dict[str, dict[str, Any]], path: Path, hits: int
) -> None:
    calls = [json.loads(line) for line in path.read_bytes().splitlines()]
    posts = [call for call in calls if (call["method"], call["path"]) == ("POST", "/v1/orders")]
    by_session = Counter(post["body"]["sessionId"] for post in posts if post["effect"])
    placed = {order for _, state, order, _ in placements if state == "PLACED"}
    figures(
        "placing",
        orders=len(there),
        posts=len(posts),
        kills_of_an_order=hits,
        uncertain=sum(was for _, _, _, was in placements),
        unheard=len(there.keys() - placed),
    )
    assert len(placements) == ORDERS
    # At most one order for each review: no session and no property is ordered for twice.
    assert [session for session, count in by_session.items() if count > 1] == []
    properties = Counter(order["realEstatePropertyId"] for order in there.values())
    assert [key for key, count in properties.items() if count > 1] == []
    # What is called placed is there, and what is there has its placement.
    assert placed <= there.keys()
    uncertain = sum(state == "UNCERTAIN" for _, state, _, _ in placements)
    assert len(there) - len(placed) <= uncertain
    # Else nothing was proved.
    assert hits >= KILLS // 4
    assert any(was for _, _, _, was in placements)
