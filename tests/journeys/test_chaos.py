"""Workers that are killed and stopped while people edit on both sides (I1 to I4, I6)."""

import json
import random
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests

from tests.journeys.judge import Journal, differing
from tests.journeys.nemesis import Blows, Leases, Nemesis
from tests.processes import ROOT, Installation, wait_until
from tests.sizes import figures, seed_of, times

KILLS, STOPS = times("KILLS", 30), times("STOPS", 6)
KEYS = 24
DEADLINE = 2.0  # seconds for one call; the lease of a row is half as long again
UNTOUCHED = ["numberOfRooms", "propertyCategories", "prices.rent", "characteristics.hasElevator"]
FAULTS = [
    {"fault": "SERVER_ERROR", "chance": 0.05},
    {"fault": "TOO_MANY_REQUESTS", "method": "PATCH", "chance": 0.03, "seconds": 1},
    {"fault": "TIME_OUT_AFTER", "method": "PATCH", "chance": 0.05, "seconds": 0.1},
    {"fault": "CUT_OFF", "method": "PATCH", "chance": 0.05},
    # Its caller has given up by then, and the effect comes all the same.
    {"fault": "LATE", "method": "PATCH", "chance": 0.03, "seconds": DEADLINE + 0.5},
    {"fault": "LATE", "method": "PATCH", "seconds": 0.4},
    {"fault": "SLOW", "seconds": 0.05},
]


@pytest.mark.rule("I1", "I6")
@pytest.mark.chaos
@pytest.mark.processes
def test_no_edit_of_either_side_is_lost_however_workers_die(tmp_path: Path, database_url: str):
    rng = random.Random(seed_of("kills"))
    installation = Installation(tmp_path, database_url, CALL_DEADLINE=f"{DEADLINE:g}")
    journal = tmp_path / "journal"
    try:
        prepare(installation, journal, seed=rng.randrange(10_000))
        blows, edits = strike(installation, database_url, rng, tmp_path / "stop")
        drained = settle(installation)
        set_faults(installation, [])
        people(installation, "read")
        settle(installation)
        crm = people(installation, "dump")
        there = installation.state()["properties"]
    finally:
        installation.stop()
    judge(crm, there, journal, blows, edits, drained)


def prepare(installation: Installation, journal: Path, *, seed: int) -> None:
    installation.start_sandbox("--journal", str(journal))
    installation.run("-m", "tests.journeys.people", "setup", str(KEYS))
    set_faults(installation, FAULTS, seed=seed)


def set_faults(installation: Installation, rules: list[dict[str, Any]], *, seed: int = 0) -> None:
    rules = [rule | {"path": "/v1/real-estate-properties/*"} for rule in rules]
    faults = {"seed": seed, "rules": rules}
    assert requests.post(f"{installation.sandbox}/_sandbox/faults", json=faults, timeout=10).ok


def strike(
    installation: Installation, database_url: str, rng: random.Random, stop: Path
) -> tuple[Blows, dict[str, Any]]:
    """Let both sides edit while the workers are struck; what was done, and what ours did last."""
    workers = {
        "celery-1": installation.start_worker,
        "celery-2": installation.start_worker,
        "loop": installation.start_loop,
    }
    installation.start_beat()
    for name, start in workers.items():
        start(name)
    module = ("-m", "tests.journeys.people", "edit", str(rng.randrange(10_000)), str(stop))
    editor = subprocess.Popen(
        [sys.executable, *module],
        cwd=ROOT,
        env=installation.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    theirs = Theirs(installation, random.Random(rng.randrange(10_000)))
    theirs.start()
    nemesis = Nemesis(
        installation, workers, lambda: leases(database_url), lease=1.5 * DEADLINE, rng=rng
    )
    try:
        blows = nemesis.strike(kills=KILLS, stops=STOPS)
    finally:
        stop.touch()
        theirs.ended.set()
        output, _ = editor.communicate(timeout=60)
        theirs.join()
    assert editor.returncode == 0
    return blows, json.loads(output) | {"theirs": theirs.count}


class Theirs(threading.Thread):
    """Somebody on the platform: four of five edits to what the CRM leaves alone, each value new."""

    def __init__(self, installation: Installation, rng: random.Random) -> None:
        super().__init__(daemon=True)
        self.installation, self.rng = installation, rng
        self.ended = threading.Event()
        self.count = 0

    def run(self) -> None:
        ids = sorted(
            p["id"]
            for p in self.installation.state()["properties"].values()
            if p.get("objectReferenceId", "").startswith("K-")
        )
        session = requests.Session()
        while not self.ended.wait(0.08):
            self.count += 1
            edit = self.rng.choice(
                [
                    {"displayReferenceId": f"theirs {self.count}"},
                    {"areaUsable": self.count},
                    {"prices": {"deposit": {"amount": self.count}}},
                    {"localizations": [{"languageCode": "de", "title": f"t {self.count}"}]},
                    {"title": f"theirs {self.count}"},
                ]
            )
            address = f"{self.installation.sandbox}/_sandbox/properties/{self.rng.choice(ids)}"
            assert session.patch(address, json=edit, timeout=10).ok


def leases(url: str) -> Leases:
    """Which rows are held, and whether something of theirs may be on its way; past Django."""
    query = (
        "select id, cast(lease_token as text), cast(inflight as text) from properties_property"
        " where lease_token is not null"
    )
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=20)
    else:
        connection = psycopg.connect(url.replace("postgres://", "postgresql://"))
    try:
        rows = connection.execute(query).fetchall()
    finally:
        connection.close()
    return {(pk, token): inflight != "{}" for pk, token, inflight in rows}


