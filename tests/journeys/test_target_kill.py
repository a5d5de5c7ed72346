"""kill -9 of a worker that uploads a file: the target has each file once and whole."""

import threading
from pathlib import Path

import pytest

from tests.journeys.delivering import BODY
from tests.journeys.rows import ask
from tests.orders.targets.stock import there
from tests.processes import Installation, wait_until
from tests.properties.sources.servers import sftp_server

COUNT = 3
NAMES = [f"R-1/ground_photo/0{n + 1}.jpg" for n in range(COUNT)]


class Stopping:
    """Stops the first worker in the midst of its second file; notes every file that is seen."""

    def __init__(self, folder: Path, kind: str, *, after: bool) -> None:
        self.folder, self.kind, self.after = folder, kind, after
        self.reached, self.ended = threading.Event(), threading.Event()
        self.halves: list[str] = []
        self.left = 2

    def __call__(self, kind: str, path: str) -> None:
        seen = there(self.folder)
        self.halves += [one for one in NAMES if one in seen and len(seen[one]) != len(BODY) + 1]
        if kind != self.kind or self.reached.is_set():
            return
        self.left -= 1
        if self.left:
            return
        if self.after:  # the server has done it, and its answer never comes
            (self.folder / path.lstrip("/")).replace(self.folder / NAMES[1])
        self.reached.set()
        self.ended.wait(60)


@pytest.mark.rule("I3")
@pytest.mark.processes
@pytest.mark.parametrize(
    ("kind", "after"),
    [("open", False), ("rename", False), ("rename", True)],
    ids=["before the bytes", "between upload and rename", "between rename and settle"],
)
def test_a_worker_that_is_killed_while_it_uploads_leaves_each_file_once_and_whole(
    tmp_path: Path, database_url: str, kind: str, after: bool
):
    folder = tmp_path / "crm"
    folder.mkdir()
    stopping = Stopping(folder, kind, after=after)
    with sftp_server(folder, asked=stopping) as port:
        installation = Installation(
            tmp_path, database_url, CALL_DEADLINE="4", OUTGOING_INTERNAL_HOSTS="127.0.0.1"
        )
        try:
            address = f"sftp://127.0.0.1:{port}/"
            installation.run("-m", "tests.journeys.delivering", address, str(COUNT))
            installation.start_loop("first")
            assert stopping.reached.wait(60)
            installation.kill("first")
            installation.start_loop("second")
            stopping.ended.set()
            wait_until("everything is uploaded", lambda: all_there(database_url), limit=60)
        finally:
            stopping.ended.set()
            installation.stop()
    assert there(folder) == {name: BODY + f"{n}".encode() for n, name in enumerate(NAMES)}
    assert stopping.halves == []


def all_there(database_url: str) -> bool:
    question = "select count(*) from orders_targetfile where due_at is null and digest <> ''"
    return ask(database_url, question) == [(COUNT,)]
