"""The installation as in production, a neighbour on a platform of its own, and who looks at it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.progress import Steps
from lab.runs import Result, add_workspace, as_in_production, place, table
from lab.scale.person import Person
from lab.scale.size import Size
from lab.scale.watcher import WORKERS, Watcher
from tests.journeys.rows import ask
from tests.processes import Installation
from tests.redis import Redis

UPLOADED = "select state, done, id from properties_import order by id desc limit 1"
ENDED = ("DONE", "PARTLY", "FAILED")


@dataclass
class Scene:
    """The installation, and what stands around it."""

    installation: Installation
    neighbour: Installation
    redis: Redis
    url: str
    size: Size
    steps: Steps
    watcher: Watcher
    result: Result

    def count(self, table: str, condition: str = "1 = 1") -> int:
        """Count rows of the main workspace, which is the first."""
        query = f"select count(*) from {table} where workspace_id = 1 and {condition}"
        return int(ask(self.url, query)[0][0])

    def start_workers(self) -> None:
        for name in WORKERS:
            self.installation.start_worker(name)


@contextmanager
def production(folder: Path, url: str, size: Size, result: Result) -> Iterator[Scene]:
    """Start all but the workers; everything is stopped in the end."""
    steps = Steps(f"production: PostgreSQL, Redis; {size.rows:,} properties")
    redis = Redis(folder)
    installation = as_in_production(folder, url, redis, deadline=size.deadline)
    beside = folder / "neighbour"
    beside.mkdir()
    neighbour = Installation(beside, url)
    try:
        installation.start_sandbox()
        neighbour.start_sandbox()
        installation.manage("migrate", "--verbosity", "0")
        installation.start_web()
        installation.start_beat()
        watcher = Watcher(installation, url, redis)
        scene = Scene(installation, neighbour, redis, url, size, steps, watcher, result)
        _connect(scene)
        yield scene
    finally:
        installation.stop()
        neighbour.stop()
        redis.stop(kill=True)


def _connect(scene: Scene) -> None:
    """Make both workspaces, and let the neighbour have a property and an order."""
    one = scene.installation
    for slug, sandbox in (("main", one.sandbox), ("neighbour", scene.neighbour.sandbox)):
        add_workspace(one, slug, sandbox)
        one.manage("configure_webhook", slug)
    feed = table(one.folder / "neighbour.csv", 1, "N", title="Beside")
    one.manage("import_properties", "neighbour", str(feed))
    scene.start_workers()
    place(one, scene.url, scene.steps, "neighbour", "N-0")
    scene.watcher.start()
    scene.steps.say("web, two workers and beat run; the neighbour has a property and an order")


def upload(
    person: Person, steps: Steps, url: str, feed: Path, *, rows: int, limit: float, at=None
) -> float:
    """Hand a feed in, look at it, release it; the seconds until the import has ended."""

    def in_state(*states: str) -> int:
        found = ask(url, UPLOADED)
        return int(bool(found) and found[0][0] in states)

    person.upload(1, feed)
    steps.until(f"{feed.name}: looked at", lambda: in_state("PREVIEWED"), 1, limit=limit)
    person.release(ask(url, UPLOADED)[0][2])
    more = {"at": at} if at else {}
    return steps.until(
        f"{feed.name}: imported",
        lambda: rows if in_state(*ENDED) else min(ask(url, UPLOADED)[0][1], rows - 1),
        rows,
        limit=limit,
        **more,
    )
