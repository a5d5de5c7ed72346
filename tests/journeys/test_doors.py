"""Nobody outside, and no neighbour, holds a callback up (I25, S22)."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.callers import Line, at_a_rate, event
from tests.journeys.crowd import KINDS
from tests.journeys.rows import ask
from tests.processes import ROOT, Installation

pytestmark = pytest.mark.processes
CALLBACKS, A_SECOND = 300, 20.0
USUAL, MOST = 1.0, 2.0  # seconds, at the 99th percentile and for each
STORED = "select count(*) from crm_sync_receivedevent"


@pytest.fixture
def installation(tmp_path: Path, database_url: str) -> Iterator[Installation]:
    one = Installation(tmp_path, database_url, CALL_DEADLINE="10")
    yield one
    one.stop()


@pytest.mark.rule("I25", "S22")
def test_whatever_people_and_programs_do_a_callback_is_stored_at_once(installation):
    installation.start_sandbox(step=3600)
    how = installation.run("-m", "tests.journeys.crowd", "setup", "1000")
    for kind in ("web", "callbacks"):
        installation.start_procfile(kind)
    installation.freeze("sandbox")  # the platform takes calls and answers none
    hook = (
        f"http://127.0.0.1:{installation.callbacks_port}/{json.loads(how)['hook'].split('/', 3)[3]}"
    )
    assert Line(hook).call(event("before")) == 200
    web = f"http://127.0.0.1:{installation.web_port}"
    command = [sys.executable, "-m", "tests.journeys.crowd", "run", web, how]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as crowd:
        time.sleep(5)  # all of them are under way
        seconds: list[float] = []
        codes: Counter[int] = Counter()

        def note(status: int, taken: float) -> None:
            codes[status] += 1
            seconds.append(taken)

        at_a_rate(hook, CALLBACKS, A_SECOND, note)
        crowd.terminate()
        answers = json.loads(crowd.communicate(timeout=30)[0])
    seconds.sort()
    assert codes == {200: CALLBACKS}
    assert seconds[int(CALLBACKS * 0.99)] < USUAL
    assert seconds[-1] < MOST
    assert ask(installation.environment["DATABASE_URL"], STORED) == [(CALLBACKS + 1,)]
    assert {one.split()[0] for one in answers} == set(KINDS)  # nobody was left out
    assert {"login 429", "placement 503", "patch 400", "page 200"} <= set(answers)
