"""An upload by the worker: looked at, released, imported in slices, cancelled, taken up again."""

import io
import itertools
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone
from openpyxl import Workbook

from crm_sync import hooks, permits
from crm_sync.models import Workspace, due
from crm_sync.work import leases, queues, turn
from properties.domain.editing import create, edit
from properties.feeds import USUAL, Refusal
from properties.imports import job, report as imports_report, upload as imports_upload
from properties.imports.engine import import_feed
from properties.imports.missing_properties import STATE
from properties.imports.report import Excerpt, ImportReport
from properties.models import Change, Import, Property, Sender
from tests.properties.test_feeds_isolation import linux, readers
from tests.properties.test_full_feed_guard import TEN, as_json
from tests.properties.uploaded import (
    claim,
    counts,
    fresh,
    rows,
    stock,
    table,
    texts,
    upload,
    work,
)

State = Import.State
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


pytestmark = pytest.mark.usefixtures("data_dir")


@pytest.fixture
def drain(main):
    """Work on all uploads of the workspace; returns what they came to, by outcome."""
    return lambda: turn.take(hooks.queue("imports"), main.pk, seconds=20.0).counts


def kept(data_dir: Path) -> list[Path]:
    return list((data_dir / "imports").iterdir())


# --- looked at, then imported ---
def test_an_upload_is_looked_at_and_changes_nothing(main, admin_user, drain, data_dir):
    create(main, "A1", {"title": "Old"}, origin="ADMIN", now=timezone.now())
    before = stock()
    row = upload(main, admin_user, table(["A1", "A2", "bad3"]))
    assert drain() == {"PREVIEWED": 1}
    row = fresh(row)
    assert (row.state, row.total, row.done, row.report) == (State.PREVIEWED, 3, 3, {})
    ((position, reference, reasons),) = row.preview.pop("refused")
    assert texts([position, reference, *reasons]) == [
        *("line 4", "bad3"),
        "has 1 cell more than the header",
    ]
    assert row.preview == {
        "counts": {"new": 1, "changed": 1, "unchanged": 0, "refused": 1, "aside": 0}
        | {"warned": 0, "doubles": 0, "missing": 0, "exempt": 0},
        "exempt": [],
        "headlines": {"A2": "House A2"},
        "missing_state": "",
        "doubles": [],
        "warned": [],
        "warnings": [],
        "missing": [],
        "new": ["A2"],
        "changed": [["A1", ["numberOfRooms", "title"]]],
        "differences": [
            ["A1", [["numberOfRooms", "", None, 3], ["title", "", "Old", "House A1"]], 2]
        ],
        "aside": [],
        "profile": asdict(USUAL),
        "seen_at": row.preview["seen_at"],
    }
    assert row.uploaded_at <= datetime.fromisoformat(row.preview["seen_at"]) <= timezone.now()
    assert stock() == before
    assert row.path in kept(data_dir)


def test_what_a_person_releases_is_imported_and_its_file_removed(main, admin_user, drain, data_dir):
    row = upload(main, admin_user, table(["A1", "A2", "bad3"]), released=True)
    assert drain() == {"PARTLY": 1, "file removed": 1}
    row = fresh(row)
    assert (row.state, row.done, row.due_at, row.lease_token) == (State.PARTLY, 3, None, None)
    assert counts(row.report) == (2, 0, 0, 1)
    assert row.ended_at is not None
    assert sorted(stock()) == ["A1", "A2"]
    assert kept(data_dir) == []


@pytest.mark.parametrize(
    ("references", "state"), [(["A1"], State.DONE), (["bad1"], State.FAILED), ([], State.DONE)]
)
def test_the_ending_says_whether_all_were_taken(main, admin_user, drain, references, state):
    row = upload(main, admin_user, table(references), released=True)
    drain()
    assert fresh(row).state == state


@pytest.mark.parametrize("name", ["swissrets.xml", "swissrets.json", "idx/unload.txt"])
def test_every_format_is_taken_whatever_it_is_called(main, admin_user, drain, name):
    content = (EXAMPLES / name).read_bytes()
    row = upload(main, admin_user, content, name="feed", released=True)
    drain()
    assert fresh(row).state == State.DONE
    assert counts(fresh(row).report)[0] == Property.objects.count() > 0


