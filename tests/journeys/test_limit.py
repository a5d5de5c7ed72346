"""Many threads of several workers: each property once, and never more calls than the limit (A8)."""

import subprocess
import sys
import threading
import time
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest

from sandbox.app import Sandbox
from tests.journeys.rows import ask
from tests.processes import ROOT, TOKEN, Installation
from tests.sizes import KIND

LIMIT, WORKERS, ROWS = 5, 3, 60
LEFT = (
    "select (select count(*) from properties_property where due_at is not null),"
    " (select count(*) from properties_property where lease_token is not null),"
    " (select count(*) from crm_sync_slot where lease_token is not null)"
)


class Platform:
    """The sandbox, which takes its time and notes what is under way beside each call."""

    def __init__(self) -> None:
        self.box = Sandbox(token=TOKEN, switches={"platform": KIND})
        self.lock = threading.Lock()
        self.under_way: list[str] = []
        self.most = 0
        self.twice: list[str] = []
        self.patches = 0

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"]
        with self.lock:
            if path in self.under_way:
                self.twice.append(path)
            self.under_way.append(path)
            self.most = max(self.most, len(self.under_way))
            self.patches += environ["REQUEST_METHOD"] == "PATCH"
        time.sleep(0.02)
        try:
            return list(self.box(environ, start_response))
        finally:
            with self.lock:
                self.under_way.remove(path)


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 64


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        """Nothing: a line a call would hide what pytest says."""


@pytest.mark.processes
def test_several_workers_with_many_threads_keep_to_the_limit(tmp_path: Path, database_url: str):
    installation = Installation(tmp_path, database_url)
    platform = Platform()
    port = installation.sandbox_port
    with make_server("127.0.0.1", port, platform, Server, Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        installation.run("-m", "tests.journeys.driver", "rows", str(ROWS), str(LIMIT))
        platform.most, platform.twice = 0, []
        workers = [
            subprocess.Popen(
                [sys.executable, "manage.py", "work", "--json"],
                cwd=ROOT,
                env=installation.environment,
                stdout=subprocess.PIPE,
            )
            for _ in range(WORKERS)
        ]
        for worker in workers:
            worker.communicate(timeout=300)
        assert [worker.returncode for worker in workers] == [0] * WORKERS
        server.shutdown()
    assert ask(database_url, LEFT) == [(0, 0, 0)]
    assert platform.most == LIMIT - 2  # one is left for orders, and one for reads
    assert platform.twice == []
    assert platform.patches == ROWS
