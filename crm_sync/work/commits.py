"""One UPDATE of a turn, what is inserted with it, and its commit (decision 6).

Threads that write at the same time share a commit. SQLite allows one writer at a time, so waiting
writes share the next transaction and its wait for the disk. On PostgreSQL, writes to the same
columns become one statement, which costs little more than a single write.
"""

import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from django.db import OperationalError, connection, transaction
from django.db.models import Model

from crm_sync import durability
from crm_sync.work import fast_sql
from crm_sync.work.fast_sql import RowUpdate


def update(model: type[Model], change: RowUpdate) -> int:
    """Update one row, and commit in the mode of `durability`; return 1 if it was updated.

    Inside a transaction the caller commits. On PostgreSQL only rows named by their id share a
    statement.
    """
    if (durability.waits() and connection.vendor == "sqlite") or connection.in_atomic_block:
        return _alone(model, change, waits=True)
    if connection.vendor == "sqlite":
        # Each thread makes its own SQL, since the thread that commits holds the only lock.
        write = _Write(model, change, *fast_sql.made(model, change))
        _shared.run(write)
    elif "id" not in change.where:
        return _alone(model, change, waits=durability.waits())
    else:
        write = _Write(model, change)
        _shared_by_form(model, fast_sql.form_of(change), durability.waits()).run(write)
    if write.error is not None:
        raise write.error
    if write.count is None:
        return _alone(model, change, waits=durability.waits())
    return write.count


def _alone(model: type[Model], change: RowUpdate, *, waits: bool) -> int:
    """Make the change in a commit of its own, or in the transaction around it."""
    if not change.beside:
        return fast_sql.update(model, change, waits=waits)
    with transaction.atomic():
        if count := fast_sql.update(model, change, waits=waits):
            _insert([change])
    return count


def _insert(made: Iterable[RowUpdate]) -> None:
    """Insert what goes with these changes, in the transaction that made them."""
    rows: dict[type[Model], list[Any]] = {}
    for change in made:
        for model, columns in change.beside:
            rows.setdefault(model, []).append(columns)
    for model, some in rows.items():
        fast_sql.insert_many(model, some)


def update_each(model: type[Model], changes: Sequence[RowUpdate]) -> set[int]:
    """Make changes, each of another row by its id, with one commit for all of one form.

    Returns:
        the numbers of the changes that were made. PostgreSQL also skips a row that another
        transaction has locked, see `fast_sql.update_unlocked`.
    """
    if connection.vendor == "postgresql":
        alike: dict[fast_sql.Form, list[int]] = {}
        for number, change in enumerate(changes):
            alike.setdefault(fast_sql.form_of(change), []).append(number)
        return {
            numbers[n]
            for numbers in alike.values()
            for n in _update_alike(model, [changes[n] for n in numbers], waits=durability.waits())
        }
    with durability.of_ending(), transaction.atomic():
        if fast_sql.update_many(model, changes) == len(changes):  # the usual case
            _insert(changes)
            return set(range(len(changes)))
        transaction.set_rollback(True)
    with durability.of_ending(), transaction.atomic():
        made = {n for n, change in enumerate(changes) if fast_sql.update(model, change)}
        _insert(changes[n] for n in made)
    return made


def _update_alike(model: type[Model], changes: Sequence[RowUpdate], *, waits: bool) -> set[int]:
    """Make changes of one form in one statement; return the numbers of those that were made."""
    with _transaction_for(changes):
        made = fast_sql.update_unlocked(model, changes, waits=waits)
        _insert(changes[number] for number in made)
    return made


@dataclass(eq=False)
class _Write:
    """One UPDATE.

    Attributes:
        sql, values: the UPDATE, on SQLite.
        count, error: the result. Both remain None if the write has to be tried alone.
        leads: whether its thread commits all waiting writes.
        woken: a lock that is free once the write is over, or once it leads.
    """

    model: type[Model]
    change: RowUpdate
    sql: str = ""
    values: list[Any] = field(default_factory=list)
    leads: bool = False
    count: int | None = None
    error: BaseException | None = None
    woken: threading.Lock = field(default_factory=threading.Lock)


class _Shared:
    """The waiting writes. The first one commits all the others that wait with it.

    Each of the other threads is woken once, when its write is over. With one lock for all, each
    thread would also have to wait for the lock.
    """

    def __init__(self, commit: Callable[[list[_Write]], None]) -> None:
        self._commit = commit
        self._waiting: list[_Write] = []
        self._lock = threading.Lock()
        self._is_led = False

    def run(self, write: _Write) -> None:
        """Commit this write, alone or with others, and set its result.

        Raises:
            BaseException: an error that ended this thread while it committed for others.
        """
        write.woken.acquire()
        with self._lock:
            self._waiting.append(write)
            write.leads, self._is_led = not self._is_led, True
        if not write.leads:
            write.woken.acquire()
        if write.leads:
            self._lead()

    def _lead(self) -> None:
        with self._lock:
            batch, self._waiting = self._waiting, []
        try:
            self._commit(batch)
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


def _in_one_transaction(batch: list[_Write]) -> None:
    try:
        with durability.of_ending(), transaction.atomic():
            counts = [fast_sql.run(one.sql, one.values) for one in batch]
            _insert(one.change for one, count in zip(batch, counts, strict=True) if count)
    except OperationalError as error:  # locked, or disk full: no single row is to blame
        for one in batch:
            one.error = error
    except Exception as error:  # noqa: BLE001 - raised again in the thread that it belongs to
        if len(batch) == 1:
            batch[0].error = error
        else:  # nothing was written; one bad row must not harm the others
            for one in batch:
                _in_one_transaction([one])
    else:
        for one, count in zip(batch, counts, strict=True):
            one.count = count


def _in_one_statement(waits: bool, batch: list[_Write]) -> None:
    changes = [one.change for one in batch]
    try:
        made = _update_alike(batch[0].model, changes, waits=waits)
    except Exception:  # noqa: BLE001 - nothing was written; each thread meets it with its own row
        return
    for number in made:
        batch[number].count = 1


def _transaction_for(changes: Sequence[RowUpdate]) -> AbstractContextManager[Any]:
    """Return a transaction if they need one: one statement is one by itself."""
    return transaction.atomic() if any(one.beside for one in changes) else nullcontext()


_shared = _Shared(_in_one_transaction)


@functools.cache
def _shared_by_form(model: type[Model], form: fast_sql.Form, waits: bool) -> _Shared:
    """Return the shared queue for writes of one form, separate by `waits`."""
    return _Shared(functools.partial(_in_one_statement, waits))
