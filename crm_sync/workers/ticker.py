"""The tick: every second each worker asks the database what is due, and does it.

A ring through the broker is faster, but may be lost, late, or behind many others. The tick needs
only the database and has threads of its own, so neither a broker that is down nor the backlog of
another workspace delays it (I12).
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from django.db import DatabaseError, close_old_connections, connection
from django.utils import timezone

from crm_sync import registry
from crm_sync.jobs.due import Tally
from crm_sync.models import call_log
from crm_sync.workers import lanes, queues

log = logging.getLogger(__name__)

EVERY = 1.0  # seconds between two ticks
GRACE = timedelta(seconds=1)  # in which the ring may come first
THREADS = 16  # drains of one process at the same time
OF_ONE = 6  # of these for one workspace, so that threads are left for others
BUDGET = 20.0  # seconds of a drain; less than a lease and a broker's visibility time-out
LONG_AGO = datetime.min.replace(tzinfo=UTC)

Pair = tuple[str, int]  # a queue, and the id of a workspace


class Ticker:
    """Finds the queues with due rows and drains them, the one drained longest ago first.

    Args:
        grace: how long a due row is left to its ring.
        report: called after each drain that handled a row, in the thread of the drain.
    """

    def __init__(
        self,
        *,
        grace: timedelta = GRACE,
        every: float = EVERY,
        report: Callable[[str, Tally], object] = lambda queue, tally: None,
    ) -> None:
        self.grace, self.every, self.report = grace, every, report
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="drain")
        self._thread = threading.Thread(target=self.run, name="ticker", daemon=True)
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._under_way: set[Pair] = set()
        self._waiting: list[Pair] = []  # for a thread, in their order

    def start(self) -> None:
        """Tick in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Start no more drains in this process, and wait for those in progress to end."""
        queues.ending.set()
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        self._pool.shutdown()
        queues.crowded.clear()
        call_log.flush()

    def run(self) -> None:
        """Tick until this process has to end; if the database is down, keep asking."""
        is_away = False
        while not queues.ending.is_set():
            try:
                close_old_connections()
                self.tick(timezone.now())
                call_log.flush()
                is_away = False
            except DatabaseError as error:
                if not is_away:
                    log.warning("the database does not answer (%s); asking again", error)
                is_away = True
            except Exception:
                # Without the tick a ring that is lost would be lost for good (I12).
                log.exception("a tick failed; the next one comes all the same")
                connection.close()  # it may be the cause
            self._stopped.wait(self.every)
        connection.close()

    def tick(self, now: datetime) -> int:
        """Start draining what has been due for longer than the grace, as far as threads are free.

        Returns:
            how many pairs of queue and workspace have a due row and no drain.

        Raises:
            DatabaseError: the database did not answer.
        """
        found = set(queues.waiting(now - self.grace)) - lanes.busy(now)
        turns = lanes.turns(now)
        with self._lock:
            others = found - self._under_way
            self._waiting = sorted(others, key=lambda pair: turns.get(pair, LONG_AGO))
            for _ in range(min(len(self._waiting), self._places())):
                self._pool.submit(self._work)
            self._say_whether_crowded()
        return len(found)

    def _work(self) -> None:
        """Drain one queue after the other, with one connection, as long as one waits."""
        while (pair := self._next()) is not None:
            self._drain(pair)
        connection.close()

    def _next(self) -> Pair | None:
        """Take the first queue that waits, of a workspace that has not yet its share of threads."""
        with self._lock:
            taken = Counter(workspace_id for _, workspace_id in self._under_way)
            free = (pair for pair in self._waiting if taken[pair[1]] < OF_ONE)
            pair = None if queues.ending.is_set() else next(free, None)
            if pair is not None:
                self._waiting.remove(pair)
                self._under_way.add(pair)
            self._say_whether_crowded()
        return pair

    def _drain(self, pair: Pair) -> None:
        queue, workspace_id = pair
        tally = Tally()
        try:
            tally = registry.queue(queue).drain(workspace_id, BUDGET)
            if tally.counts:
                self.report(queue, tally)
        except Exception:
            # The rows stay due, so the next tick finds them again.
            log.exception("%s of workspace %s could not be drained", queue, workspace_id)
            connection.close()  # it may be the cause
        finally:
            with self._lock:
                self._under_way.discard(pair)
                if tally.more:
                    self._waiting.append(pair)

    def _places(self) -> int:
        return THREADS - len(self._under_way)

    def _say_whether_crowded(self) -> None:
        """Let the drains of this process know whether more of them wait than there are threads."""
        if len(self._waiting) > self._places():
            queues.crowded.set()
        else:
            queues.crowded.clear()
