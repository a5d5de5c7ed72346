"""An installation of each release so far goes on with the product of today."""

import tomllib
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils.timezone import now
from django_celery_beat.models import PeriodicTask

from crm_sync.inbox.failure_groups import worded
from crm_sync.models import Hold, ReceivedEvent, Workspace
from orders.models import Material, Placement, StatusChange, Target, TargetFile
from properties.domain import undo_steps
from properties.domain.change_selection import ChangeSelection
from properties.feeds.swissrets import json_writer
from properties.models import DriftCheck, Property, Recurring, Walk
from sandbox.state.workspace import Workspace as PlatformState
from tests.roles import addresses, lists_and_forms
from tests.upgrades.dumps import ROOT, Dump, digest, keys, releases, secrets, tables_of_ours

each_release = pytest.mark.parametrize("dump", releases(), indirect=True)
# Tables that only said who works, or was tried last.
GONE = {"crm_sync_lane", "properties_turn"}
on_a_database = pytest.mark.django_db(transaction=True)


def migrate() -> None:
    call_command("migrate", verbosity=0)


@each_release
@on_a_database
def test_no_row_and_no_secret_is_lost_and_the_audit_finds_nothing(dump):
    before = keys()
    schedules = PeriodicTask.objects.filter(task__startswith="properties.")  # rows of our own now
    before[PeriodicTask._meta.db_table] -= set(schedules.values_list("pk", flat=True))
    migrate()
    after = keys()
    kept = before.keys() - GONE
    lost = {table: before[table] - after.get(table, set()) for table in kept}
    assert {table: rows for table, rows in lost.items() if rows} == {}
    assert secrets() == dump.beside["secrets"]
    call_command("audit", stdout=StringIO())


@pytest.mark.rule("I34")
@each_release
@on_a_database
def test_no_workspace_from_before_begins_in_watch_only(dump):
    migrate()
    assert Workspace.objects.exists()
    assert not Hold.objects.exists()


@each_release
@on_a_database
def test_what_had_a_schedule_is_a_row_that_is_due_as_long_after_the_last_time(dump):
    migrate()
    hour, day = timedelta(hours=1), timedelta(hours=24)
    checks = DriftCheck.objects.filter(finished_at__isnull=False)
    expected = {
        "PULL": Walk.objects.latest("finished_at").finished_at + hour,
        "SAMPLE": checks.filter(kind="SAMPLE").latest("started_at").started_at + hour,
        "SWEEP": checks.filter(kind="SWEEP").latest("started_at").started_at + day,
    }
    assert dict(Recurring.objects.values_list("kind", "due_at")) == expected
    assert not PeriodicTask.objects.filter(task__startswith="properties.").exists()


@each_release
@on_a_database
def test_what_was_due_is_settled_with_the_platform(dump, box, drain_all):
    migrate()
    box.workspace = PlatformState.from_json(dump.beside["platform"])
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


@each_release
@on_a_database
def test_the_cause_of_an_older_stuck_event_is_shown_as_it_was_written(dump):
    older = "unknown event 'A_NEW_ONE'"
    with connection.cursor() as cursor:
        cursor.execute("select max(id) from crm_sync_receivedevent where cause = ''")
        (key,) = cursor.fetchone()
        cursor.execute(
            "update crm_sync_receivedevent set state = 'QUARANTINED', cause = %s, due_at = null,"
            " canonical_digest = '' where id = %s",
            [older, key],
        )
    migrate()
    stuck = ReceivedEvent.objects.get(pk=key)
    assert (stuck.problem_kind, worded(stuck.problem_kind, stuck.cause)) == ("OTHER", older)
    assert set(ReceivedEvent.objects.exclude(pk=key).values_list("problem_kind", flat=True)) == {""}


@each_release
@on_a_database
def test_the_lines_of_older_timelines_become_values(dump):
    with connection.cursor() as cursor:
        cursor.execute("select id, fact, source, previous, new from orders_statuschange")
        before = {key: line for key, *line in cursor.fetchall()}
    migrate()
    after = {line.pk: line for line in StatusChange.objects.all()}
    facts = set()
    for key, (fact, source, *texts) in before.items():
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


@each_release
@on_a_database
def test_every_page_opens(dump, box, boss):
    migrate()
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


def test_the_newest_release_is_the_version_that_each_place_names():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert (json_writer.VERSION, releases()[0]) == (version, version)
