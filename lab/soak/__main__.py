"""Two, then four workers, two beats, and every trouble again and again, for minutes or hours.

python -m lab.soak [--short]      (make soak; SOAK_MINUTES=60 make soak)

PostgreSQL and Redis are its own, so it disturbs nobody else's. 0 when nothing was lost and no
process grew, 1 when not. judge.py says what is wrong, and `tests/lab/test_soak.py` shows that it
finds each damage.
"""

import argparse
import itertools
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import requests

from lab.progress import Steps
from lab.runs import Result, add_workspace, as_in_production, place, play, table
from lab.scale import judge as scale_judge
from lab.scale.watcher import anonymous, memory
from lab.soak import judge
from lab.soak.platform import Platform
from tests.cluster import Cluster, is_installed
from tests.journeys.rows import ask
from tests.processes import Installation, wait_until
from tests.redis import Redis

LASTING = ("web", "worker-1", "beat", "beat-2")  # nobody kills these: their memory is compared
ROUNDS = (1, 2, 4)  # workers
ORDERS = 2
LATE = 300.0  # seconds in which all must be settled once the troubles are over


@dataclass(frozen=True)
class Size:
    """Seconds of troubles, properties, and seconds from one trouble to the next."""

    seconds: float
    rows: int
    pause: float


@dataclass
class Soak:
    """The installation and what stands around it."""

    one: Installation
    cluster: Cluster
    redis: Redis
    size: Size
    steps: Steps
    result: Result
    memories: dict[str, list[float]] = field(default_factory=dict)

    def count(self, condition: str) -> int:
        query = f"select count(*) from properties_property where {condition}"
        return int(ask(self.cluster.url, query)[0][0])

    def fault(self, *rules: dict[str, object]) -> None:
        address = f"{self.one.sandbox}/_sandbox/faults"
        requests.post(address, json={"rules": list(rules)}, timeout=60).raise_for_status()

    @property
    def stock(self) -> Path:
        """The last feed."""
        return self.one.folder / "stock.csv"

    def edit(self, title: str) -> None:
        """Change every property here, by a feed; the database is there, so none is refused."""
        table(self.stock, self.size.rows, "P", title=title)
        self.one.manage("import_properties", "main", str(self.stock))

    def start(self, *names: str) -> None:
        for name in names:
            if name not in self.one.processes:
                self.one.start_worker(name)


def run(folder: Path, size: Size, result: Result) -> None:
    """Measure, soak, judge."""
    steps = Steps(f"soak: {size.rows:,} properties, {size.seconds:.0f} s of troubles")
    cluster, redis = Cluster(), Redis(folder)
    one = as_in_production(folder, cluster.url, redis, deadline=3)
    soak = Soak(one, cluster, redis, size, steps, result)
    try:
        _prepare(soak)
        for workers in ROUNDS:
            _throughput(soak, workers)
        platform = _troubles(soak)
        _settle(soak)
        _judge(soak, platform)
    finally:
        one.stop()
        redis.stop(kill=True)
        cluster.remove()


def _prepare(soak: Soak) -> None:
    one = soak.one
    one.start_sandbox()
    one.manage("migrate", "--verbosity", "0")
    one.start_web()
    one.start_beat()
    one.processes["beat-2"] = one.processes.pop("beat")
    one.start_beat()  # a second one, by mistake
    add_workspace(one, "main", one.sandbox)
    one.manage("configure_webhook", "main")
    soak.steps.say("web and two beats run")


def _throughput(soak: Soak, workers: int) -> None:
    """Have everything due with nobody there, then see how fast so many workers are."""
    for name in [name for name in soak.one.processes if name.startswith("worker")]:
        process = soak.one.processes.pop(name)
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    soak.edit(f"With {workers}")
    assert soak.count("due_at is not null") >= soak.size.rows
    soak.start(*(f"worker-{n + 1}" for n in range(workers)))
    wait_until("a worker begins", lambda: soak.count("lease_token is not null"), limit=60)
    seconds = soak.steps.until(
        f"pushed by {workers}",
        lambda: soak.size.rows - soak.count("due_at is not null"),
        soak.size.rows,
        limit=LATE,
    )
    soak.result.figure(f"pushed, {workers} workers", soak.size.rows / seconds, "a second")


def _troubles(soak: Soak) -> Platform:
    """Both sides change all the time, while one trouble after the other comes."""
    one, size = soak.one, soak.size
    for n in range(ORDERS):
        place(one, soak.cluster.url, soak.steps, "main", f"P-{n}")
    one.kill("worker-3")
    one.kill("worker-4")
    platform = Platform(one)
    platform.start()
    coming = itertools.cycle(_kinds(soak))
    began = next_one = time.monotonic()
    for n in itertools.count():
        passed = time.monotonic() - began
        if passed > size.seconds:
            break
        if passed > size.seconds / 2:  # from now on with four
            soak.start("worker-3", "worker-4")
        if time.monotonic() >= next_one:
            next_one = time.monotonic() + size.pause
            next(coming)()
        if n % 10 == 0:
            soak.edit(f"Round {n}")
        for name in LASTING:
            soak.memories.setdefault(name, []).append(anonymous(one.processes[name].pid))
        time.sleep(0.5)
    platform.stop()
    soak.result.figure("estimates told by the platform", platform.estimates.sent, "events")
    soak.result.figure("of these seen acknowledged", len(platform.acknowledged), "events")
    return platform


