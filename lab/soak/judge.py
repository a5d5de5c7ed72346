"""What must hold after a soak, beyond what `lab.scale.judge` knows of any run."""

import csv
import json
import statistics
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from lab.scale import judge
from lab.scale.storm import ESTIMATE, Event, Told
from tests.journeys.rows import ask

Document = dict[str, Any]
# Every table whose rows are due.
QUEUES = (
    *("crm_sync_receivedevent", "crm_sync_subscription", "crm_sync_webhookmonitor"),
    "crm_sync_alarm",
    *("orders_assignment", "orders_materialfile", "orders_materialset", "orders_order"),
    "orders_remindersettings",
    *("orders_personsettings", "orders_placement", "orders_target", "orders_userlist"),
    *("properties_fetch", "properties_import", "properties_property", "properties_recurring"),
    *("properties_source", "properties_undo"),
)
# These may be due at any time, but have work only with a message or a file that is due, or news.
HAS_WORK = {
    "crm_sync_subscription": "id in (select subscription_id from crm_sync_outgoingmessage"
    " where due_at < '{since}')",
    "orders_personsettings": "told_until < (select max(created_at) from orders_statuschange"
    " where news is not null and created_at < '{settled}')",
    "orders_target": "id in (select target_id from orders_targetfile where due_at < '{since}')",
}
SETTLES = timedelta(minutes=2)  # age of news before it is mailed (I33)
GRACE = timedelta(seconds=15)  # a worker takes up by then what is due, and nobody holds
UNDERSTOOD = ("APPLIED", "DUPLICATE", "STALE", "IGNORED")
LATE = timedelta(seconds=15)  # from what happens on the platform to its callback, at most
MOST_GROWTH = 48.0  # MiB of one process with its children, from the first to the last third
STEADY = 12.0  # MiB by which it may go on rising once it is warm
PARTS, WARM = 12, 4  # of a curve, and how many of them a process may take to get warm


@dataclass
class Theirs:
    """What somebody on the platform set last, by the key of the property.

    Of an edit whose answer never came it is not known whether it was made.
    """

    addresses: dict[str, list[Document]] = field(default_factory=dict)

    def edited(self, key: str, address: Document, *, is_certain: bool) -> None:
        before = [] if is_certain else self.addresses.get(key, [{}])
        self.addresses[key] = [*before, address]


def unsettled(url: str, workspace: int, state: Document, *, at: datetime) -> list[str]:
    """What is still to be done or differs; empty once both sides tell the same."""
    wrong = []
    if due := _count(url, "properties_property", "due_at is not null"):
        wrong.append(f"{due} properties are due")
    wrong += standing(url, at) + not_understood(url)
    wrong += judge.properties(url, workspace, state["properties"])
    return wrong + judge.orders(url, workspace, state)


def standing(url: str, at: datetime) -> list[str]:
    """Nothing has been due for longer than a worker needs to take it up (I12)."""
    moment, since, settled = (
        one.astimezone(UTC).isoformat(" ") for one in (at, at - GRACE, at - GRACE - SETTLES)
    )
    overdue = f"due_at < '{since}' and (lease_until is null or lease_until < '{since}')"
    # A platform that is away, or asks for a pause, is waited for.
    paused = _count(url, "crm_sync_workspace", f"paused_until > '{moment}'")
    each = (
        f"select '{table}', count(*) from {table} where {overdue}"
        f" and {HAS_WORK.get(table, 'true').format(since=since, settled=settled)}"
        for table in QUEUES
    )
    counts = ask(url, " union all ".join(each))
    wrong = [f"{count} rows of {table} are overdue" for table, count in counts if count]
    return wrong + (["the workspace is paused"] if paused else [])


def not_understood(url: str) -> list[str]:
    """Each received event had its effect, or needs none (I15)."""
    query = "select state, count(*) from crm_sync_receivedevent group by state order by state"
    return [
        f"{count} received events are {state}"
        for state, count in ask(url, query)
        if state not in UNDERSTOOD
    ]


