"""The runtime of a simulated process: clock, threads, locks, randomness and pid are the world's.

A simulated process is a real one, forked from a process that has imported everything. Of all
threads of all processes only one runs at a time. At each point where a process can lose the
processor, it tells the scheduler and waits until it is chosen again.

`install` has to run before Django is imported, since modules keep what they have imported.
"""

import _thread
import os
import queue
import random
import threading
import time
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import time_machine

from lab.world.channel import Channel

real = SimpleNamespace(
    lock=_thread.allocate_lock,
    start=_thread.start_new_thread,
    monotonic=time.monotonic,
    getpid=os.getpid,
    is_alive=threading.Thread.is_alive,
)
EPOCH = datetime(2026, 1, 5, 8, tzinfo=UTC)
here: "Process | None" = None  # the simulated process that this is; None in the scheduler
outside = random.Random(
    "the scheduler"
)  # what the scheduler itself draws, such as the sandbox's ids


class Process:
    """The simulated process, as its own threads see it.

    Args:
        channel: to the scheduler, with which one thread speaks at a time.
        name: a different one for each incarnation.
        seed: of all its randomness.
    """

    def __init__(self, channel: Channel, name: str, seed: int, now: float) -> None:
        self.channel, self.name, self.now = channel, name, now
        self.random = random.Random(f"{seed} {name}")
        self.pid = self.random.randrange(1_000, 4_000_000)
        self._boxes: dict[int, _Box] = {}
        self._mine = threading.local()
        self._threads = self._locks = 0
        self._traveller = time_machine.travel(EPOCH, tick=False).start()
        random.seed(self.random.random())
        self._set_clock(now)

    def point(self, kind: str, detail: Any = None, until: float | None = None) -> Any:
        """Lose the processor; return what the scheduler says once it is this thread's turn.

        Args:
            until: when to be ready again at the latest, in seconds of the world.
        """
        tid = self._mine.tid
        self.channel.send((tid, kind, detail, until))
        return self._wait(tid)

    def notify(self, kind: str, detail: Any) -> None:
        """Tell the scheduler something, and go on."""
        self.channel.send((self._mine.tid, kind, detail, None))

    def adopt(self) -> None:
        """Make the calling thread the first one of this process, and wait for its turn."""
        tid = self._mine.tid = self._new_thread()
        self._wait(tid)

    def start_thread(self, function: Any, args: tuple[Any, ...]) -> int:
        """Start a thread that waits for its turn."""
        tid, ended = self._new_thread(), Lock()
        ended.acquire()
        function.__self__.ended = ended  # what `Thread.start` gives is a method of the thread
        self.notify("spawn", tid)

        def run() -> None:
            self._mine.tid = tid
            self._boxes[tid].wait()
            try:
                function(*args)
            finally:
                ended.release()
                self.channel.send((tid, "end", None, None))
                self._hand_over(None)
                # Python would take it down beside the next one, at a moment of its own.
                self._boxes[tid].wait()

        return int(real.start(run, ()))

    def next_lock(self) -> int:
        self._locks += 1
        return self._locks

    def _new_thread(self) -> int:
        self._threads += 1
        self._boxes[self._threads] = _Box()
        return self._threads

    def _wait(self, tid: int) -> Any:
        """Listen to the scheduler until it names a thread; that may be another one."""
        box = self._boxes[tid]
        if not self._hand_over(tid):
            box.wait()
        return box.value

    def _hand_over(self, tid: int | None) -> bool:
        """Wake the thread that the scheduler names; return whether it is the calling one."""
        named, now, value = self.channel.recv()
        self._set_clock(now)
        box = self._boxes[named]
        box.value = value
        if named == tid:
            return True
        box.wake()
        return False

    def _set_clock(self, now: float) -> None:
        self.now = now
        self._traveller.move_to(EPOCH.timestamp() + now)


class _Box:
    """Where a thread waits, and what it was told."""

    def __init__(self) -> None:
        self.value: Any = None
        self._lock = real.lock()
        self._lock.acquire()

    def wait(self) -> None:
        self._lock.acquire()

    def wake(self) -> None:
        self._lock.release()


class Lock:
    """A lock whose waiting threads lose the processor to the scheduler."""

    def __init__(self) -> None:
        self._is_held = False
        self._waiting = self._number = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """See `threading.Lock`."""
        if not self._is_held or not blocking:
            free, self._is_held = not self._is_held, True
            return free
        if here is None:
            raise RuntimeError("the scheduler has one thread, so this lock would never be free")
        self._number = self._number or here.next_lock()
        until = None if timeout < 0 else here.now + timeout
        self._waiting += 1
        try:
            while self._is_held:
                if until is not None and here.now >= until:
                    return False
                here.point("lock", self._number, until)
        finally:
            self._waiting -= 1
        self._is_held = True
        return True

    def release(self) -> None:
        """See `threading.Lock`."""
        if not self._is_held:
            raise RuntimeError("release unlocked lock")
        self._is_held = False
        if self._waiting and here is not None:
            here.notify("freed", self._number)

    def locked(self) -> bool:
        """See `threading.Lock`."""
        return self._is_held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _at_fork_reinit(self) -> None:
        self._is_held = False


def _start(function: Any, args: tuple[Any, ...], *_: Any) -> int:
    if here is None:
        return int(real.start(function, args))
    return here.start_thread(function, args)


def _join(thread: Any, timeout: float | None = None) -> None:
    if here is None:
        raise RuntimeError("the scheduler has one thread, so it waits for none")
    if thread.ended.acquire(timeout=-1 if timeout is None else timeout):
        thread.ended.release()


def _is_alive(thread: Any) -> bool:
    """Return whether it runs; a thread that has ended is parked, so Python thinks that it does."""
    return real.is_alive(thread) and not (hasattr(thread, "ended") and not thread.ended.locked())


def _monotonic() -> float:
    """Return the world's seconds; 0 in the scheduler, as processes inherit the times it keeps."""
    return 0.0 if here is None else here.now


def _sleep(seconds: float) -> None:
    if here is None:
        raise RuntimeError("the scheduler does not sleep")
    here.point("sleep", None, here.now + max(0.0, seconds))


def _urandom(size: int) -> bytes:
    return (outside if here is None else here.random).randbytes(size)


def _getpid() -> int:
    return real.getpid() if here is None else here.pid


def install() -> None:
    """Put the world's clock, threads, locks and randomness in the place of Python's."""
    patched: Any = threading
    patched.Lock = patched._allocate_lock = Lock
    patched._CRLock = None  # so that RLock is the one in Python, which is made of our Lock
    patched._start_new_thread = _start
    patched.Thread.join, patched.Thread.is_alive = _join, _is_alive
    # A pool keeps its threads in a set; by itself it is ordered by where they lie in memory.
    patched.Thread.__hash__ = lambda thread: hash(thread.name)
    patched_queue: Any = queue
    patched_queue.SimpleQueue = patched_queue._PySimpleQueue  # made of our locks, for pools
    time.monotonic, time.perf_counter, time.sleep = _monotonic, _monotonic, _sleep
    os.urandom = patched_random = _urandom
    random._urandom = patched_random  # type: ignore[attr-defined]
    os.getpid = _getpid


def become(process: Process) -> None:
    """Be this simulated process from now on."""
    global here  # noqa: PLW0603 - a process is one
    here = process
