"""A full feed that is as the last one of its sender is told before it is read."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
import time_machine
from django.urls import reverse

from properties.imports.engine import import_feed
from properties.imports.feed_digest import unchanged_since
from properties.models import Import, LastFeed, Property, Sender
from tests.properties.test_commands import run
from tests.properties.test_full_feed_guard import FORMATS, TEN
from tests.properties.uploaded import fresh, rows, upload, work

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAME = (
    "nothing has changed: the same feed was imported on 2026-03-01 12:00 UTC;"
    " --force reads it all the same\n"
)


@pytest.fixture
def feed(tmp_path) -> Path:
    path = tmp_path / "feed"
    path.write_text(FORMATS["json"](TEN))
    return path


@pytest.fixture
def load(capsys, feed):
    with time_machine.travel(NOON, tick=False):
        yield lambda *options: run(capsys, "import_properties", "main", feed, *options)


def test_the_same_feed_is_told_and_read_only_when_asked(main, load, feed):
    assert load()[0] == 0
    assert load()[:2] == (0, SAME)
    assert load("--dry-run")[:2] == (0, SAME)
    told = json.loads(load("--json")[1])
    assert (told["unchanged_since"], told["counts"]["unchanged"]) == (NOON.isoformat(), 0)
    assert load("--force")[1] == "imported: 0 new, 0 changed, 10 unchanged, 0 refused\n"


def test_it_is_told_without_being_read(main, load, feed, monkeypatch):
    load()
    monkeypatch.setattr("sys.executable", "/nowhere")  # no process can read a feed any more
    assert load()[:2] == (0, SAME)
    with pytest.raises(FileNotFoundError):
        load("--force")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda feed: feed.write_text(FORMATS["json"](TEN[:9])), id="another feed"),
        pytest.param(lambda feed: LastFeed.objects.update(read_as="x"), id="another reader"),
    ],
)
def test_another_feed_and_another_reader_are_read(main, load, feed, change):
    load()
    change(feed)
    assert "unchanged, 0 refused" in load()[1]
    assert load()[1] == SAME


def test_another_profile_and_another_sender_are_read(main, load, feed):
    agency = Sender.objects.create(workspace=main, name="Agency")
    Sender.objects.create(workspace=main, name="Other")
    load("--sender", "Agency")
    assert load("--sender", "Agency")[1] == SAME
    Sender.objects.filter(pk=agency.pk).update(language="fr")
    assert load("--sender", "Agency")[1] != SAME
    assert load("--sender", "Agency")[1] == SAME
    assert load("--sender", "Other")[1] != SAME


@pytest.mark.parametrize("broken", ["a refused record", "a feed that lacks too much", "a dry run"])
def test_what_was_not_imported_whole_is_read_again(main, load, feed, broken):
    load()
    options: tuple[str, ...] = ()
    if broken == "a refused record":
        content = json.loads(FORMATS["json"](TEN))
        content["properties"][0] |= {"referenceId": "", "id": ""}
        feed.write_text(json.dumps(content))
    elif broken == "a feed that lacks too much":
        feed.write_text(FORMATS["json"](TEN[:2]))
    else:
        feed.write_text(FORMATS["json"](TEN[:9]))
        options = ("--dry-run",)
    assert load(*options)[1] != SAME
    assert load(*options)[1] != SAME


def test_an_import_that_ends_in_the_middle_leaves_no_last_feed(main, load, feed):
    load()
    before = feed.read_text()
    feed.write_text(FORMATS["json"](["NEW", *TEN]))
    steps = import_feed(main, feed, now=NOON)
    for report in steps:
        if report.handled:
            break
    steps.close()
    feed.write_text(before)
    assert unchanged_since(main, feed, None) is None


def test_a_table_is_an_edit_each_time(main, feed, capsys):
    feed.write_text("objectReferenceId,title\nA1,One\n")
    for _ in range(2):
        run(capsys, "import_properties", "main", feed)
        Property.objects.update(desired={"objectReferenceId": "A1", "title": "Two"})
    out = run(capsys, "import_properties", "main", feed)[1]
    assert out.endswith("imported: 0 new, 1 changed, 0 unchanged, 0 refused\n")
    assert not LastFeed.objects.exists()


def test_an_upload_of_the_same_feed_ends_with_a_word_and_without_a_release(
    main, load, feed, admin_user, admin_client, settings, tmp_path
):
    settings.DATA_DIR = tmp_path / "data"
    load()
    row = upload(main, admin_user, feed.read_bytes(), name="stock.json")
    assert work(row) == Import.State.UNCHANGED
    assert fresh(row).problem == "The same feed was imported on Sun 1 Mar 2026, 12:00 UTC"
    page = admin_client.get(reverse("admin:properties_import_change", args=[row.pk]))
    assert "there was nothing to do" in page.content.decode()
    forced = upload(main, admin_user, feed.read_bytes(), name="stock.json")
    rows(forced).update(force=True)
    while fresh(forced).state == Import.State.PREVIEWING:
        work(forced)
    assert fresh(forced).state == Import.State.PREVIEWED
    shutil.rmtree(settings.DATA_DIR)