def feed(path: Path, there: dict[str, Document]) -> list[str]:
    """The platform has each property of the last feed once, with its values (I1)."""
    by_reference = {one.get("objectReferenceId"): one for one in there.values()}
    wrong = []
    with path.open() as lines:
        wanted = list(csv.DictReader(lines))
    for row in wanted:
        one = by_reference.get(row["objectReferenceId"], {})
        found = (
            one.get("title"),
            one.get("numberOfRooms"),
            one.get("prices", {}).get("rent", {}).get("net"),
        )
        if found != (row["title"], int(row["numberOfRooms"]), int(row["prices.rent.net"])):
            wrong.append(f"{row['objectReferenceId']}: {found} there, our last edit is lost")
    if len(there) - 2 != len(wanted):  # without the seeded two
        wrong.append(f"{len(there) - 2} properties are on the platform")
    return wrong


def overwritten(theirs: Theirs, there: dict[str, Document]) -> list[str]:
    """What they set last in a field that we never edited stands there (I2)."""
    return [
        f"{key}: {there.get(key, {}).get('address')} there, they set {addresses[-1]}"
        for key, addresses in theirs.addresses.items()
        if there.get(key, {}).get("address", {}) not in addresses
    ]


def placed(url: str, asked: int, state: Document) -> list[str]:
    """Each order that was asked for is there once (I9)."""
    count, rows = len(state["orders"]), ask(url, "select state from orders_placement")
    wrong = [f"{count} orders are on the platform, {asked} were placed"] if count != asked else []
    return wrong + [f"a placement is {one}" for (one,) in rows if one != "PLACED"]


def unnoticed(url: str, told: list[Told]) -> list[str]:
    """Each event of the platform was received, or lies in a gap that was found (I21)."""
    received, gaps = _received(url), ask(url, "select began_at, ended_at from crm_sync_gap")

    def is_in_a_gap(at: datetime) -> bool:
        return any(
            (began is None or _moment(began) - LATE <= at) and at <= _moment(ended) + LATE
            for began, ended in gaps
        )

    missed = [one for one in told if one.event not in received]
    return [
        f"the event of {one.at:%H:%M:%S} did not come, and no gap was found"
        for one in missed
        if not is_in_a_gap(one.at)
    ]


def unstored(url: str, acknowledged: set[Event]) -> list[str]:
    """Each event that our address answered with a 2xx was stored by then (I16).

    One that came back by the history was not: it falls out there after ten others.
    """
    lost = sorted(acknowledged - _received(url, "CALLBACK"))
    return [f"{key} of {day} was acknowledged and not stored" for key, day in lost]


def acknowledged(history: list[Document]) -> set[Event]:
    """Of the platform's attempts, the estimates that got a 2xx."""
    done = (one["payload"] for one in history if one["success"])
    return {_event(one) for one in done if one["event"] == ESTIMATE}


def stopped(processes: Mapping[str, "subprocess.Popen[bytes]"], wanted: set[str]) -> list[str]:
    """All processes run that nobody killed."""
    wrong = [f"{name} does not run" for name in sorted(wanted - processes.keys())]
    ended = {name: process.poll() for name, process in processes.items()}
    return wrong + [f"{name} ended with {code}" for name, code in ended.items() if code is not None]


def _received(url: str, source: str = "%") -> set[Event]:
    query = f"select body from crm_sync_receivedevent where kind = '{ESTIMATE}'"
    rows = ask(url, f"{query} and source like '{source}'")
    return {_event(json.loads(bytes(body))) for (body,) in rows}


def _event(payload: Document) -> Event:
    return payload["assignmentId"], payload["estimatedDeliveryAt"]


def growth(sizes: list[float]) -> float:
    """From the mean of the first third of a run to that of the last, in MiB."""
    means = _means(sizes, 3)
    return means[-1] - means[0]


def steady_rise(sizes: list[float]) -> float:
    """By how many MiB it went on rising once it was warm: in half of the time at least.

    What is used for the first time late makes one step, after which nothing rises: no leak.
    """
    rises = [after - before for before, after in pairwise(_means(sizes, PARTS)[WARM:])]
    return statistics.median(rises) * len(rises) if rises else 0.0


def _means(sizes: list[float], parts: int) -> list[float]:
    length = max(len(sizes) // parts, 1)
    pieces = [sizes[n * length : (n + 1) * length] for n in range(parts)]
    return [sum(piece) / len(piece) for piece in pieces if piece]


def _count(url: str, table: str, condition: str) -> int:
    return int(ask(url, f"select count(*) from {table} where {condition}")[0][0])


def _moment(value: datetime | str) -> datetime:
    """What the database gave, SQLite as text without a zone."""
    found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found
