"""Many events in one workspace, and what another one waits meanwhile."""

import json
import threading
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import requests

from lab.scale import judge
from lab.scale.scene import Scene, place
from lab.scale.stops import stop_workers
from tests.journeys.rows import ask

ORDERS = 4
A_SECOND = 20  # events that go on coming while the neighbour waits
GOAL = 5.0  # seconds
STEPS = 8  # of the platform, from an order to its end
ESTIMATE = "ESTIMATED_DELIVERY_UPDATED"


Event = tuple[str, str]  # an assignment, and the date that the platform told


@dataclass(frozen=True)
class Told:
    """An event, and when the platform was asked to tell it."""

    at: datetime
    event: Event


class Estimates:
    """Has the platform tell new dates of delivery, of each assignment in its turn."""

    def __init__(self, sandbox: str) -> None:
        state = requests.get(f"{sandbox}/_sandbox/state", timeout=60).json()
        self.session, self.sandbox = requests.Session(), sandbox
        self.keys, self.told = sorted(state["assignments"]), list[Told]()

    @property
    def sent(self) -> int:
        return len(self.told)

    def send(self, count: int) -> None:
        for n in range(self.sent, self.sent + count):
            day = (date(2031, 1, 1) + timedelta(days=n // len(self.keys))).isoformat()
            key, at = self.keys[n % len(self.keys)], datetime.now(UTC)
            address = f"{self.sandbox}/_sandbox/assignments/{key}/estimate"
            body = {"estimatedDeliveryAt": day}
            self.session.post(address, json=body, timeout=60).raise_for_status()
            self.told.append(Told(at, (key, day)))


def storm(scene: Scene) -> None:
    """Store all with no worker there, then see what the neighbour waits and what became of them."""
    steps, size = scene.steps, scene.size
    for n in range(ORDERS):
        place(scene.installation, scene.url, steps, "main", f"P-{n}")
    stop_workers(scene, "under load")
    scene.watcher.excuse(size.limit)
    came, estimates = scene.count("crm_sync_receivedevent"), Estimates(scene.installation.sandbox)
    sender = threading.Thread(target=estimates.send, args=(size.events,))
    sender.start()
    steps.until(
        "events stored",
        lambda: scene.count("crm_sync_receivedevent") - came,
        size.events,
        limit=size.limit,
    )
    sender.join()
    began = time.monotonic()
    scene.start_workers()
    scene.watcher.excuse(GOAL)
    _neighbour(scene, estimates)
    applied = f"kind = '{ESTIMATE}' and due_at is null"
    steps.until(
        "events applied",
        lambda: scene.count("crm_sync_receivedevent", applied),
        estimates.sent,
        limit=size.limit,
    )
    seconds = time.monotonic() - began
    scene.result.figure("events applied", estimates.sent / seconds, "a second")
    scene.result.wrong += judge.events(scene.url, 1, ESTIMATE, estimates.sent)
    _complete(scene)


def _neighbour(scene: Scene, estimates: Estimates) -> None:
    is_over = threading.Event()

    def go_on() -> None:
        while not is_over.wait(1 / A_SECOND):
            estimates.send(1)

    stream = threading.Thread(target=go_on)
    stream.start()
    words = ("-m", "lab.scale.neighbour", "neighbour", scene.neighbour.sandbox)
    try:
        took = json.loads(scene.installation.run(*words))
    finally:
        is_over.set()
        stream.join()
    left = scene.count("crm_sync_receivedevent", "due_at is not null")
    scene.steps.say(f"the neighbour has had its turn; {left:,} events were left by then")
    for queue, seconds in took.items():
        what = f"the neighbour waits for {queue}"
        scene.result.figure(what, seconds, "s", below=GOAL, digits=1)


def _complete(scene: Scene) -> None:
    """Let the platform bring all orders to their end."""
    for _ in range(STEPS):
        address = f"{scene.installation.sandbox}/_sandbox/step"
        requests.post(address, timeout=60).raise_for_status()
    query = "select count(*) from orders_order where workspace_id = 1 and status = 'COMPLETED'"
    steps = scene.steps
    steps.until("orders completed", lambda: ask(scene.url, query)[0][0], ORDERS, limit=120)
