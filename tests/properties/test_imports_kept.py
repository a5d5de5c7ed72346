"""An upload is read once: what was read stays beside it until its import ends."""

import json
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from crm_sync.work import queues
from properties.imports.upload import release
from properties.models import Import, LastFeed, Property, Sender
from tests.properties.test_full_feed_guard import FORMATS
from tests.properties.test_imports_job import dies_at
from tests.properties.uploaded import counts, fresh, rows, stock, table, upload, work

State = Import.State
MANY = [f"A{number}" for number in range(7)] + ["bad7", "A8"]

pytestmark = pytest.mark.usefixtures("data_dir")


def beside(row: Import) -> list[Path]:
    """What lies beside the file of an upload."""
    return sorted(row.path.parent.glob(f"{row.stored_as}.*"))


def to_the_end(row: Import) -> Import:
    """Import the rest, one record a slice."""
    while fresh(row).state == State.RUNNING:
        work(row, until=0.0)
    return fresh(row)


def test_it_is_read_once_however_many_slices_it_takes(main, admin_user, monkeypatch):
    row = upload(main, admin_user, table(MANY), released=True)
    monkeypatch.setattr("sys.executable", "/nowhere")  # no process can read a feed any more
    ended = to_the_end(row)
    assert (ended.state, ended.done, counts(ended.report)) == (State.PARTLY, 9, (8, 0, 0, 1))
    assert sorted(stock()) == sorted(r for r in MANY if r != "bad7")


@pytest.mark.parametrize("loss", ["all", "the note", "the lines", "half of the lines", "a word"])
def test_where_it_is_not_there_whole_the_upload_is_read_again(main, admin_user, loss):
    row = upload(main, admin_user, table(MANY), released=True)
    for _ in range(3):
        assert work(row, until=0.0) == "goes on"
    lines, note = beside(row)
    assert {path.stat().st_mode & 0o777 for path in (lines, note)} == {0o600}
    match loss:
        case "all" | "the note" | "the lines":
            for path in {"all": [lines, note], "the note": [note]}.get(loss, [lines]):
                path.unlink()
        case "half of the lines":
            lines.write_bytes(lines.read_bytes()[:200])
        case _:
            note.write_text("once upon a time")
    ended = to_the_end(row)
    assert (ended.state, ended.done, counts(ended.report)) == (State.PARTLY, 9, (8, 0, 0, 1))
    assert ended.report["new"] == [r for r in MANY if r != "bad7"]
    assert len(beside(row)) == 2


def test_what_an_older_version_has_read_is_read_again(main, admin_user):
    row = upload(main, admin_user, table(MANY), released=True)
    _, note = beside(row)
    said = json.loads(note.read_text())
    said["spool"]["count"] = 0  # it would import nothing
    said["read_as"] = "older"
    note.write_text(json.dumps(said))
    assert to_the_end(row).done == 9


def test_nothing_is_left_when_the_import_has_ended(main, admin_user):
    row = upload(main, admin_user, table(MANY), released=True)
    to_the_end(row)
    (row.path.with_name(f"{row.stored_as}.dead.lines")).write_bytes(b"of a worker that died")
    assert work(row) == "file removed"
    assert list(row.path.parent.iterdir()) == []


def test_what_a_worker_left_that_died_while_it_read_goes_with_the_next_one(main, admin_user):
    row = upload(main, admin_user, table(MANY))
    with pytest.raises(SystemExit):
        work(row, clock=dies_at(3))
    left = row.path.with_name(f"{row.stored_as}.dead.lines")
    left.write_bytes(b"A killed process removes nothing.")
    assert work(row, now=fresh(row).lease_until + timedelta(seconds=1)) == "PREVIEWED"
    assert (left.exists(), len(beside(row)), fresh(row).done) == (False, 2, 9)


def test_a_worker_that_has_to_end_while_it_reads_gives_the_upload_back(
    main, admin_user, monkeypatch
):
    monkeypatch.setattr(queues, "ending", threading.Event())
    row = upload(main, admin_user, table(MANY))
    queues.ending.set()
    assert (work(row), fresh(row).state, fresh(row).total) == ("goes on", State.PREVIEWING, None)
    assert (fresh(row).lease_token, fresh(row).attempts, beside(row)) == (None, 0, [])
    queues.ending.clear()
    assert (work(row), fresh(row).total, fresh(row).done) == ("PREVIEWED", 9, 9)


def test_what_other_feeds_brought_between_the_look_and_the_release_counts(main, admin_user):
    """The look says that the record is new; by then it is there, and as the feed has it."""
    content = FORMATS["json"](["R-1", "R-2"]).encode()
    row = upload(main, admin_user, content)
    assert work(row) == "PREVIEWED"
    other = upload(main, admin_user, FORMATS["json"](["R-1"]).encode(), released=True)
    to_the_end(other)
    release(rows(row), actor=admin_user, now=timezone.now())
    ended = to_the_end(row)
    assert (counts(fresh(row).preview), counts(ended.report)) == ((2, 0, 0, 0), (1, 0, 1, 0))


def test_a_feed_lacks_what_it_lacked_at_its_first_record_though_slices_have_changed_that(
    main, admin_user, settings
):
    """Without a sender a feed in another format counts by what both hold, until that moves."""
    settings.FEED_MISSING_SHARE = 0.9
    to_the_end(
        upload(main, admin_user, FORMATS["xml"](["R-1", "R-2", "R-3"]).encode(), released=True)
    )
    row = upload(main, admin_user, FORMATS["json"](["R-1"]).encode(), released=True)
    ended = to_the_end(row)
    assert (ended.state, ended.report["missing"]) == (State.DONE, ["R-2", "R-3"])
    assert set(Property.objects.values_list("object_reference_id", "fed_by")) == {
        ("R-1", "SWISSRETS_JSON"),
        ("R-2", None),
        ("R-3", None),
    }


def test_a_feed_is_known_by_how_it_was_read_and_not_by_what_its_sender_says_since(main, admin_user):
    sender = Sender.objects.create(workspace=main, name="Agency")
    row = upload(main, admin_user, FORMATS["idx"](["R-1"]).encode())
    rows(row).update(sender=sender)
    assert work(row) == "PREVIEWED"
    Sender.objects.update(language="fr")
    release(rows(row), actor=admin_user, now=timezone.now())
    assert to_the_end(row).state == State.DONE
    assert LastFeed.objects.count() == 1
    again = upload(main, admin_user, FORMATS["idx"](["R-1"]).encode())
    rows(again).update(sender=sender)
    assert work(again) == "PREVIEWED"  # not the same: its texts are French now
    assert counts(fresh(again).preview) == (0, 1, 0, 0)


def test_a_look_in_many_slices_says_too_that_the_feed_lacks_much(main, admin_user):
    whole = FORMATS["json"]([f"R-{number}" for number in range(8)]).encode()
    to_the_end(upload(main, admin_user, whole, released=True))
    row = upload(main, admin_user, FORMATS["json"](["R-1", "R-2", "R-3"]).encode())
    while fresh(row).state == State.PREVIEWING:
        work(row, until=0.0)
    assert fresh(row).problem.startswith("it lacks 5 of the 8 properties that the last feed held")
