"""PostgreSQL, Redis, two workers and one beat, through all troubles."""

import threading
import time
from pathlib import Path

import requests

from lab.runs import Result, table
from lab.scale import judge
from lab.scale.person import Person
from lab.scale.scene import Scene, production, upload
from lab.scale.size import Size
from lab.scale.stops import idle, stop_workers
from lab.scale.storm import storm
from lab.scale.troubles import Troubles

STANDS = 15.0  # seconds: what a killed worker held comes free after five, and the tick comes
SHOWN = 4
EDITED = 10  # every so many-th property is edited on the platform


def run(folder: Path, url: str, size: Size, result: Result) -> None:
    """Live through it all, then judge by the sandbox's state, the database and the audit."""
    with production(folder, url, size, result) as scene:
        person = Person(scene.installation)
        troubles = Troubles(scene.installation, scene.redis, scene.watcher, scene.steps, size.hang)
        try:
            _create(scene, person, troubles)
            _change(scene, person, troubles)
            storm(scene)
            idle(scene)
        finally:
            _tell(scene)
        _judge(scene)
        stop_workers(scene, "idle")


def _create(scene: Scene, person: Person, troubles: Troubles) -> None:
    troubles.left = [
        (0.05, troubles.too_many_requests),
        (0.25, troubles.unavailable),
        (0.45, troubles.redis_restarts),
        (0.65, troubles.worker_dies),
    ]
    _through(scene, person, troubles, "New", "platform_id is not null and due_at is null")


def _change(scene: Scene, person: Person, troubles: Troubles) -> None:
    """Both sides change: we all of them by a feed, they every tenth, some at the same field."""
    troubles.left = [(0.4, troubles.platform_hangs)]
    theirs = threading.Thread(target=_edit_there, args=(scene,))
    theirs.start()
    _through(
        scene,
        person,
        troubles,
        "Changed",
        "revision > 1 and platform_id is not null and due_at is null",
    )
    theirs.join()
    scene.installation.manage("pull_properties", "main", "--list-only")
    due = "due_at is not null"
    scene.steps.until(
        "what they changed is read",
        lambda: int(not scene.count("properties_property", due)),
        1,
        limit=scene.size.limit,
    )


def _through(scene: Scene, person: Person, troubles: Troubles, title: str, done: str) -> None:
    """Import a feed and wait until all of it is on the platform, in the middle of troubles."""
    rows, limit = scene.size.rows, scene.size.limit
    feed = table(scene.installation.folder / f"{title}.csv", rows, "P", title=title)
    began = time.monotonic()
    there = f"{done} and object_reference_id like 'P-%'"

    def count() -> int:
        return scene.count("properties_property", there)

    def at(_: float) -> None:
        troubles.at(count() / rows)

    upload(person, scene.steps, scene.url, feed, rows=rows, limit=limit, at=at)
    scene.steps.until(f"{title}: on the platform", count, rows, limit=limit, at=troubles.at)
    troubles.at(1.0)
    troubles.ended()
    seconds = time.monotonic() - began
    scene.result.figure(f"{title}: uploaded and on the platform", rows / seconds, "a second")


def _edit_there(scene: Scene) -> None:
    sandbox = scene.installation.sandbox
    keys = sorted(requests.get(f"{sandbox}/_sandbox/state", timeout=60).json()["properties"])
    with requests.Session() as session:
        for n, key in enumerate(keys[::EDITED]):
            document = {"address": {"street": f"Their street {n}", "locality": "Their town"}}
            document |= {"title": f"Theirs {n}"} if n % 4 == 0 else {}
            address = f"{sandbox}/_sandbox/properties/{key}"
            session.patch(address, json=document, timeout=120).raise_for_status()
            time.sleep(0.02)


def _tell(scene: Scene) -> None:
    """Say what the watcher saw, however the run ended."""
    seen, result = scene.watcher.stop(), scene.result
    slugs = {1: "main", 2: "neighbour"}
    for still in sorted(seen.stills.values(), key=lambda one: -one.seconds)[:SHOWN]:
        what = f"stalled for longest: {still.queue} of {slugs[still.workspace]}"
        result.figure(what, still.seconds, "s", below=STANDS, digits=1)
    result.figure("messages at the broker, at most", seen.rings, "messages", below=50)
    result.figure("connections to the database, at most", seen.connections, "connections")
    result.figure("memory of all processes, at most", seen.memory, "MiB")


def _judge(scene: Scene) -> None:
    one, result = scene.installation, scene.result
    state = one.state()
    result.wrong += judge.shortened(judge.properties(scene.url, 1, state["properties"]))
    result.wrong += judge.shortened(judge.orders(scene.url, 1, state))
    result.wrong += judge.shortened(judge.imports(scene.url, 1))
    result.wrong += judge.audit(one)
    result.wrong += judge.logs(one)
    count = len(state["properties"]) - 2  # the seeded two
    if count != scene.size.rows:
        result.wrong.append(f"{count} properties are on the platform")
