"""An edit while Redis is away: it is pushed soon after Redis comes, or comes back (I12)."""

import json
import time
from pathlib import Path

from lab.progress import Steps
from lab.runs import Result, add_workspace
from lab.scale import judge
from lab.scale.size import Size
from tests.journeys.rows import ask
from tests.processes import Installation
from tests.redis import Redis

START = 30.0  # seconds for a worker to say that it lives
GOAL = 10.0  # seconds (I12)
AWAY = 40.0  # seconds: long enough that Celery would ask rarely
ALIVE = "select count(*) from crm_sync_heartbeat where kind = 'worker'"


def run(folder: Path, url: str, _: Size, result: Result) -> None:
    """Measure an edit beside Redis, and from its return those that were made without it."""
    steps, redis = Steps("no broker: Redis away, there, killed, and back"), Redis(folder)
    redis.stop(kill=True)
    one = Installation(
        folder, url, CELERY_BROKER_URL=redis.url, DJANGO_SETTINGS_MODULE="config.settings"
    )
    try:
        one.start_sandbox()
        one.manage("migrate", "--verbosity", "0")
        add_workspace(one, "main", one.sandbox)
        one.manage("pull_properties", "main")
        _edits(one, url, redis, steps, result)
        result.wrong += judge.properties(url, 1, one.state()["properties"])
        result.wrong += judge.logs(one)
    finally:
        one.stop()
        redis.stop(kill=True)


def _edits(one: Installation, url: str, redis: Redis, steps: Steps, result: Result) -> None:
    one.start_worker()
    one.start_beat()
    steps.until("a worker lives, without Redis", lambda: ask(url, ALIVE)[0][0], 1, limit=START)
    time.sleep(AWAY)
    redis.start()
    _edit(one, "Redis comes", result)
    _edit(one, "Redis there", result)
    redis.stop(kill=True)
    time.sleep(AWAY)
    redis.start()
    _edit(one, "Redis comes back", result)


def _edit(one: Installation, what: str, result: Result) -> None:
    words = ("-m", "lab.scale.neighbour", "main", one.sandbox, "properties")
    seconds = json.loads(one.run(*words))["properties"]
    result.figure(f"{what}: an edit is there", seconds, "s", below=GOAL, digits=1)
