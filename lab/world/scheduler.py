"""The scheduler: one clock, one seed, and one thread of one process at a time.

Whatever is decided by chance hangs on the seed and on a name of the place where it is decided, such
as "worker-1.2/3 statement 17". So without one decision all others stay as they were, and a story
can be made shorter.
"""

import heapq
import json
import os
import signal
from base64 import b64decode
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeVar

from lab.world.channel import Channel, pair

STEP = 0.0002  # seconds that pass at each point: what a statement takes
READY = "ready"
# Where a process is killed or stands still more often than at a statement.
WEIGHTS = {"statement": 1, "commit": 2, "committed": 2, "call": 8}


Choice = TypeVar("Choice")


class Ended(Exception):
    """The world cannot go on: a process crashed by itself, or a promise is broken."""


@dataclass(frozen=True)
class Temper:
    """How often what happens, by the point: a chance of each."""

    switch: float = 0.0
    kill: float = 0.0
    freeze: float = 0.0
    message_lost: float = 0.0
    message_twice: float = 0.0
    message_late: float = 0.0
    call_lost: float = 0.0
    answer_lost: float = 0.0
    call_late: float = 0.0
    refused: float = 0.0
    event_late: float = 0.0
    lagging: float = 0.0  # of a read of a property


CALM = Temper(switch=0.02)


@dataclass(eq=False)
class Thread:
    """A thread of a simulated process, as the scheduler knows it.

    Attributes:
        state: what it waits for: its turn (`READY`), a lock, a moment, an answer, or a job.
        since: when it became ready, as a number of the scheduler's steps.
        job: called with the result of the job under way.
        reads: by reference, the step at which the platform was last read in this job.
    """

    process: "Proc"
    tid: int
    state: str = READY
    lock: int = 0
    value: Any = None
    since: int = 0
    points: int = 0
    job: Callable[[Any], None] | None = None
    reads: dict[str, int] = field(default_factory=dict)
    asked_hold: int = 0  # the step of its last question whether a person holds its work
    waits: int = 0  # counts its waits, so that an old timer does not wake it

    @property
    def name(self) -> str:
        return f"{self.process.name}/{self.tid}"


@dataclass(eq=False)
class Proc:
    """A simulated process."""

    kind: str
    name: str
    pid: int
    channel: Channel
    threads: dict[int, Thread] = field(default_factory=dict)
    frozen_until: float = 0.0
    is_alive: bool = True