def _kinds(soak: Soak) -> list[Callable[[], None]]:
    """All that can befall it, in the order in which it comes."""
    one, say = soak.one, soak.steps.say

    def worker_dies() -> None:
        say("kill -9 of worker-2 with its children")
        one.kill("worker-2")
        soak.start("worker-2")

    def postgresql(mode: str) -> Callable[[], None]:
        def restarts() -> None:
            say(f"PostgreSQL restarts ({mode})")
            soak.cluster.stop(mode=mode)
            time.sleep(1)
            soak.cluster.start()

        return restarts

    def redis_freezes() -> None:
        say("Redis stands still for 4 s")
        soak.redis.process.send_signal(signal.SIGSTOP)
        time.sleep(4)
        soak.redis.process.send_signal(signal.SIGCONT)

    def redis_restarts() -> None:
        say("Redis is killed, and forgets all")
        soak.redis.stop(kill=True)
        time.sleep(1)
        soak.redis.start()

    def platform(*rules: dict[str, object]) -> Callable[[], None]:
        def is_faulty() -> None:
            say(f"the platform: {', '.join(str(rule['fault']) for rule in rules)}")
            soak.fault(*rules)

        return is_faulty

    calls = [
        {"fault": fault, "chance": 0.05}
        for fault in ("SERVER_ERROR", "CUT_OFF", "TIME_OUT_AFTER", "EXPIRED_TOKEN")
    ]
    events = [{"fault": fault, "chance": 0.1} for fault in ("DROPPED", "REPEATED", "REORDERED")]
    busy = {"fault": "TOO_MANY_REQUESTS", "chance": 0.02, "seconds": 1}
    return [
        platform(*calls),
        worker_dies,
        postgresql("fast"),
        platform(*events),
        redis_freezes,
        platform(busy, *calls, *events),
        postgresql("immediate"),
        redis_restarts,
    ]


def _settle(soak: Soak) -> None:
    """Take the troubles away, and wait until nothing is due and both sides tell the same."""
    soak.fault()
    soak.edit("At last")
    began = time.monotonic()
    # Until then the last trouble may have paused the workspace, and no pull by hand is done.
    wait_until("all is sent", lambda: not soak.count("due_at is not null"), limit=LATE)
    soak.one.manage("pull_properties", "main", "--list-only")
    while (found := _unsettled(soak)) and time.monotonic() - began < LATE:
        time.sleep(2)
    soak.result.wrong += scale_judge.shortened(found)
    took = time.monotonic() - began
    soak.result.figure("settled after the last trouble", took, "s", below=LATE)


def _unsettled(soak: Soak) -> list[str]:
    return judge.unsettled(soak.cluster.url, 1, soak.one.state(), at=datetime.now(UTC))


def _judge(soak: Soak, platform: Platform) -> None:
    result, url, state = soak.result, soak.cluster.url, soak.one.state()
    running = {*LASTING, *(f"worker-{n + 1}" for n in range(ROUNDS[-1]))}
    there = state["properties"]
    for wrong in (
        scale_judge.audit(soak.one),
        judge.feed(soak.stock, there),
        judge.overwritten(platform.theirs, there),
        judge.placed(url, ORDERS, state),
        judge.unnoticed(url, platform.estimates.told),
        judge.unstored(url, platform.acknowledged),
        judge.stopped(soak.one.processes, running),
    ):
        result.wrong += scale_judge.shortened(wrong)
    (soak.one.folder / "memory.json").write_text(json.dumps(soak.memories))
    for name, sizes in soak.memories.items():
        held = memory(soak.one.processes[name].pid)
        result.figure(f"memory of {name}, in the end", held, "MiB")
        more = judge.growth(sizes)
        result.figure(f"memory of {name} has grown by", more, "MiB", below=judge.MOST_GROWTH)
        rise = judge.steady_rise(sizes)
        what = f"memory of {name} has gone on rising by"
        result.figure(what, rise, "MiB", below=judge.STEADY, digits=1)
    gaps = ask(url, "select count(*) from crm_sync_gap")[0][0]
    result.figure("gaps that were found and read again", gaps, "gaps")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.soak", description=__doc__)
    parser.add_argument("--short", action="store_true", help="90 seconds: proves the harness")
    short = parser.parse_args(arguments).short
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nothing of it runs on
    if not is_installed() or shutil.which("redis-server") is None:
        print("skipped: initdb of PostgreSQL and redis-server are needed")
        return int(os.environ.get("CI") == "true")
    minutes = float(os.environ.get("SOAK_MINUTES", "10"))
    size = Size(90.0, 150, 9.0) if short else Size(minutes * 60, 1_000, 20.0)
    folder = Path(tempfile.mkdtemp(prefix="crm-sync-soak-"))
    return 0 if play("soak", folder, lambda result: run(folder, size, result)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
