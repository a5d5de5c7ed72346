"""Threads that write at one time share a commit, and each learns what became of its own write."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from django.utils.timezone import now

from crm_sync import durability
from crm_sync.models import ReportedChange, Workspace
from crm_sync.outgoing import outbox
from crm_sync.work import commits
from crm_sync.work.fast_sql import RowUpdate

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 30  # seconds


def make(count: int) -> list[Workspace]:
    return [
        Workspace.objects.create(slug=f"w-{n}", base_url="https://x.test") for n in range(count)
    ]


def write(workspace: Workspace, new: str, **where: object) -> Callable[[], int]:
    change = RowUpdate({"slug": new}, {"id": workspace.pk, **where})
    return lambda: commits.update(Workspace, change)


@contextmanager
def nobody_else_writes() -> Iterator[None]:
    """Hold SQLite's only write lock, so that what comes meanwhile has to wait."""
    with transaction.atomic():
        yield
        time.sleep(0.3)


def turns(writes: list[Callable[[], int]], *, seconds: float | None = None) -> list[object]:
    """Run each write in a turn of its own; its count, or the type of its error."""
    results: list[object] = [None] * len(writes)

    def run(number: int) -> None:
        try:
            if seconds is not None and connection.vendor == "sqlite":
                connection.ensure_connection()
                connection.connection.execute(f"PRAGMA busy_timeout={int(seconds * 1000)}")
            with durability.working():
                results[number] = writes[number]()
        except Exception as error:  # noqa: BLE001 - the result is what the test asks for
            results[number] = type(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(len(writes))]
    with nobody_else_writes():
        for thread in threads:
            thread.start()
        if seconds is not None:
            for thread in threads:
                thread.join(PATIENCE)
    for thread in threads:
        thread.join(PATIENCE)
    return results


def slugs() -> list[str]:
    return list(Workspace.objects.order_by("pk").values_list("slug", flat=True))


def test_each_write_is_told_whether_its_row_was_there():
    rows = make(12)
    writes = [
        write(row, f"new-{n}", slug=f"w-{n}" if n % 3 else "another") for n, row in enumerate(rows)
    ]
    assert turns(writes) == [1 if n % 3 else 0 for n in range(12)]
    assert slugs() == [f"new-{n}" if n % 3 else f"w-{n}" for n in range(12)]


def test_the_error_of_one_write_harms_no_other():
    rows = make(12)
    there = Workspace.objects.create(slug="there", base_url="https://x.test")
    new = {3: "there", 7: "half a pair: \ud800"}
    writes = [write(row, new.get(n, f"new-{n}")) for n, row in enumerate(rows)]
    wrong = {3: IntegrityError, 7: UnicodeEncodeError}
    assert turns(writes) == [wrong.get(n, 1) for n in range(12)]
    assert slugs() == [f"w-{n}" if n in new else f"new-{n}" for n in range(12)] + [there.slug]


def test_writes_of_one_row_count_one_after_the_other():
    (row,) = make(1)
    writes = [write(row, f"new-{n}", slug="w-0") for n in range(8)]
    assert sorted(map(str, turns(writes))) == ["0"] * 7 + ["1"]
    assert slugs() != ["w-0"]


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has no locks of rows")
def test_a_row_that_another_transaction_holds_keeps_only_its_own_write_waiting():
    rows = make(6)
    results: list[int] = []
    done = threading.Semaphore(0)

    def run(number: int) -> None:
        try:
            with durability.working():
                write(rows[number], f"new-{number}")()
            results.append(number)
        finally:
            connection.close()
            done.release()

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(6)]
    with transaction.atomic():
        Workspace.objects.filter(pk=rows[0].pk).update(slug="held")
        for thread in threads:
            thread.start()
        for _ in range(5):
            assert done.acquire(timeout=PATIENCE)
        assert sorted(results) == [1, 2, 3, 4, 5]
    for thread in threads:
        thread.join(PATIENCE)
    assert slugs() == [f"new-{n}" for n in range(6)]


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="one lock for all is SQLite's")
def test_a_database_that_stays_locked_is_told_to_all_and_nothing_is_written():
    rows = make(6)
    assert turns([write(row, f"new-{n}") for n, row in enumerate(rows)], seconds=0.1) == (
        [OperationalError] * 6
    )
    assert slugs() == [f"w-{n}" for n in range(6)]


def test_a_write_in_a_transaction_is_committed_with_it():
    (row,) = make(1)

    def undone() -> int:
        with transaction.atomic():
            count = write(row, "new")()
            transaction.set_rollback(True)
        return count

    assert turns([undone]) == [1]
    assert slugs() == ["w-0"]


def test_what_turns_commit_leaves_the_connection_as_it_was():
    (row,) = make(1)
    found = []

    def both() -> int:
        write(row, "new")()
        found.append(how())
        with durability.durable():
            found.append(how())
            count = write(row, "newer")()
            found.append(how())
        found.append(how())
        return count

    def how() -> object:
        is_sqlite = connection.vendor == "sqlite"
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous" if is_sqlite else "SHOW synchronous_commit")
            return cursor.fetchone()[0]

    assert turns([both]) == [1]
    assert found == [2 if connection.vendor == "sqlite" else "on"] * 4


def with_change(workspace: Workspace, name: str, **where: object) -> Callable[[], int]:
    """A write, and the change that tells of it."""
    message = outbox.Message("property.in_sync", now(), {"reference": name})
    beside = [outbox.change(workspace.pk, message, now=now())]
    change = RowUpdate({"slug": name}, {"id": workspace.pk, **where}, beside=beside)
    return lambda: commits.update(Workspace, change)


def told() -> list[tuple[int, str]]:
    rows = ReportedChange.objects.order_by("workspace_id", "pk")
    return list(rows.values_list("workspace_id", "data__reference"))


@pytest.mark.rule("I37")
def test_what_goes_with_a_write_is_there_if_the_write_was_made_and_otherwise_not():
    rows = make(12)
    writes = [
        with_change(row, f"new-{n}", slug=f"w-{n}" if n % 3 else "another")
        for n, row in enumerate(rows)
    ]
    assert turns(writes) == [1 if n % 3 else 0 for n in range(12)]
    assert told() == [(row.pk, f"new-{n}") for n, row in enumerate(rows) if n % 3]


@pytest.mark.rule("I37")
def test_what_goes_with_a_write_that_fails_is_not_there_and_that_of_others_is_once():
    rows = make(12)
    Workspace.objects.create(slug="there", base_url="https://x.test")
    writes = [with_change(row, "there" if n == 3 else f"new-{n}") for n, row in enumerate(rows)]
    assert turns(writes) == [IntegrityError if n == 3 else 1 for n in range(12)]
    assert told() == [(row.pk, f"new-{n}") for n, row in enumerate(rows) if n != 3]


@pytest.mark.rule("I37")
@pytest.mark.parametrize("where", ["alone", "durable", "in a transaction", "rolled back"])
def test_what_goes_with_a_write_is_committed_with_it(where):
    (row,) = make(1)

    def run() -> int:
        with ExitStack() as around:
            if where == "durable":
                around.enter_context(durability.durable())
            elif where != "alone":
                around.enter_context(transaction.atomic())
            count = with_change(row, "new")()
            if where == "rolled back":
                transaction.set_rollback(True)
        return count

    assert turns([run]) == [1]
    assert told() == ([] if where == "rolled back" else [(row.pk, "new")])
