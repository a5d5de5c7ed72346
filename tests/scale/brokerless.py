"""A worker whose Redis is away from the start, comes, and is killed: edits go on (I12)."""

import json
from pathlib import Path

from tests.journeys.rows import ask
from tests.processes import Installation
from tests.redis import Redis
from tests.scale import judge
from tests.scale.progress import Steps
from tests.scale.size import Result, Size

POOLS = ("threads", "prefork")
START = 30.0  # seconds for a worker to say that it lives
GOAL = 10.0  # seconds (I12)
ALIVE = "select count(*) from crm_sync_heartbeat where kind = 'worker' and name like '{}@%'"


def run(folder: Path, url: str, _: Size, result: Result) -> None:
    """Measure an edit in each state of the broker, with each pool."""
    steps, redis = Steps("no broker: Redis away, there, and killed"), Redis(folder)
    redis.stop(kill=True)
    one = Installation(
        folder, url, CELERY_BROKER_URL=redis.url, DJANGO_SETTINGS_MODULE="config.settings"
    )
    try:
        one.start_sandbox()
        one.manage("migrate", "--verbosity", "0")
        one.manage(
            "add_workspace", "main", "--base-url", one.sandbox, "--token-env", "PLATFORM_TOKEN"
        )
        one.manage("pull_properties", "main")
        for pool in POOLS:
            _edits(one, url, redis, pool, steps, result)
        result.wrong += judge.properties(url, 1, one.state()["properties"])
        result.wrong += judge.logs(one)
    finally:
        one.stop()
        redis.stop(kill=True)


def _edits(
    one: Installation, url: str, redis: Redis, pool: str, steps: Steps, result: Result
) -> None:
    one.start_worker(pool, pool=pool)
    steps.until(
        f"{pool} lives, without Redis", lambda: ask(url, ALIVE.format(pool))[0][0], 1, limit=START
    )
    _edit(one, f"{pool}, Redis away from the start", result)
    redis.start()
    _edit(one, f"{pool}, Redis there", result)
    redis.stop(kill=True)
    _edit(one, f"{pool}, Redis killed", result)
    one.kill(pool)


def _edit(one: Installation, what: str, result: Result) -> None:
    words = ("-m", "tests.scale.neighbour", "main", one.sandbox, "properties")
    seconds = json.loads(one.run(*words))["properties"]
    result.figure(f"{what}: an edit is there", seconds, "s", below=GOAL, digits=1)
