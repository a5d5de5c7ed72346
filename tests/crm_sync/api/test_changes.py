"""A program follows the changes of its workspace: none is missing, none comes twice (I37)."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from crm_sync import expiry, retention
from crm_sync.integrity import restored
from crm_sync.models import ChangeSequence, ReportedChange, Workspace
from crm_sync.outgoing import outbox, sequence
from crm_sync.outgoing.outbox import Message
from tests.api import Program, error, program
from tests.together import crossing, together

pytestmark = pytest.mark.django_db
KIND = "property.in_sync"
CONCURRENT = pytest.mark.django_db(transaction=True)


@pytest.fixture
def reader(main: Workspace) -> Program:
    return program(main, ["changes:read"])


def report(workspace: Workspace, *names: str, age: timedelta = timedelta()) -> None:
    at = now() - age
    outbox.tell(workspace.pk, [Message(KIND, at, {"reference": one}) for one in names], now=at)


def names(page: dict[str, Any]) -> list[str]:
    return [one["data"]["reference"] for one in page["items"]]


def following(reader: Program, page: dict[str, Any]) -> dict[str, Any]:
    return reader.get(page["next"].partition("/api/v1")[2])


def clean() -> dict[str, int]:
    return expiry.clear({"changes": retention.expired(now())["changes"]}, budget=20.0)


@pytest.mark.rule("I37")
def test_changes_come_in_their_order_and_the_next_address_goes_on(main, reader):
    report(main, *"ABCDE")
    page = reader.get("/changes?limit=2")
    assert [one["number"] for one in page["items"]] == [1, 2]
    first = page["items"][0]
    assert first["type"] == KIND
    assert first["data"] == {"workspace": main.slug, "reference": "A"}
    seen = names(page)
    while page["items"]:
        page = following(reader, page)
        seen += names(page)
    assert seen == list("ABCDE")
    report(main, "F")
    assert names(following(reader, page)) == ["F"]
    assert names(reader.get("/changes?after=3")) == ["D", "E", "F"]
    assert reader.get("/changes?after=6")["items"] == []


def test_a_change_is_there_without_a_subscription_and_is_rolled_back_with_its_cause(main, reader):
    with transaction.atomic():
        report(main, "A")
        transaction.set_rollback(True)
    report(main, "B")
    assert names(reader.get("/changes")) == ["B"]


def test_a_reader_without_news_writes_nothing(main, reader):
    report(main, "A")
    reader.get("/changes")
    with CaptureQueriesContext(connection) as captured:
        assert reader.get("/changes?after=1")["items"] == []
    # The token, the changes, those without a number, the ends.
    assert [one["sql"][:6] for one in captured] == ["SELECT"] * 4


@pytest.mark.rule("S12")
def test_each_workspace_has_a_sequence_of_its_own(main, reader):
    other = Workspace.objects.create(slug="other", base_url="http://other.invalid")
    report(other, "theirs")
    report(main, "ours")
    theirs = program(other, ["changes:read"], name="theirs").get("/changes")
    assert ([one["number"] for one in theirs["items"]], names(theirs)) == ([1], ["theirs"])
    assert names(reader.get("/changes")) == ["ours"]


@pytest.mark.parametrize(
    "query", ["after=", "after=-1", "after=x", "limit=0", "limit=501", "cursor=1"]
)
def test_a_wrong_parameter_is_refused(reader, query):
    name = query.partition("=")[0]
    assert error(reader.call("GET", f"/changes?{query}")) == (400, "invalid", [name])


@pytest.mark.rule("I37")
def test_what_was_removed_unread_is_told_and_not_skipped(main, reader):
    report(main, *"AB", age=timedelta(days=91))
    report(main, *"CD", age=timedelta(days=89))
    assert clean() == {"changes": 6}  # four got a number, two were removed
    for after in (0, 1):
        gone = reader.call("GET", f"/changes?after={after}")
        assert error(gone) == (410, "position_gone", ["after"])
        assert "from 3 to 4" in gone.json()["message"]
    assert names(reader.get("/changes?after=2")) == names(reader.get("/changes")) == ["C", "D"]
    assert clean() == {}


def test_a_change_that_stayed_open_for_long_takes_no_younger_one_with_it_unnoticed(main, reader):
    report(main, "young")
    assert names(reader.get("/changes")) == ["young"]
    report(main, "old", age=timedelta(days=91))  # committed late, with a time of before
    clean()
    assert error(reader.call("GET", "/changes?after=0"))[:2] == (410, "position_gone")
    assert reader.get("/changes?after=2")["items"] == []


def test_a_position_beyond_the_end_is_refused(main, reader):
    report(main, "A")
    assert error(reader.call("GET", "/changes?after=2"))[:2] == (410, "position_gone")
    assert names(reader.get("/changes?after=0")) == ["A"]


@pytest.mark.rule("I37")
def test_after_a_restored_backup_no_old_position_goes_on(main, reader):
    report(main, *"ABC")
    reader.get("/changes")
    lost = 3 + 500  # what the backup does not know any more
    assert restored.begin(main, now())["changes removed"] == 3
    report(main, "D")
    for after in (0, 3, lost):
        assert error(reader.call("GET", f"/changes?after={after}"))[:2] == (410, "position_gone")
    page = reader.get("/changes")
    assert (names(page), page["items"][0]["number"]) == (["D"], 3 + sequence.LEAP + 1)


@contextmanager
def open_transaction(workspace: Workspace, name: str) -> Iterator[None]:
    """Write a change in a transaction of another connection, which is committed at the end."""
    is_written, may_commit = threading.Event(), threading.Event()

    def write() -> None:
        try:
            with transaction.atomic():
                report(workspace, name)
                is_written.set()
                may_commit.wait(20)
        finally:
            connections.close_all()

    thread = threading.Thread(target=write)
    thread.start()
    assert is_written.wait(20)
    try:
        yield
    finally:
        may_commit.set()
        thread.join(20)


@pytest.mark.rule("I37")
@CONCURRENT
def test_a_change_that_was_written_first_and_committed_last_is_read_last(main, reader):
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    with open_transaction(main, "written first"):
        report(main, "committed first")
        page = reader.get("/changes")
        assert names(page) == ["committed first"]
    assert names(following(reader, page)) == ["written first"]
    first, last = ReportedChange.objects.order_by("number")
    assert last.pk < first.pk  # so a reader by the serial would have missed it


@pytest.mark.rule("I37")
@CONCURRENT
def test_readers_at_one_moment_give_each_number_once(main):
    report(main, *(str(n) for n in range(40)))
    tokens = iter([program(main, ["changes:read"], name=str(n)) for n in range(4)])
    pages = together(lambda: names(next(tokens).get("/changes")))
    assert pages == [[str(n) for n in range(40)]] * 4
    assert ChangeSequence.objects.get().last == 40


@pytest.mark.rule("I37")
@CONCURRENT
def test_a_reader_sees_what_another_one_has_numbered_beside_it(main):
    report(main, "one", "two")

    def read() -> list[int]:
        return [one.number for one in sequence.read(main.pk, None, 100)[0]]

    assert crossing(read, read, at='"number" IS NULL') == ([1, 2], [1, 2])


@pytest.mark.rule("I37")
@CONCURRENT
def test_whoever_follows_while_others_write_reads_each_change_once_and_in_one_order(main):
    writers, each, jobs = 3, 15, iter(range(5))

    def work() -> list[int]:
        number = next(jobs)
        if number < writers:
            for n in range(each):
                with transaction.atomic():
                    report(main, f"{number}-{n}")
            return []
        after, seen, end = 0, list[int](), time.monotonic() + 20
        while len(seen) < writers * each and time.monotonic() < end:
            found, after = sequence.read(main.pk, after, 4)
            seen += [one.pk for one in found]
        return seen

    *_, one, other = sorted(together(work, workers=5), key=len)
    assert one == other
    assert len(set(one)) == len(one) == writers * each
