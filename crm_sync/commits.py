"""One UPDATE of a crew's thread, and the commit that it needs (docs/decisions/0006).

On SQLite one write goes at a time, so those that wait for their turn share the next commit, and
the wait for the disk. On PostgreSQL many commit at once, and a commit that nobody waits for leaves
the disk to a later one.
"""

import threading
from dataclasses import dataclass, field
from typing import Any

from django.db import OperationalError, connection, transaction
from django.db.models import Model

from crm_sync import durability, statements
from crm_sync.statements import Change

# Last in a condition: it is set once a row is found, and for this one transaction.
_NOT_WAITED_FOR = "set_config('synchronous_commit', 'off', true) = 'off'"


def update(model: type[Model], change: Change) -> int:
    """Make one change, and commit it as `durability` says; in how many rows that is.

    Inside a transaction the commit is the caller's.
    """
    if not durability.is_crew() or connection.in_atomic_block:
        return statements.update(model, change)
    sql, values = statements.made(model, change)
    if connection.vendor == "sqlite":
        return _shared.run(_Write(sql, values))
    if not durability.waits():
        sql = f"{sql} AND {_NOT_WAITED_FOR}"
    return statements.run(sql, values)


@dataclass(eq=False)
class _Write:
    """One UPDATE; `count` or `error` is there once it is over.

    Attributes:
        leads: its thread commits what waits now.
        woken: free once it is over, or once it leads.
    """

    sql: str
    values: list[Any]
    leads: bool = False
    count: int | None = None
    error: BaseException | None = None
    woken: threading.Lock = field(default_factory=threading.Lock)


class _Shared:
    """The writes that wait for their turn; the first of them commits all that wait with it.

    Each of the others is woken once, when it is over: to take turns at one lock would cost each
    thread a switch, and the whole crew would stand in that line.
    """

    def __init__(self) -> None:
        self._waiting: list[_Write] = []
        self._lock = threading.Lock()
        self._is_led = False

    def run(self, write: _Write) -> int:
        """Commit this write, alone or with others; in how many rows that is.

        Raises:
            BaseException: what the database said of this write, or what ended the thread that
                committed for it.
        """
        write.woken.acquire()
        with self._lock:
            self._waiting.append(write)
            write.leads, self._is_led = not self._is_led, True
        if not write.leads:
            write.woken.acquire()
        if write.leads:
            self._lead()
        if write.count is None:
            raise write.error or RuntimeError("its commit was never tried")
        return write.count

    def _lead(self) -> None:
        with self._lock:
            batch, self._waiting = self._waiting, []
        try:
            _commit(batch)
        except BaseException as error:
            for one in batch:
                one.error = error
            raise
        finally:
            with self._lock:
                following = self._waiting[:1]
                self._is_led = bool(following)
            for one in following:
                one.leads = True
            for one in (*following, *batch):
                one.woken.release()


def _commit(batch: list[_Write]) -> None:
    try:
        with transaction.atomic():
            counts = [statements.run(one.sql, one.values) for one in batch]
    except OperationalError as error:  # locked or full: that is nothing of one row
        for one in batch:
            one.error = error
    except Exception as error:  # noqa: BLE001 - raised again in the thread that it belongs to
        if len(batch) == 1:
            batch[0].error = error
        else:  # nothing of it was written; the others must not suffer from one of them
            for one in batch:
                _commit([one])
    else:
        for one, count in zip(batch, counts, strict=True):
            one.count = count


_shared = _Shared()
