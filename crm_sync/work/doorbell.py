"""The doorbell: sends a worker a message that a row is due. The row says what to do (I12)."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from django.db import transaction

log = logging.getLogger(__name__)

SILENCE = 5.0  # seconds without a ring after one that failed


class _Bulk(threading.local):
    pairs: dict[tuple[str, int], None] | None = None


class Doorbell:
    """Sends a worker a ring that something is due. A ring may get lost: the tick comes anyway.

    It is silent for a few seconds after a failure, since a frozen broker costs a time-out for each
    ring.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bulk = _Bulk()
        self.connect(None)

    def connect(self, publish: Callable[[str, int], object] | None) -> None:
        """Set the function that sends rings; None sends none."""
        self.publish = publish
        self._silent_until = 0.0

    def ring(self, queue: str, workspace_id: int) -> None:
        """Ring after the commit of the current transaction, or at once outside a transaction."""
        transaction.on_commit(lambda: self._ring(queue, workspace_id), robust=True)

    def ring_each(self, queue: str, workspace_ids: Iterable[int]) -> None:
        """Ring once for each of these workspaces."""
        for workspace_id in set(workspace_ids):
            self.ring(queue, workspace_id)

    @contextmanager
    def bulk(self) -> Iterator[None]:
        """Ring once for each queue of a workspace, when this block of this thread ends.

        For work that makes many rows due, one after the other: a message and a turn for each of
        them would cost more than the row. Meanwhile the tick rings.
        """
        if self._bulk.pairs is not None:
            yield
            return
        pairs = self._bulk.pairs = {}
        try:
            yield
        finally:
            self._bulk.pairs = None
            for pair in pairs:
                self._ring(*pair)

    def _ring(self, queue: str, workspace_id: int) -> None:
        if self._bulk.pairs is not None:
            self._bulk.pairs[queue, workspace_id] = None
            return
        if self.publish is None or time.monotonic() < self._silent_until:
            return
        try:
            self.publish(queue, workspace_id)
        except Exception as error:  # noqa: BLE001 - each broker raises its own; none may reach the user
            with self._lock:
                self._silent_until = time.monotonic() + SILENCE
            log.warning("the broker does not answer (%s); the tick rings again", error)


doorbell = Doorbell()  # crm_sync.tasks gives it the Celery task when the app loads