def people(installation: Installation, *step: str) -> Any:
    output = installation.run("-m", "tests.journeys.people", *step)
    return json.loads(output) if output else None


def settle(installation: Installation) -> float:
    """Wait until nothing is due or unsettled any more; the seconds that it took."""
    began = time.monotonic()
    wait_until("all is settled", lambda: not any(people(installation, "busy").values()), limit=90)
    return time.monotonic() - began


def judge(
    crm: dict[str, list[dict[str, Any]]],
    there: dict[str, dict[str, Any]],
    path: Path,
    blows: Blows,
    edits: dict[str, Any],
    drained: float,
) -> None:
    rows = {row["object_reference_id"]: row for row in crm["rows"]}
    by_reference = {p["objectReferenceId"]: p for p in there.values() if "objectReferenceId" in p}
    journal = Journal(path, {row["platform_id"]: name for name, row in rows.items()})
    overlaps, excused = journal.overlaps(blows.windows, deadline=DEADLINE)
    lost = list(journal.overwritten("title"))
    conflicts = {
        (c["real_estate_property__object_reference_id"], c["theirs"]): c["ours"]
        for c in crm["conflicts"]
        if c["path"] == "title"
    }
    adopted = {
        (c["real_estate_property__object_reference_id"], c["new"])
        for c in crm["changes"]
        if (c["path"], c["origin"]) == ("title", "PLATFORM")
    }
    figures(
        "kills and stops",
        edits=edits["count"],
        theirs=edits["theirs"],
        kills=len(blows.kills),
        kills_of_a_lease=sum(hit for hit, _ in blows.kills),
        kills_of_a_patch=sum(out for _, out in blows.kills),
        stops=len(blows.stops),
        stops_of_a_patch=sum(out for _, out in blows.stops),
        calls=sum(len(calls) for _, calls in journal.ours()),
        calls_at_once=journal.at_once(),
        overlaps_after_a_stop=excused,
        contested=len(lost),
        contested_unseen=sum(unseen for _, _, unseen in lost),
        conflicts=len(crm["conflicts"]),
        drained_in=round(drained, 1),
    )
    # I1, I3: both sides hold the same, and of ours the last word.
    assert {n: differing(r["desired"], by_reference[n]) for n, r in rows.items()} == {
        name: [] for name in rows
    }
    assert {name: row["problem"] for name, row in rows.items()} == {name: {} for name in rows}
    assert [
        f"{name} {field}: our last word is {value!r}, {at(rows[name]['desired'], field)!r} stands"
        for name, last in edits["last"].items()
        for field, value in last.items()
        if field in UNTOUCHED and (at(rows[name]["desired"], field) or None) != (value or None)
    ] == []
    # I2: nobody there touches these, so what came back from there was ours.
    assert [
        change
        for change in [*crm["changes"], *crm["conflicts"]]
        if change["path"] in UNTOUCHED and change.get("origin", "PLATFORM") == "PLATFORM"
    ] == []
    # I4: what they changed is here, and what ours replaced knowingly is in a conflict.
    for (name, field), value in journal.last_of_theirs().items():
        if field != "title":
            assert at(rows[name]["desired"], field) == value, (name, field)
    assert [
        (name, value)
        for name, value, unseen in lost
        if not unseen and (name, value) not in conflicts.keys() | adopted
    ] == []
    assert all(ours and ours.startswith("Title ") for ours in conflicts.values())
    for name, last in edits["last"].items():
        stands = at(rows[name]["desired"], "title")
        assert stands in (last["title"], journal.last_of_theirs().get((name, "title")))
    # I6: one call a property, several properties at once.
    assert overlaps == []
    assert journal.at_once() > 1
    # Else nothing was proved.
    assert sum(hit for hit, _ in blows.kills) >= 0.5 * len(blows.kills)


def at(document: dict[str, Any], path: str) -> Any:
    name, _, member = path.partition(".")
    return (document.get(name) or {}).get(member) if member else document.get(name)
