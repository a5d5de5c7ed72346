"""kill -9 and SIGSTOP of workers while they hold leases, in an order drawn from a seed (I1, I3)."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.processes import Installation, wait_until

Lease = tuple[int, str]  # row id, token
Leases = dict[Lease, bool]  # whether something of the row may be on its way to the platform

OUTLIVES = 2.5  # seconds after which a lease of a worker that lives has been given back
BETWEEN = 1.2  # seconds from one blow to the next
AFTER_LEASE = 2.0  # seconds past the end of its lease in which a stopped worker goes on


@dataclass
class Blows:
    """What was done to the workers.

    Attributes:
        kills, stops: how many hit a lease that nobody gave back, of them with a PATCH on its way.
        windows: from when to when a stopped worker stood still, seconds since the epoch.
    """

    kills: list[tuple[bool, bool]] = field(default_factory=list)
    stops: list[tuple[bool, bool]] = field(default_factory=list)
    windows: list[tuple[float, float]] = field(default_factory=list)


class Nemesis:
    """Strikes the workers of an installation, each started anew by `start(name)`."""

    def __init__(
        self,
        installation: Installation,
        workers: dict[str, Callable[[str], None]],
        leases: Callable[[], Leases],
        *,
        lease: float,
        rng: random.Random,
    ) -> None:
        self.installation, self.workers, self.leases = installation, workers, leases
        self.lease, self.rng = lease, rng
        self.frozen: dict[str, float] = {}  # name → when it goes on
        self.seen: set[Lease] = set()
        self.blows = Blows()
        self.judging: list[threading.Thread] = []

    def strike(self, *, kills: int, stops: int) -> Blows:
        """Kill and stop in any order, one worker after the other; all run again afterwards."""
        what = ["kill"] * kills + ["stop"] * stops
        self.rng.shuffle(what)
        for one in what:
            self._thaw(time.time())
            if one == "stop" and self.frozen:
                self._thaw(float("inf"))  # at least one is left to take over
            victim = wait_until("a worker works", self._working, limit=60)
            time.sleep(self.rng.random() * 0.05)
            self._kill(victim) if one == "kill" else self._stop(victim)
            time.sleep(BETWEEN)
        self._thaw(float("inf"))
        for thread in self.judging:
            thread.join()
        return self.blows

    def _working(self) -> str | None:
        """One of the workers that have called the platform, while a PATCH is on its way.

        One that was stopped in the middle of a commit holds SQLite's only write lock, so each goes
        on when its time has come, also while this is waited for.
        """
        self._thaw(time.time())
        ready = [
            name
            for name in self.workers
            if name not in self.frozen and self.installation.is_connected(name)
        ]
        return self.rng.choice(ready) if ready and any(self.leases().values()) else None

    def _kill(self, name: str) -> None:
        self.installation.kill(name)
        self._judge_later(self.blows.kills)
        self.workers[name](name)

    def _stop(self, name: str) -> None:
        self.installation.freeze(name)
        self.frozen[name] = time.time() + self.lease + AFTER_LEASE
        self._judge_later(self.blows.stops)

    def _thaw(self, now: float) -> None:
        """Let those go on whose time has come; all of them, each at its time, where it is inf."""
        for name, when in list(self.frozen.items()):
            if now >= when:
                time.sleep(max(0.0, when - time.time()))
                self.blows.windows.append((when - self.lease - AFTER_LEASE, time.time()))
                self.installation.thaw(name)
                del self.frozen[name]

    def _judge_later(self, hits: list[tuple[bool, bool]]) -> None:
        """Count it as a hit where a lease that was held at the blow is never given back."""
        now_held = self.leases()
        fresh = {lease: out for lease, out in now_held.items() if lease not in self.seen}
        self.seen |= now_held.keys()

        def judge() -> None:
            time.sleep(OUTLIVES)
            left = [out for lease, out in fresh.items() if lease in self.leases()]
            hits.append((bool(left), any(left)))

        thread = threading.Thread(target=judge)
        thread.start()
        self.judging.append(thread)
