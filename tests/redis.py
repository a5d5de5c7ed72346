"""A Redis of a test's own, which it may kill and start again."""

import subprocess
from contextlib import closing
from pathlib import Path

import redis

from tests.processes import free_port


class Redis:
    """A server of our own, which forgets everything when it ends."""

    def __init__(self, folder: Path):
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        keeps_nothing = ("--save", "", "--appendonly", "no", "--dir", str(folder))
        self.command = ("redis-server", "--bind", "127.0.0.1", "--port", str(self.port))
        self.command += keeps_nothing
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)

    def stop(self, *, kill: bool) -> None:
        self.process.kill() if kill else self.process.terminate()
        self.process.wait()

    def waiting(self) -> int:
        """How many messages wait in Celery's queue."""
        with closing(redis.Redis(port=self.port, socket_timeout=1)) as client:
            return int(client.llen("celery"))
