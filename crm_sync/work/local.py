"""Turns without a broker: a message is a call in a thread pool of this process."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import DatabaseError, connection
from django.utils import timezone

from crm_sync import hooks, permits
from crm_sync.models import Heartbeat
from crm_sync.work import heartbeat, queues, turn
from crm_sync.work.doorbell import doorbell
from crm_sync.work.leases import Tally

log = logging.getLogger(__name__)

EVERY = 1.0  # seconds between two searches for due rows
THREADS = 64


class Local:
    """Runs turns in threads of this process until the process ends.

    Args:
        report: called after each turn that handled a row, in its thread.
    """

    def __init__(
        self, *, report: Callable[[str, Tally], object] = lambda queue, tally: None
    ) -> None:
        self.report = report
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="turn")
        self._lock = threading.Lock()
        self._waiting: set[tuple[str, int]] = set()

    def run(self) -> None:
        """Ring for all due rows each second, and try again if the database is down."""
        doorbell.connect(self.publish)
        is_away = False
        while not queues.ending.is_set():
            try:
                heartbeat.beat(Heartbeat.Kind.TICK, "tick", timezone.now())
                for pair in turn.waiting(timezone.now()):
                    self.publish(*pair)
                is_away = False
            except DatabaseError as error:
                if not is_away:
                    log.warning("the database does not answer (%s); asking again", error)
                is_away = True
                connection.close()
            queues.ending.wait(EVERY)
        doorbell.connect(None)
        self._pool.shutdown()

    def publish(self, queue: str, workspace_id: int) -> None:
        """Start a turn in a thread, unless one is already waiting for a thread."""
        with self._lock:
            if (queue, workspace_id) in self._waiting or queues.ending.is_set():
                return
            self._waiting.add((queue, workspace_id))
        self._pool.submit(self._take, queue, workspace_id)

    def _take(self, queue: str, workspace_id: int) -> None:
        try:
            with permits.held():
                with self._lock:
                    self._waiting.discard((queue, workspace_id))
                tally = turn.take(hooks.queue(queue), workspace_id)
            if tally.counts:
                self.report(queue, tally)
        except Exception:
            # The rows stay due, so the next search finds them again.
            log.exception("%s of workspace %s: a turn failed", queue, workspace_id)
            connection.close()  # it may be the cause