def test_a_workbook_is_taken_though_it_is_kept_without_its_ending(main, admin_user, drain):
    book, content = Workbook(), io.BytesIO()
    for line in (["objectReferenceId", "title"], ["A1", "House"]):
        book.active.append(line)
    book.save(content)
    row = upload(main, admin_user, content.getvalue(), name="stock.xlsx", released=True)
    drain()
    assert (fresh(row).state, sorted(stock())) == (State.DONE, ["A1"])


def test_what_is_no_feed_fails_with_the_name_that_people_know(main, admin_user, drain, data_dir):
    row = upload(main, admin_user, b"once upon a time", name="story.txt")
    assert drain() == {"FAILED": 1, "file removed": 1}
    assert fresh(row).problem == (
        "story.txt: neither SwissRETS (XML, JSON) nor OpenImmo nor IDX nor a table of ours"
    )
    assert kept(data_dir) == []


def test_a_file_that_breaks_off_imports_nothing(main, admin_user, drain):
    content = (EXAMPLES / "swissrets.json").read_bytes()
    row = upload(main, admin_user, content[: len(content) // 2])
    drain()
    assert (fresh(row).state, stock()) == (State.FAILED, {})


def test_texts_that_no_database_keeps_do_no_harm(main, admin_user, drain):
    odd = "x\x00\ud800"
    record = {"id": odd, "referenceId": odd, "unitReferenceId": odd, odd: odd, "categories": [odd]}
    content = json.dumps({"properties": [record], odd: odd}).encode()
    row = upload(main, admin_user, content, name="a\x00b.json")
    drain()
    row = fresh(row)
    assert (row.state, row.name, counts(row.preview)) == (State.PREVIEWED, "ab.json", (0, 0, 0, 1))


def test_a_summary_holds_no_text_that_a_database_cannot_keep():
    refused = [Refusal("line 1\x00", "A\ud8001", ["not \x00this"])]
    report = ImportReport(new=Excerpt(1, 1, ["A\x001"]), refused=Excerpt(1, 1, refused))
    summary = imports_report.added({}, report)
    assert (summary["new"], summary["refused"]) == (["A1"], [["line 1", "A1", ["not this"]]])


def test_the_report_of_a_large_file_is_bounded_and_counts_exactly(main, admin_user, drain):
    many = [f"A{n}" for n in range(250)] + [f"bad{n}" for n in range(1100)]
    row = upload(main, admin_user, table(many))
    drain()
    preview = fresh(row).preview
    assert counts(preview) == (250, 0, 0, 1100)
    assert (len(preview["new"]), len(preview["refused"])) == (200, 1000)


def test_the_file_is_private_and_its_name_cannot_be_guessed(main, admin_user, data_dir):
    row = upload(main, admin_user, table(["A1"]), name="../../etc/passwd")
    assert (row.name, len(row.stored_as), row.path.parent) == ("passwd", 32, data_dir / "imports")
    assert [oct(p.stat().st_mode & 0o777) for p in (row.path, row.path.parent)] == [
        "0o600",
        "0o700",
    ]


def test_a_file_that_nobody_releases_is_given_up_after_a_week(main, admin_user, drain, data_dir):
    row = upload(main, admin_user, table(["A1"]))
    drain()
    assert job.IMPORTS.workspaces(timezone.now() + timedelta(days=6, hours=23)) == set()
    assert work(row, now=timezone.now() + timedelta(days=8)) == "CANCELLED"
    drain()
    assert fresh(row).problem == "Nobody released it for 7 days."
    assert (stock(), kept(data_dir)) == ({}, [])


# --- the process that reads ---
@linux
@pytest.mark.parametrize(
    ("number", "outcome", "problem"),
    [
        (signal.SIGXCPU, "FAILED", "stock.csv: one record takes more than 30 seconds to read"),
        (signal.SIGSEGV, "FAILED", "stock.csv: takes too much memory to read: split it"),
        (
            signal.SIGKILL,
            "put off",
            "stock.csv: the process that reads it ended with -9: see the log",
        ),
    ],
)
def test_a_reader_that_ends_early_ends_the_import_or_puts_it_off(
    main, admin_user, number, outcome, problem
):
    row = upload(main, admin_user, table([f"A{n}" for n in range(5_000)]))

    def clock():
        for reader in readers():
            os.kill(reader, number)
        return timezone.now()

    assert work(row, clock=clock) == outcome
    assert (fresh(row).problem, stock()) == (problem, {})


@linux
def test_an_import_that_is_cancelled_while_it_is_read_leaves_no_reader_behind(main, admin_user):
    row = upload(main, admin_user, table([f"A{n}" for n in range(5_000)]))
    seen = []

    def clock():
        seen.append(readers())
        if seen[-1]:
            imports_upload.cancel(rows(row), now=timezone.now())
        return timezone.now()

    assert work(row, clock=clock) == State.CANCELLED
    assert any(seen)
    assert readers() == []


# --- in slices ---
def test_a_long_import_goes_on_where_the_last_slice_stopped(main, admin_user):
    references = [f"A{n}" for n in range(5)] + ["bad5"]
    row = upload(main, admin_user, table(references), released=True)
    seen = []
    while fresh(row).state == State.RUNNING:
        seen.append((work(row, until=0.0), fresh(row).done, Property.objects.count()))
    assert seen[:3] == [("goes on", 1, 1), ("goes on", 2, 2), ("goes on", 3, 3)]
    assert counts(fresh(row).report) == (5, 0, 0, 1)
    assert fresh(row).report["new"] == references[:5]


def test_a_worker_that_has_to_end_gives_an_import_back_at_once(main, admin_user, monkeypatch):
    monkeypatch.setattr(queues, "ending", threading.Event())
    row = upload(main, admin_user, table(["A1", "A2", "A3"]), released=True)
    queues.ending.set()
    assert (work(row), fresh(row).done) == ("goes on", 1)
    queues.ending.clear()
    assert work(row) == State.DONE
    assert Property.objects.count() == 3


def test_what_a_person_edits_between_two_slices_of_a_table_stays(main, admin_user):
    row = upload(main, admin_user, table(["A1", "A2"]), released=True)
    work(row, until=0.0)
    edit(Property.objects.get(), {"title": "Mine"}, origin="ADMIN", now=timezone.now())
    while fresh(row).state == State.RUNNING:
        work(row, until=0.0)
    assert Property.objects.get(object_reference_id="A1").desired["title"] == "Mine"


def test_what_a_colleague_changes_after_the_preview_is_not_replaced_unseen(main, admin_user, drain):
    for reference in ("A1", "A2"):
        create(main, reference, {"title": "Old"}, origin="ADMIN", now=timezone.now())
    row = upload(main, admin_user, table(["A1", "A2", "A3"]))
    drain()
    mine = Property.objects.get(object_reference_id="A1")
    edit(mine, {"title": "Mine"}, origin="ADMIN", actor=admin_user, now=timezone.now())
    other = Property.objects.get(object_reference_id="A2")
    edit(other, {"numberOfFloors": 2}, origin="ADMIN", actor=admin_user, now=timezone.now())
    imports_upload.release(rows(row), actor=admin_user, now=timezone.now())
    assert drain() == {"PARTLY": 1, "file removed": 1}
    reason = (
        'title: admin changed it after the preview: it is "Mine" now, and the file says'
        ' "House A1". Import the file again to decide'
    )
    ((position, reference, reasons),) = fresh(row).report["refused"]
    assert (texts([position]), reference, texts(reasons)) == (["line 2"], "A1", [reason])
    mine.refresh_from_db()
    assert mine.desired == {"title": "Mine", "objectReferenceId": "A1"}
    other.refresh_from_db()
    assert (other.desired["title"], other.desired["numberOfFloors"]) == ("House A2", 2)
    upload(main, admin_user, table(["A1"]), released=True)
    drain()
    mine.refresh_from_db()
    assert mine.desired["title"] == "House A1"


@contextmanager
def meanwhile(act: Callable[[], object], *, at: str = '"properties_conflict"') -> Iterator[None]:
    """Let somebody act at a SELECT: once a chunk was read, before anything of it is written."""
    waits = True

    def look(execute, sql, *rest):
        nonlocal waits
        if waits and sql.startswith("SELECT") and at in sql:
            waits = False
            act()
        return execute(sql, *rest)

    with connection.execute_wrapper(look):
        yield
    assert not waits


def test_what_a_colleague_changes_after_a_chunk_was_read_stays(main, data_dir):
    """They change another member of the leaf of which the table has a cell."""
    for reference in ("A1", "A2"):
        leaves = {"address": {"locality": "Bern"}}
        create(main, reference, leaves, origin="ADMIN", now=timezone.now())
    path = data_dir / "streets.csv"
    path.write_text("objectReferenceId,address.street\nA1,Markt\nA2,Markt\n")
    second = Property.objects.get(object_reference_id="A2")
    leaves = {"address": {"locality": "Basel"}}
    with meanwhile(lambda: edit(second, leaves, origin="ADMIN", now=timezone.now())):
        report = list(import_feed(main, path, now=timezone.now()))[-1]
    assert report.changed.count == 2
    second.refresh_from_db()
    assert second.desired["address"] == {"locality": "Basel", "street": "Markt"}


def test_what_a_colleague_changes_while_a_released_file_is_imported_is_not_replaced_unseen(
    main, data_dir
):
    for reference in ("A1", "A2"):
        create(main, reference, {"title": "Old"}, origin="ADMIN", now=timezone.now())
    path = data_dir / "stock.csv"
    path.write_bytes(table(["A1", "A2"]))
    second, seen_at = Property.objects.get(object_reference_id="A2"), timezone.now()
    mine = {"title": "Mine"}
    with meanwhile(lambda: edit(second, mine, origin="HTTP_API", note="ERP", now=timezone.now())):
        report = list(import_feed(main, path, now=timezone.now(), seen_at=seen_at))[-1]
    reason = (
        'title: ERP changed it after the preview: it is "Mine" now, and the file says'
        ' "House A2". Import the file again to decide'
    )
    assert [one.reasons for one in report.refused.first] == [[reason]]
    second.refresh_from_db()
    assert second.desired == {"title": "Mine", "objectReferenceId": "A2"}


def test_a_slice_that_is_not_the_last_rings_for_the_next_one(
    main, admin_user, rings, django_capture_on_commit_callbacks
):
    row = upload(main, admin_user, table(["A1", "A2"]), released=True)
    with django_capture_on_commit_callbacks(execute=True):
        work(row, until=0.0)
    assert fresh(row).due_at <= timezone.now()
    assert ("imports", main.pk) in rings


@pytest.mark.django_db(transaction=True)
def test_a_slice_rings_once_for_all_the_properties_that_it_made_due(main, admin_user, rings):
    references = [f"A-{n}" for n in range(4)]
    for title in ("New", "Changed"):
        row = upload(main, admin_user, table(references, title), released=True)
        rings.clear()
        work(row)
        assert rings.count(("properties", main.pk)) == 1


def test_while_it_works_nobody_else_gets_it_however_long_it_takes(main, admin_user):
    row = upload(main, admin_user, table(["A1", "A2", "A3"]), released=True)
    begun = timezone.now()
    ticks = (begun + n * leases.LEASE * 0.75 for n in itertools.count())
    late = []

    def clock():
        now = next(ticks)
        late.append(rows(row).filter(due.free(now)).exists())
        return now

    assert work(row, clock=clock, now=begun) == "DONE"
    assert (len(late) > 3, any(late)) == (True, False)


def test_of_two_released_imports_of_a_workspace_the_first_comes_first(main, admin_user, drain):
    first = upload(main, admin_user, table(["A1", "A2"], "First"), released=True)
    second = upload(main, admin_user, table(["A1", "A2"], "Second"), released=True)
    assert work(first, until=0.0) == "goes on"  # now due later than the second
    drain()
    assert {fresh(row).state for row in (first, second)} == {State.DONE}
    assert {p.desired["title"] for p in Property.objects.all()} == {"Second A1", "Second A2"}


def test_imports_of_two_workspaces_do_not_wait_for_each_other(main, admin_user):
    other = Workspace.objects.create(slug="other", base_url="http://platform.test")
    upload(main, admin_user, table(["A1"]), released=True)
    second = upload(other, admin_user, table(["A1"]), released=True)
    assert job.IMPORTS.workspaces(timezone.now()) == {main.pk, other.pk}
    assert work(second) == "DONE"


# --- a worker that dies, or stands still ---
def dies_at(number: int):
    """A clock that ends the process when it is read for the `number`-th time, lease in hand."""
    readings = itertools.count(1)

    def clock():
        if next(readings) == number:
            raise SystemExit("killed")
        return timezone.now()

    return clock


@pytest.mark.parametrize("kill_at", range(1, 8))
def test_an_import_whose_worker_dies_is_taken_up_again_and_ends_the_same(
    main, admin_user, kill_at, drain
):
    create(main, "A2", {"title": "Old"}, origin="ADMIN", now=timezone.now())
    references = ["A1", "A2", "bad", "A3", "A4"]
    row = upload(main, admin_user, table(references), released=True)
    with pytest.raises(SystemExit):
        work(row, clock=dies_at(kill_at))
    dead = fresh(row)
    assert (dead.state, dead.lease_token is None) == (State.RUNNING, False)
    assert job.IMPORTS.workspaces(timezone.now()) == set()  # until the lease is over
    assert work(row, now=dead.lease_until + timedelta(seconds=1)) == "PARTLY"
    ended = fresh(row)
    assert (ended.done, sum(counts(ended.report)), ended.attempts) == (5, 5, 1)
    titles = {p.object_reference_id: p.desired["title"] for p in Property.objects.all()}
    assert titles == {r: f"House {r}" for r in ("A1", "A2", "A3", "A4")}
    twice = Change.objects.values_list("real_estate_property", "path", "new")
    assert len(twice) == len({tuple(map(str, change)) for change in twice})


@pytest.mark.parametrize("kill_at", range(1, 6))
def test_a_look_whose_worker_dies_is_taken_up_again_and_ends_the_same(main, admin_user, kill_at):
    whole = upload(main, admin_user, table(["A1", "bad", "A2"]))
    work(whole)
    row = upload(main, admin_user, table(["A1", "bad", "A2"]))
    with pytest.raises(SystemExit):
        work(row, clock=dies_at(kill_at))
    assert work(row, now=fresh(row).lease_until + timedelta(seconds=1)) == "PREVIEWED"
    seen_at = fresh(row).preview["seen_at"]
    assert fresh(row).preview == fresh(whole).preview | {"seen_at": seen_at}


def test_a_file_that_kills_every_worker_is_given_up(main, admin_user):
    row = upload(main, admin_user, table(["A1"]), released=True)
    for _ in range(job.MAX_ATTEMPTS):
        until = max(fresh(row).lease_until or fresh(row).due_at, fresh(row).due_at)
        with pytest.raises(SystemExit):
            work(row, clock=dies_at(2), now=until + timedelta(seconds=1))
    until = max(fresh(row).lease_until, fresh(row).due_at)
    assert work(row, now=until + timedelta(seconds=1)) == "FAILED"
    assert fresh(row).problem == "5 workers began this import, and none of them finished it."


def test_a_worker_that_lost_the_row_stops_and_writes_nothing_more(main, admin_user):
    row = upload(main, admin_user, table(["A1", "A2", "A3"]), released=True)
    stalled = claim(row)
    assert work(row, now=stalled.until + timedelta(seconds=1)) == "DONE"
    before = rows(row).values().get()
    with pytest.raises(leases.LeaseLost):
        job.work(stalled, until=float("inf"))
    assert rows(row).values().get() == before


@pytest.mark.rule("I1")
def test_a_worker_that_stalls_in_a_chunk_replaces_nothing_of_a_later_import(main, admin_user):
    create(main, "A1", {"title": "Old"}, origin="ADMIN", now=timezone.now())
    row = upload(main, admin_user, table(["A1"], title="First"), released=True)
    stalled = claim(row)

    def others_go_on():
        assert work(row, now=stalled.until + timedelta(seconds=1)) == "DONE"
        work(upload(main, admin_user, table(["A1"], title="Second"), released=True))

    with meanwhile(others_go_on), pytest.raises(leases.LeaseLost):
        job.work(stalled, until=float("inf"))
    assert Property.objects.get().desired["title"] == "Second A1"


@pytest.mark.rule("I1")
def test_a_worker_that_stalls_after_its_feed_sets_no_state_of_what_a_later_feed_has(
    main, admin_user
):
    policy = {"missing": Sender.Missing.SET_STATE, "missing_state": "TAKEN"}
    boss = Sender.objects.create(workspace=main, name="Boss", **policy)

    def feed(references):
        content = as_json(references).encode()
        return upload(main, admin_user, content, sender=boss, released=True)

    assert work(feed(TEN)) == "DONE"
    row = feed(TEN[:9])
    stalled = claim(row)

    def others_go_on():
        assert work(row, now=stalled.until + timedelta(seconds=1)) == "DONE"
        assert work(feed(TEN)) == "DONE"

    never = job.SliceLimits(save=60.0)
    with meanwhile(others_go_on, at='"crm_sync_hold"'), pytest.raises(leases.LeaseLost):
        job.work(stalled, until=float("inf"), limits=never)
    assert Property.objects.get(object_reference_id=TEN[9]).desired[STATE] == "ACTIVE"


def test_a_file_that_is_not_there_is_looked_for_again_and_then_given_up(main, admin_user):
    row = upload(main, admin_user, table(["A1"]))
    row.path.rename(row.path.with_suffix(".away"))
    assert work(row) == "put off"
    assert fresh(row).due_at > timezone.now()
    row.path.with_suffix(".away").rename(row.path)
    later = timezone.now() + timedelta(hours=1)
    assert work(row, now=later) == "PREVIEWED"
    assert (fresh(row).problem, fresh(row).attempts) == ("", 0)


# --- cancelled ---
def cancel(row) -> int:
    return imports_upload.cancel(rows(row), now=timezone.now())


def test_a_running_import_stops_at_the_next_record_and_what_was_imported_stays(main, admin_user):
    row = upload(main, admin_user, table(["A1", "A2", "A3", "A4"]), released=True)
    readings = itertools.count(1)

    def clock():
        if next(readings) == 3:  # after the second record; they were read for the preview
            assert cancel(row) == 1
        return timezone.now()

    assert work(row, clock=clock) == "CANCELLED"
    ended = fresh(row)
    assert (ended.state, ended.done, counts(ended.report)) == (State.CANCELLED, 2, (2, 0, 0, 0))
    assert sorted(stock()) == ["A1", "A2"]


def test_an_upload_that_nobody_works_on_is_cancelled_at_once(main, admin_user, drain, data_dir):
    looked, released = upload(main, admin_user, table(["A1"])), upload(main, admin_user, b"x")
    drain()
    for row in (looked, upload(main, admin_user, table(["A1"]), released=True)):
        assert cancel(row) == 1
        assert fresh(row).state == State.CANCELLED
    assert cancel(released) == 0
    assert fresh(released).state == State.FAILED
    drain()
    assert (stock(), kept(data_dir)) == ({}, [])


def test_what_a_dead_worker_held_is_cancelled_by_the_next_one(main, admin_user):
    row = upload(main, admin_user, table(["A1", "A2"]), released=True)
    held = claim(row)
    assert (cancel(row), fresh(row).state) == (1, State.RUNNING)
    assert work(row, now=held.until + timedelta(seconds=1)) == "CANCELLED"


def test_only_what_was_looked_at_can_be_released_and_only_once(main, admin_user, drain):
    row = upload(main, admin_user, table(["A1"]))
    release = {"actor": admin_user, "now": timezone.now()}
    assert imports_upload.release(rows(row), **release) == 0
    drain()
    assert imports_upload.release(rows(row), **release) == 1
    assert imports_upload.release(rows(row), **release) == 0
    drain()
    assert imports_upload.release(rows(row), **release) == 0
    assert (fresh(row).state, fresh(row).released_by) == (State.DONE, admin_user)


def test_few_imports_of_a_process_are_under_way_and_what_finds_no_room_comes_again(
    main, admin_user, drain, monkeypatch
):
    row = upload(main, admin_user, table(["A1"]))
    monkeypatch.setattr(job, "_line", threading.BoundedSemaphore(1))
    with job._place() as is_free:
        assert is_free
        before = timezone.now()
        assert drain() == {"no room": 1}
    row = fresh(row)
    assert (row.state, row.lease_token, row.attempts) == (State.PREVIEWING, None, 0)
    assert before < row.due_at < before + timedelta(seconds=10)
    Import.objects.update(due_at=timezone.now())
    assert drain() == {"PREVIEWED": 1}


@pytest.mark.django_db(transaction=True)
def test_an_import_that_waits_for_its_place_lets_others_work(monkeypatch):
    monkeypatch.setattr(job, "_places", threading.BoundedSemaphore(1))
    begun, ends = threading.Event(), threading.Event()

    def first() -> None:
        with permits.held(), job._place():
            begun.set()
            assert ends.wait(30)

    def second() -> None:
        with permits.held(), job._place() as is_free:
            assert is_free

    threads = [threading.Thread(target=one) for one in (first, *[second] * 3)]
    for thread in threads:
        thread.start()
    assert begun.wait(30)
    with ExitStack() as others:
        for _ in range(permits.PERMITS - 1):  # all but that of the import under way
            others.enter_context(permits.held())
    ends.set()
    for thread in threads:
        thread.join(30)
