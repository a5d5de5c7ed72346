"""What runs the demo starts again what dies, and leaves nothing behind (examples/supervisor.py)."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.processes import ROOT, wait_until

pytestmark = pytest.mark.processes
LIMIT = 15  # seconds
RUN = """
import sys
from pathlib import Path
from examples.supervisor import Supervisor
import os
restarts = sys.argv[2] == "restarts"
sys.exit(Supervisor(Path(sys.argv[1]), os.environ, restarts=restarts).run(limit=float(sys.argv[3])))
"""
# Each says its process id, and has a child that would outlive it.
STAY = f"{sys.executable} -c 'import os, time; print(os.getpid(), flush=True); {{}}time.sleep(60)'"
CHILD = 'import subprocess as s; print(s.Popen(["sleep", "61"]).pid, flush=True); '


class Running:
    """A supervisor over a Procfile, and what it prints."""

    def __init__(self, folder: Path, procfile: str, *, restarts: bool = True, limit: float = 60):
        (folder / "Procfile").write_text(procfile)
        self.output = folder / "output"
        how = "restarts" if restarts else "ends"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", RUN, str(folder / "Procfile"), how, f"{limit:g}"],
                cwd=ROOT,
                stdout=output,
                stderr=output,
            )

    def lines(self) -> list[str]:
        return self.output.read_text().splitlines()

    def pids(self, name: str, count: int) -> list[int]:
        """Wait until it has said so many process ids."""

        def said() -> list[int]:
            words = [line.partition(" | ") for line in self.lines()]
            found = [int(w) for n, _, w in words if n.strip() == name and w.isdecimal()]
            return found if len(found) >= count else []

        return wait_until(f"{count} ids of {name}", said, limit=LIMIT)

    def end(self) -> int:
        return self.process.wait(LIMIT)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def start_one(procfile: str, **options) -> Running:
        running.append(Running(tmp_path, procfile, **options))
        return running[-1]

    yield start_one
    for one in running:
        one.process.kill()
        one.process.wait()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def all_gone(*pids: int) -> bool:
    return not any(map(is_alive, pids))


def test_what_is_killed_is_said_and_started_again_and_its_children_end_with_it(start):
    running = start(f"one: {STAY.format(CHILD)}\nother: {STAY.format('')}\n")
    first, child = running.pids("one", 2)
    (other,) = running.pids("other", 1)
    os.kill(first, signal.SIGKILL)
    again = running.pids("one", 4)[2]
    assert "one ended (killed by signal 9): it is started again" in running.lines()
    wait_until("its child is gone", lambda: all_gone(first, child), limit=LIMIT)
    assert (is_alive(again), is_alive(other)) == (True, True)


def test_what_dies_three_times_at_its_start_ends_all_with_a_word(start):
    running = start(f"broken: sh -c 'echo no port; exit 3'\nother: {STAY.format('')}\n")
    assert running.end() == 1
    (other,) = running.pids("other", 1)
    again = "broken ended (exit code 3): it is started again"
    last = (
        "broken ended (exit code 3) 3 times within 10 s of its start: all end."
        " What it said last stands above."
    )
    assert [line for line in running.lines() if line.startswith("broken ended")] == [
        again,
        again,
        last,
    ]
    assert all_gone(other)


def test_a_person_stops_all_of_it(start):
    running = start(f"one: {STAY.format(CHILD)}\nother: {STAY.format('')}\n")
    pids = [*running.pids("one", 2), *running.pids("other", 1)]
    running.process.terminate()
    assert running.end() == 0
    assert all_gone(*pids)


def test_what_does_not_listen_is_killed(start):
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    running = start(f"deaf: {STAY.format(deaf)}\n")
    pids = running.pids("deaf", 1)
    wait_until("it is deaf", lambda: ignores_sigterm(pids[0]), limit=LIMIT)
    running.process.terminate()
    assert running.end() == 0
    assert all_gone(*pids)


def ignores_sigterm(pid: int) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    mask = next(int(line.split()[1], 16) for line in lines if line.startswith("SigIgn"))
    return bool(mask & 1 << (signal.SIGTERM - 1))


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells a process that its parent died"
)
def test_a_supervisor_that_is_killed_leaves_nobody_behind(start):
    running = start(f"one: {STAY.format('')}\nother: {STAY.format('')}\n")
    pids = [*running.pids("one", 1), *running.pids("other", 1)]
    running.process.kill()
    wait_until("both are gone", lambda: all_gone(*pids), limit=LIMIT)


def test_without_restarts_the_first_that_ends_stops_the_others(start):
    procfile = f"judge: sh -c 'sleep 1; exit 4'\nother: {STAY.format('')}\n"
    running = start(procfile, restarts=False)
    assert running.end() == 4
    assert "judge ended (exit code 4): all end" in running.lines()
    assert all_gone(*running.pids("other", 1))


def test_what_is_not_finished_in_time_has_failed(start):
    running = start(f"one: {STAY.format('')}\n", restarts=False, limit=1)
    assert running.end() == 1
    assert running.lines()[-1] == "not finished after 1 s"