class Scheduler:
    """Processes, their threads, timers, the broker and the story of all that was decided.

    Args:
        seed: of all decisions.
        start: makes a process: called in the fork with kind, channel, name and time.
        off: names of decisions that are not taken.
    """

    def __init__(
        self,
        seed: int,
        start: Callable[[str, Channel, str, float], None],
        off: frozenset[str] = frozenset(),
    ) -> None:
        self.seed, self.off = seed, off
        self.now, self.steps = 0.0, 0
        self.rings = 0  # messages of the web
        self.temper = CALM
        self.taken: dict[str, None] = {}  # names of decisions that were taken, in order
        self.story: list[tuple[float, str]] = []
        self.procs: dict[str, Proc] = {}
        self.broker: dict[str, deque[tuple[str, list[Any]]]] = {"celery": deque(), "tick": deque()}
        self.broker_away_until = self.frozen_until = 0.0
        self.broker_patience = 0.0  # seconds until a client gives up a broker that is away
        self.serve: Callable[[Thread, Any, float], None] = lambda *_: None
        self.after_commit: Callable[[], None] = lambda: None
        self.doubled: list[str] = []  # messages that were sent while the same one waited
        self.failed: list[str] = []  # tasks that ended with an error, but for a locked database
        self._start = start
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timer = 0
        self._incarnations: dict[str, int] = {}
        self._running: Thread | None = None

    # --- chance ---
    def share(self, name: str) -> float:
        """Return a number from 0 to 1 that hangs on the seed and this name alone."""
        digest = blake2b(f"{self.seed} {name}".encode(), digest_size=7).digest()
        return int.from_bytes(digest, "big") / 2**56

    def choose(self, name: str, choices: Sequence[Choice]) -> Choice:
        """Return one of these, by the seed and this name."""
        return choices[int(self.share(name) * len(choices))]

    def happens(self, name: str, chance: float) -> bool:
        """Decide whether something happens; it is noted if so."""
        if not chance or self.share(name) >= chance or name in self.off:
            return False
        self.taken[name] = None
        return True

    def tell(self, text: str) -> None:
        """Add a line to the story."""
        self.story.append((self.now, text))

    # --- time ---
    def at(self, moment: float, action: Callable[[], None]) -> None:
        """Do something at a moment."""
        self._timer += 1
        heapq.heappush(self._timers, (moment, self._timer, action))

    def run(self, until: float, is_over: Callable[[], bool] = lambda: False) -> None:
        """Let the world go on until a moment."""
        while self.now < until and not is_over():
            while self._timers and self._timers[0][0] <= self.now:
                heapq.heappop(self._timers)[2]()
            self._give_jobs()
            thread = self._next()
            if thread is None:
                if not self._timers:
                    raise Ended("nothing can go on")
                self.now = max(self.now, min(self._timers[0][0], until))
                continue
            self._resume(thread)

    def _ready(self) -> list[Thread]:
        return [
            thread
            for proc in self.procs.values()
            if proc.frozen_until <= self.now
            for thread in proc.threads.values()
            if thread.state == READY
        ]

    def _next(self) -> Thread | None:
        """Go on with the running thread, unless the seed switches or it waits."""
        running = self._running
        if (
            running is not None
            and running.state == READY
            and running.process.is_alive
            and running.process.frozen_until <= self.now
        ):
            name = f"{running.name} switch {running.points}"
            if not self.happens(name, self.temper.switch):
                return running
            others = [thread for thread in self._ready() if thread is not running]
            if others:
                return self.choose(f"{name} to", others)
            return running
        return min(self._ready(), key=lambda thread: thread.since, default=None)

    # --- processes ---
    def start(self, slot: str) -> None:
        """Start a process, unless it runs; `slot` is its kind, or one of them, as "worker-1"."""
        if slot in self.procs:
            return
        kind = slot.partition("-")[0]
        number = self._incarnations[slot] = self._incarnations.get(slot, 0) + 1
        name = f"{slot}.{number}"
        ours, its = pair()
        pid = os.fork()
        if pid == 0:
            ours.close()
            for other in self.procs.values():
                other.channel.close()
            self._start(kind, its, name, self.now)
            os._exit(0)
        its.close()
        proc = Proc(kind, name, pid, ours)
        self.procs[slot] = proc
        self._add_thread(proc, 1)

    def sleep(self, seconds: float) -> None:
        """Let the machine of all processes sleep, as a laptop does."""
        end = self.now + seconds
        self.tell(f"the machine sleeps for {seconds:.0f} s")
        for proc in self.procs.values():
            proc.frozen_until = max(proc.frozen_until, end)
        self.frozen_until = max(self.frozen_until, end)
        self.at(end, lambda: None)
        self.run(end)

    def suspend(self, proc: Proc, seconds: float) -> None:
        """Let a process stand still for so many seconds, or until it is woken."""
        proc.frozen_until = self.now + seconds
        self.frozen_until = max(self.frozen_until, proc.frozen_until)
        self.at(proc.frozen_until, lambda: None)

    def wake(self) -> None:
        """Let all that stands still go on."""
        for proc in self.procs.values():
            proc.frozen_until = min(proc.frozen_until, self.now)
        self.frozen_until = min(self.frozen_until, self.now)

    def kill(self, slot: str) -> None:
        """Kill -9 a process."""
        proc = self.procs.pop(slot)
        proc.is_alive = False
        os.kill(proc.pid, signal.SIGKILL)
        os.waitpid(proc.pid, 0)
        proc.channel.close()
        for thread in proc.threads.values():
            if thread.job:
                thread.job(None)
        if self._running in proc.threads.values():
            self._running = None

    def end(self) -> None:
        """Kill all."""
        for slot in list(self.procs):
            self.kill(slot)

    def _add_thread(self, proc: Proc, tid: int) -> None:
        self.steps += 1
        proc.threads[tid] = Thread(proc, tid, since=self.steps)

    # --- one step ---
    def _resume(self, thread: Thread) -> None:
        """Let one thread run to its next point."""
        proc, value = thread.process, thread.value
        thread.value = None
        self._running = thread
        self.steps += 1
        self.now += STEP
        proc.channel.send((thread.tid, self.now, value))
        while True:
            try:
                tid, kind, detail, until = proc.channel.recv()
            except EOFError:
                raise Ended(f"{proc.name} ended by itself") from None
            if kind == "spawn":
                self._add_thread(proc, detail)
            elif kind == "freed":
                self._free(proc, detail)
            elif kind == "crash":
                raise Ended(f"{proc.name} crashed: {detail}")
            else:
                break
        thread = proc.threads[tid]
        thread.points += 1
        POINTS[kind](self, thread, detail, until)
        if kind in WEIGHTS and proc.is_alive:
            self._befall(thread, kind)

    def ready(self, thread: Thread, value: Any = None) -> None:
        """Let a thread go on as soon as it is its turn."""
        thread.state, thread.value, thread.since = READY, value, self.steps
        thread.waits += 1

    def wait(self, thread: Thread, state: str, until: float | None, value: Any = None) -> None:
        """Let a thread wait; at `until` it is ready with `value`."""
        thread.state = state
        thread.waits += 1
        if until is None:
            return
        waits = thread.waits

        def wake() -> None:
            if thread.process.is_alive and thread.waits == waits:
                self.ready(thread, value)

        self.at(until, wake)

    def _free(self, proc: Proc, lock: int) -> None:
        for thread in proc.threads.values():
            if thread.state == "lock" and thread.lock == lock:
                self.ready(thread)

    def _befall(self, thread: Thread, kind: str) -> None:
        """Kill or freeze the process of a thread, if the seed wants it."""
        proc, name = thread.process, f"{thread.name} {kind} {thread.points}"
        slot = proc.name.rpartition(".")[0]
        weight = WEIGHTS[kind]
        if self.happens(f"{name} kill", weight * self.temper.kill):
            self.tell(f"{proc.name} is killed at a {kind}")
            self.kill(slot)
            pause = 0.2 + 8 * self.share(f"{name} pause") ** 3
            self.at(self.now + pause, lambda: self.start(slot))
        elif self.happens(f"{name} freeze", weight * self.temper.freeze):
            seconds = 0.5 * 240 ** self.share(f"{name} seconds")
            self.tell(f"{proc.name} stands still for {seconds:.1f} s at a {kind}")
            self.suspend(proc, seconds)

    # --- the points ---
    def _at_statement(self, thread: Thread, detail: Any, until: float | None) -> None:
        self.ready(thread)

    def _at_committed(self, thread: Thread, detail: Any, until: float | None) -> None:
        if thread.process.kind == "worker":
            self.after_commit()
        self.ready(thread)

    def _at_question(self, thread: Thread, detail: Any, until: float | None) -> None:
        if "crm_sync_hold" in detail:
            thread.asked_hold = self.steps
        self.ready(thread)

    def _at_lock(self, thread: Thread, detail: Any, until: float | None) -> None:
        thread.lock = detail
        self.wait(thread, "lock", until)

    def _at_sleep(self, thread: Thread, detail: Any, until: float | None) -> None:
        self.wait(thread, "sleep", until)

    def _at_call(self, thread: Thread, detail: Any, until: float | None) -> None:
        self.wait(thread, "call", until)
        self.serve(thread, detail, until or self.now)

    def _at_idle(self, thread: Thread, detail: Any, until: float | None) -> None:
        self.wait(thread, "idle", None)

    def _at_done(self, thread: Thread, detail: Any, until: float | None) -> None:
        job, thread.job = thread.job, None
        self.ready(thread)
        if job:
            job(detail)

    def _at_end(self, thread: Thread, detail: Any, until: float | None) -> None:
        thread.state = "ended"
        del thread.process.threads[thread.tid]

    def _at_publish(self, thread: Thread, detail: Any, until: float | None) -> None:
        queue, message = detail
        is_there = self.broker_away_until <= self.now
        if is_there:
            self.ready(thread, is_there)
        else:
            self.wait(thread, "publish", self.now + self.broker_patience, False)
            return
        self.rings += thread.process.kind == "web"
        name = message["headers"]["task"]
        args = json.loads(b64decode(message["body"]))[0]
        at = f"{thread.name} publish {thread.points}"
        if self.happens(f"{at} lost", self.temper.message_lost):
            self.tell(f"the broker loses {name}{args} of {thread.name}")
            return
        line = self.broker.setdefault(queue, deque())
        if (name, args) in line:
            self.doubled.append(f"{name}{args}")
        if self.happens(f"{at} late", self.temper.message_late):
            seconds = 20 * self.share(f"{at} seconds")
            self.tell(f"the broker keeps {name}{args} of {thread.name} for {seconds:.1f} s")
            self.at(self.now + seconds, lambda: line.append((name, args)))
        else:
            line.append((name, args))
        if self.happens(f"{at} twice", self.temper.message_twice):
            self.tell(f"the broker hands out {name}{args} of {thread.name} twice")
            line.append((name, args))

    def _at_size(self, thread: Thread, detail: Any, until: float | None) -> None:
        is_there = self.broker_away_until <= self.now
        self.ready(thread, len(self.broker.get(detail, ())) if is_there else None)

    # --- jobs ---
    def idle(self, kind: str) -> Thread | None:
        """Return a thread without a job of a live process of this kind."""
        waiting = [
            thread
            for proc in self.procs.values()
            if proc.kind == kind and proc.frozen_until <= self.now
            for thread in proc.threads.values()
            if thread.state == "idle"
        ]
        return min(waiting, key=lambda thread: thread.since, default=None)

    def give(self, thread: Thread, job: Any, done: Callable[[Any], None]) -> None:
        """Give a job to an idle thread; `done` gets its result, None if its process dies."""
        thread.job, thread.reads = done, {}
        self.ready(thread, job)

    def _give_jobs(self) -> None:
        """Hand the messages of the broker to idle threads of workers."""
        if self.broker_away_until > self.now:
            return
        for line in self.broker.values():
            while line:
                thread = self.idle("worker")
                if thread is None:
                    return
                name, args = line.popleft()
                self.give(thread, ("task", name, args), self._noted(thread, name))

    def _noted(self, thread: Thread, name: str) -> Callable[[Any], None]:
        def done(result: Any) -> None:
            if result and result[0] == "failed":
                said = f"{name} failed: {result[1].strip().splitlines()[-1]}"
                self.tell(f"{thread.name}: {said}")
                if "database is locked" not in said:
                    self.failed.append(said)

        return done


POINTS: dict[str, Callable[[Scheduler, Thread, Any, float | None], None]] = {
    "statement": Scheduler._at_question,
    "commit": Scheduler._at_statement,
    "committed": Scheduler._at_committed,
    "lock": Scheduler._at_lock,
    "sleep": Scheduler._at_sleep,
    "call": Scheduler._at_call,
    "idle": Scheduler._at_idle,
    "done": Scheduler._at_done,
    "end": Scheduler._at_end,
    "publish": Scheduler._at_publish,
    "size": Scheduler._at_size,
}
