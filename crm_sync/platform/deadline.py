"""One thread that ends what goes on for too long (I13): a timer thread a call would cost more."""

import heapq
import itertools
import os
import threading
import time
from collections.abc import Callable


class Alarm:
    """Rings `ring` once, at `at` on the monotonic clock, unless it is cancelled before."""

    def __init__(self, at: float, ring: Callable[[], None]) -> None:
        self.at, self.ring, self.cancelled = at, ring, False

    def cancel(self) -> None:
        """Let it ring no more; its entry goes when its time would have come."""
        self.cancelled = True


class Watchdog:
    """Alarms in the order of their time, and the thread that waits for the next one."""

    def __init__(self) -> None:
        self._number = itertools.count()  # so that alarms of one moment need not be compared
        self._forget()

    def _forget(self) -> None:
        """Begin anew, also in the child of a fork, in which the thread is not there."""
        self._alarms: list[tuple[float, int, Alarm]] = []
        self._earlier = threading.Condition()
        self._runs = False

    def after(self, seconds: float, ring: Callable[[], None]) -> Alarm:
        """Ring in `seconds`, in the watchdog's own thread; `ring` must not wait for anything."""
        alarm = Alarm(time.monotonic() + seconds, ring)
        with self._earlier:
            heapq.heappush(self._alarms, (alarm.at, next(self._number), alarm))
            if not self._runs:
                threading.Thread(target=self._run, name="watchdog", daemon=True).start()
                self._runs = True
            elif self._alarms[0][2] is alarm:
                self._earlier.notify()
        return alarm

    def _run(self) -> None:
        while True:
            with self._earlier:
                self._wait()
                due = self._take(time.monotonic())
            for alarm in due:
                if not alarm.cancelled:
                    alarm.ring()

    def _wait(self) -> None:
        """Wait for the next alarm that is not cancelled, or for one that comes before it."""
        while self._alarms and self._alarms[0][2].cancelled:
            heapq.heappop(self._alarms)
        self._earlier.wait(self._alarms[0][0] - time.monotonic() if self._alarms else None)

    def _take(self, now: float) -> list[Alarm]:
        taken = []
        while self._alarms and self._alarms[0][0] <= now:
            taken.append(heapq.heappop(self._alarms)[2])
        return taken


watchdog = Watchdog()
os.register_at_fork(after_in_child=watchdog._forget)
