"""The tick: each worker looks every two seconds for what is due, and does it itself.

A ring over the broker is quicker, but may be lost, late, or behind many others. The tick asks only
the database and works in threads of its own, so neither a broker that is away nor a backlog of
another workspace delays it (I12).
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from django.db import DatabaseError, close_old_connections, connection
from django.utils import timezone

from crm_sync import due, lanes, queues
from crm_sync.due import Tally

log = logging.getLogger(__name__)

EVERY = 2.0  # seconds between two looks
GRACE = timedelta(seconds=1)  # for the ring to come first
THREADS = 16  # drains of one process at one time
OF_ONE = 4  # of these for one workspace, so that others find a place beside it
BUDGET = 20.0  # seconds of one drain; a lease and a broker's visibility time-out are longer
TURN = 1.0  # seconds of one drain while more wait than there are places

Pair = tuple[str, int]  # a queue, and the id of a workspace


class Ticker:
    """Finds what is due and drains it, those first whose turn was longest ago.

    Args:
        grace: how long what is due is left to its ring.
        told: is told of each drain that did something; in the drain's thread.
    """

    def __init__(
        self,
        *,
        grace: timedelta = GRACE,
        every: float = EVERY,
        told: Callable[[str, Tally], object] = lambda queue, tally: None,
    ) -> None:
        self.grace, self.every, self.told = grace, every, told
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="drain")
        self._thread = threading.Thread(target=self.run, name="ticker", daemon=True)
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._under_way: set[Pair] = set()
        self._begun: dict[Pair, float] = {}
        self._waiting: list[Pair] = []  # what the last tick found, in its turn, and has no place
        self._budget = BUDGET

    def start(self) -> None:
        """Tick in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Begin nothing more in this process, and wait for what is under way to end."""
        queues.ending.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        self._pool.shutdown()

    def run(self) -> None:
        """Tick until this process is to end; a database that is away is waited for."""
        is_away = False
        while not queues.ending.is_set():
            self._wake.clear()
            try:
                close_old_connections()
                self.tick(timezone.now())
                is_away = False
            except DatabaseError as error:
                if not is_away:
                    log.warning("the database does not answer (%s); asking again", error)
                is_away = True
            self._wake.wait(self.every)
        connection.close()

    def tick(self, now: datetime) -> int:
        """Begin to drain what has been due for longer than the grace, as far as threads are free.

        Returns:
            how many queues of workspaces have something due that nobody is at.

        Raises:
            DatabaseError: the database did not answer.
        """
        found = set(due.waiting(now - self.grace)) - lanes.busy(now)
        with self._lock:
            self._begun = {pair: at for pair, at in self._begun.items() if pair in found}
            places = THREADS - len(self._under_way)
            others = found - self._under_way
            self._budget = BUDGET if len(others) <= places else TURN
            self._waiting = sorted(others, key=lambda one: self._begun.get(one, 0.0))
            self._begin()
        return len(found)

    def _begin(self) -> None:
        """Give the free places to those whose turn was longest ago, none above its share."""
        taken = Counter(workspace_id for _, workspace_id in self._under_way)
        left: list[Pair] = []
        for pair in self._waiting:
            if len(self._under_way) < THREADS and taken[pair[1]] < OF_ONE:
                taken[pair[1]] += 1
                self._under_way.add(pair)
                self._begun[pair] = time.monotonic()
                self._pool.submit(self._drain, pair, self._budget)
            else:
                left.append(pair)
        self._waiting = left

    def _drain(self, pair: Pair, budget: float) -> None:
        queue, workspace_id = pair
        more = False
        try:
            tally = due.QUEUES[queue].drain(workspace_id, budget)
            more = tally.more
            if tally.counts:
                self.told(queue, tally)
        except Exception:
            # The rows stay due, so the next tick comes back to them.
            log.exception("%s of workspace %s could not be drained", queue, workspace_id)
        finally:
            connection.close()
            with self._lock:
                self._under_way.discard(pair)
                is_full = len(self._under_way) == THREADS - 1
                # A look at all workspaces for each place would cost more than most drains.
                if self._waiting and not queues.ending.is_set():
                    self._begin()
                elif more or is_full:
                    self._wake.set()  # others may wait for this place
