"""What befalls an installation in the middle of its work, each at its share of the progress."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import requests

from lab.progress import Steps
from lab.scale.watcher import WORKERS, Watcher, processor
from tests.processes import Installation
from tests.redis import Redis

DOWN = 1.0  # seconds that Redis is away
INTERVAL = 0.5


@dataclass
class Troubles:
    """Befalls each once; `at` says which have their time now."""

    installation: Installation
    redis: Redis
    watcher: Watcher
    steps: Steps
    hang: float
    left: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    def at(self, share: float) -> None:
        """Begin what is planned for this share of the work, beside those who look."""
        while self.left and share >= self.left[0][0]:
            _, trouble = self.left.pop(0)
            thread = threading.Thread(target=trouble)
            thread.start()
            self.threads.append(thread)

    def ended(self) -> None:
        """Wait until all of them are over; fail where one never came."""
        for thread in self.threads:
            thread.join()
        assert not self.left, "the work was over before all troubles had come"

    def too_many_requests(self) -> None:
        self._refuse("TOO_MANY_REQUESTS", 2)

    def unavailable(self) -> None:
        self._refuse("UNAVAILABLE", 3)

    def _refuse(self, fault: str, seconds: int) -> None:
        self.steps.say(f"the platform answers {fault}, Retry-After {seconds}")
        rules = [{"fault": fault, "times": 1, "seconds": seconds, "path": "/v1/real-estate-*"}]
        address = f"{self.installation.sandbox}/_sandbox/faults"
        requests.post(address, json={"rules": rules}, timeout=30).raise_for_status()

    def redis_restarts(self) -> None:
        self.steps.say(f"Redis is killed, and away for {DOWN:g} s")
        self.redis.stop(kill=True)
        time.sleep(DOWN)
        self.redis.start()

    def worker_dies(self) -> None:
        name = self._busiest()
        self.steps.say(f"kill -9 of {name}, which works hardest, with all its children")
        self.installation.kill(name)
        self.installation.start_worker(name)

    def _busiest(self) -> str:
        """The worker that used most of the processor just now: it has what others wait for."""
        pids = {name: self.installation.processes[name].pid for name in WORKERS}
        before = {name: processor(pid) for name, pid in pids.items()}
        time.sleep(INTERVAL)
        return max(pids, key=lambda name: processor(pids[name]) - before[name])

    def platform_hangs(self) -> None:
        """It takes connections, and does not answer."""
        self.steps.say(f"the platform hangs for {self.hang:g} s")
        self.watcher.excuse(self.hang + 1)
        self.installation.freeze("sandbox")
        time.sleep(self.hang)
        self.installation.thaw("sandbox")
