"""kill -9 of the web server under load: what was acknowledged is stored (I16)."""

import random
import time
from pathlib import Path

import pytest

from tests.journeys.callers import Callers
from tests.journeys.rows import ask
from tests.processes import Installation, wait_until
from tests.sizes import figures, seed_of, times

KILLS = times("WEB_KILLS", 30)
CALLERS = 4


@pytest.fixture
def installation(tmp_path: Path, database_url: str):
    one = Installation(tmp_path, database_url, WEB_CONCURRENCY="2", GUNICORN_CMD_ARGS="--preload")
    yield one
    one.stop()


@pytest.mark.rule("I16")
@pytest.mark.once  # `make kills` kills it more often, on both databases
@pytest.mark.processes
def test_what_was_acknowledged_is_stored_whenever_the_web_dies(installation, database_url):
    strike(installation, database_url, 2)


@pytest.mark.chaos
@pytest.mark.processes
def test_what_was_acknowledged_is_stored_however_often_the_web_dies(installation, database_url):
    strike(installation, database_url, KILLS)


def strike(installation: Installation, url: str, kills: int) -> None:
    rng = random.Random(seed_of("kills of the web"))
    callers = Callers(installation.run("-m", "tests.journeys.hook").strip(), rng)
    callers.start(CALLERS)
    hits = 0
    try:
        for _ in range(kills):
            installation.start_web()
            before = len(callers.acknowledged)
            wait_until(
                "events are stored",
                lambda before=before: len(callers.acknowledged) > before + 20,
                limit=30,
            )
            time.sleep(rng.random() * 0.2)
            lost = callers.answers[0]
            installation.kill("web")
            hits += bool(
                wait_until(
                    "the callers see it", lambda lost=lost: callers.answers[0] > lost, limit=5
                )
            )
    finally:
        callers.stop()
    digests = [row[0] for row in ask(url, "select digest from crm_sync_receivedevent")]
    figures(
        "kills of the web",
        kills=hits,
        acknowledged=len(callers.acknowledged),
        stored=len(digests),
        answered_200=callers.answers[200],
        not_answered=callers.answers[0],
    )
    assert set(callers.answers) == {0, 200}
    assert callers.acknowledged - set(digests) == set()
    assert len(digests) == len(set(digests))
    assert set(digests) <= callers.sent
