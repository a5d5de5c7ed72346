"""An installation of each release so far goes on with the product of today."""

import re
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils.timezone import now
from django_celery_beat.models import PeriodicTask

from crm_sync import __version__
from crm_sync.inbox.failure_groups import worded
from crm_sync.models import Hold, ReceivedEvent, Workspace
from orders.models import Material, Placement, StatusChange, Target, TargetFile
from properties.domain import undo_steps
from properties.domain.change_selection import ChangeSelection
from properties.models import DriftCheck, Property, Recurring, Walk
from properties.models.match_columns import keys_of
from properties.models.search_column import text_of
from sandbox.state.workspace import Workspace as PlatformState
from tests.roles import addresses, lists_and_forms
from tests.upgrades.conftest import ODD
from tests.upgrades.dumps import ROOT, Dump, digest, keys, releases, secrets, tables_of_ours

# Tables that only said who works, or was tried last.
GONE = {"crm_sync_lane", "properties_turn"}


def test_no_row_and_no_secret_is_lost_and_the_audit_finds_nothing(upgrade):
    after = keys()
    kept = upgrade.keys.keys() - GONE
    lost = {table: upgrade.keys[table] - after.get(table, set()) for table in kept}
    assert {table: rows for table, rows in lost.items() if rows} == {}
    assert secrets() == upgrade.dump.beside["secrets"]
    call_command("audit", stdout=StringIO())


def test_each_property_has_its_words_and_its_keys(upgrade):
    rows = Property.objects.all()
    assert {row.search == text_of(row) for row in rows} == {True}
    names = ("address_key", "is24_key", "unit_key")
    assert [{name: getattr(row, name) for name in names} for row in rows] == [
        dict.fromkeys(names) | keys_of(row.desired) for row in rows
    ]


@pytest.mark.rule("I34")
def test_no_workspace_from_before_begins_in_watch_only(upgrade):
    assert Workspace.objects.exists()
    assert not Hold.objects.exists()


def test_what_had_a_schedule_is_a_row_that_is_due_as_long_after_the_last_time(upgrade):
    hour, day = timedelta(hours=1), timedelta(hours=24)
    checks = DriftCheck.objects.filter(finished_at__isnull=False)
    expected = {
        "PULL": Walk.objects.latest("finished_at").finished_at + hour,
        "SAMPLE": checks.filter(kind="SAMPLE").latest("started_at").started_at + hour,
        "SWEEP": checks.filter(kind="SWEEP").latest("started_at").started_at + day,
    }
    assert dict(Recurring.objects.values_list("kind", "due_at")) == expected
    assert not PeriodicTask.objects.filter(task__startswith="properties.").exists()


def test_what_was_due_is_settled_with_the_platform(upgrade, box, drain_all):
    box.workspace = PlatformState.from_json(upgrade.dump.beside["platform"])
    there = len(box.workspace.orders)
    drain_all()
    # What a release left to a person still waits for one.
    states = Property.objects.with_state(now()).values_list("sync_state", flat=True)
    assert set(states) == {"IN_SYNC", "CONFLICT"}
    assert not ReceivedEvent.objects.filter(state__in=("RECEIVED", "FAILED")).exists()
    assert set(Placement.objects.values_list("state", flat=True)) == {
        "PLACED",
        "UNCERTAIN",
        "DRAFT",
    }
    assert len(box.workspace.orders) == there + 1
    call_command("drift", "main", stdout=StringIO())
    call_command("audit", stdout=StringIO())


def test_the_cause_of_an_older_stuck_event_is_shown_as_it_was_written(upgrade):
    stuck = ReceivedEvent.objects.get(pk=upgrade.odd)
    assert (stuck.problem_kind, worded(stuck.problem_kind, stuck.cause)) == ("OTHER", ODD)
    assert set(
        ReceivedEvent.objects.exclude(pk=upgrade.odd).values_list("problem_kind", flat=True)
    ) == {""}


def test_the_lines_of_older_timelines_become_values(upgrade):
    after = {line.pk: line for line in StatusChange.objects.all()}
    facts = set()
    for key, (fact, source, *texts) in upgrade.timelines.items():
        line = after[key]
        pairs = [(line.previous, line.previous_name), (line.new, line.new_name)]
        facts.add((fact, source))
        for text, (value, name) in zip(texts, pairs, strict=True):
            if fact == "APPOINTMENT" and text:
                moment = datetime.strptime(text, "%Y-%m-%d %H:%M UTC").replace(tzinfo=UTC)
                assert (datetime.fromisoformat(value), name) == (moment, "")
            elif fact == "PHOTOGRAPHER" and not text.isdecimal():
                assert (value, name) == ("", text)
            elif fact == "MATERIALS" and text:
                assert [value, name] == text.split(" ")
            else:
                assert (value, name) == (text, "")
    some = {("APPOINTMENT", "CALLBACK"), ("PHOTOGRAPHER", "READ"), ("MATERIALS", "CALLBACK")}
    assert some <= facts


def test_every_page_opens(upgrade, box, boss):
    workspace = Workspace.objects.latest("pk")  # an older release had no undos and no targets
    target = Target.objects.create(workspace=workspace, name="1", address="/1", due_at=now())
    one = {"workspace": workspace, "material": Material.objects.earliest("pk"), "due_at": now()}
    TargetFile.objects.create(target=target, **one)
    undo_steps.request(workspace, ChangeSelection(), up_to=0, actor=None, now=now())
    rows = {one._meta.label_lower: one._base_manager.last() for one in tables_of_ours()}
    group = Placement.objects.exclude(group=None).latest("pk").group
    pages = addresses(rows | {"group": group})
    found = {page: boss.get(page).status_code for page in (*lists_and_forms(), *pages.values())}
    # Nobody adds or deletes some rows; a few addresses are for POST, for a file or for a script.
    assert set(found.values()) == {200, 204, 302, 403, 404, 405}
    always = [page for page in found if page.endswith(("/change/", "/history/", "/live/"))]
    assert {found[page] for page in always} == {200, 302}
    assert len(always) > 35


@pytest.mark.parametrize("vendor", ["sqlite", "postgresql"])
@pytest.mark.parametrize("release", releases())
def test_a_migration_that_was_released_is_never_edited(release, vendor):
    known = Dump(release, vendor).beside["migrations"]
    assert {name: digest(ROOT / name) for name in known} == known


def released() -> dict[str, str]:
    """Return the released versions of the changelog, the newest first, each with its text."""
    parts = re.split(r"^## (.+)\n", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    heads = [re.fullmatch(r"(\d+\.\d+\.\d+) — (\d{4}-\d\d-\d\d)", head) for head in parts[::2]]
    assert [head for head, found in zip(parts[::2], heads, strict=True) if not found] == [
        "Unreleased"
    ]
    texts = zip(heads, parts[1::2], strict=True)
    return {found[1]: text for found, text in texts if found}


def test_the_newest_release_is_the_version_of_the_product():
    assert list(released()) == releases()
    assert releases()[0] == __version__


@pytest.mark.parametrize("version", releases())
def test_each_release_says_what_to_do_when_upgrading(version):
    assert "### To do when upgrading\n\n" in released()[version]
