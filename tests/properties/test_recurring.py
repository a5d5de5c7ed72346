"""Pull, sample and sweep come again in each workspace, and none keeps another waiting."""

from datetime import timedelta
from io import StringIO

import pytest
import time_machine
from django.core.management import call_command
from django.db import connection
from django.utils.timezone import now

from crm_sync import connecting
from crm_sync.models import Slot, Workspace
from crm_sync.work import slots, turn
from properties import recurring
from properties.domain.editing import create
from properties.drift.sweep import CHUNK
from properties.models import DriftCheck, Property, Recurring, Walk
from properties.plugged import recovery
from properties.pull.walk import pull
from tests.conftest import PLATFORM
from tests.crm_sync.sockets import saying, serving
from tests.platforms import Between
from tests.properties.recurring import Kind, row_of, take
from tests.properties.test_pull import put, stock  # noqa: F401 - a fixture

DONE, GOES_ON, PUT_OFF = {"done": 1}, {"goes on": 1}, {"put off": 1}


@pytest.fixture
def mute():
    """Return the address of a platform that accepts connections and never answers."""
    with serving(saying()) as server:
        yield server.url


def connect(slug: str, to: str = "http://127.0.0.1:9") -> Workspace:
    return Workspace.objects.create(slug=slug, base_url=to, fixed_token="t")


def waiting(at) -> set[str]:
    return {name for name, _ in turn.waiting(at)} & {kind.lower() for kind in Kind}


def test_a_workspace_that_is_connected_has_all_of_it_done_from_then_on(db):
    at = now()
    workspace, _ = connecting.store(connecting.Given("new", PLATFORM, token="t"), now=at)
    due_at = at + timedelta(minutes=5)
    assert dict(Recurring.objects.values_list("kind", "due_at")) == dict.fromkeys(Kind, due_at)
    assert waiting(at + timedelta(minutes=4)) == set()
    assert waiting(due_at) == {"pull", "sample", "sweep"}
    Recurring.objects.update(due_at=at + timedelta(minutes=50), problem="as it was")
    connecting.store(connecting.Given("new", PLATFORM, token="other"), now=now())
    assert set(Recurring.objects.values_list("workspace", "due_at", "problem")) == {
        (workspace.pk, at + timedelta(minutes=50), "as it was")
    }


@pytest.mark.parametrize("kind", Kind)
def test_each_comes_again_after_its_time_and_not_before(box, workspace, kind):
    every = timedelta(hours=24 if kind == Kind.SWEEP else 1)
    with time_machine.travel(now(), tick=False):
        assert take(kind, workspace) == DONE
        assert row_of(kind, workspace).due_at == now() + every
        assert waiting(now() + every * 0.99) == set()
        assert waiting(now() + every) == {kind.lower()}


@pytest.mark.parametrize("kind", Kind)
def test_a_wrong_clock_does_not_keep_it_from_being_done(box, workspace, kind):
    Recurring.objects.create(workspace=workspace, kind=kind, due_at=now() + timedelta(days=400))
    assert take(kind, workspace) == DONE


@pytest.mark.django_db(transaction=True)
def test_a_platform_that_hangs_costs_its_own_walk_which_is_tried_again(mute, settings):
    settings.CALL_DEADLINE = 0.3
    hanging = connect("a", to=mute)
    assert take(Kind.PULL, hanging) == PUT_OFF
    row = row_of(Kind.PULL, hanging)
    assert (row.attempts, row.due_at > now() - timedelta(seconds=1)) == (1, True)
    assert "no whole answer within" in row.problem
    assert "no whole answer within" in Workspace.objects.get().problem
    assert not Slot.objects.filter(lease_token__isnull=False).exists()


def test_a_sample_of_a_platform_that_hangs_says_that_nothing_could_be_compared(
    workspace, mute, settings
):
    settings.CALL_DEADLINE = 0.1
    hanging = connect("a", to=mute)
    create(hanging, "R-1", {"title": "x"}, origin="API", now=now())
    assert take(Kind.SAMPLE, hanging) == DONE
    check = DriftCheck.objects.get()
    assert (check.compared, check.failed) == (0, 1)


def test_a_walk_that_a_turn_does_not_end_goes_on_at_its_page_in_the_next(
    box,
    workspace,
    stock,  # noqa: F811
):
    for number in range(25, 150):
        put(box, number)
    assert take(Kind.PULL, workspace, seconds=0.001) == GOES_ON
    walk = Walk.objects.get()
    assert (walk.page, walk.finished_at) == (1, None)
    assert waiting(now()) == {"pull"}
    assert take(Kind.PULL, workspace) == DONE
    assert [(one.page, one.listed) for one in Walk.objects.all()] == [(2, 150)]


def test_a_sweep_that_a_turn_does_not_end_goes_on_behind_its_row_in_the_next(box, workspace):
    rows = [Property(workspace=workspace, object_reference_id=f"B-{n}") for n in range(CHUNK + 1)]
    Property.objects.bulk_create(rows)
    assert take(Kind.SWEEP, workspace, seconds=0.001) == GOES_ON
    assert DriftCheck.objects.get().compared == CHUNK
    assert waiting(now()) == {"sweep"}
    assert take(Kind.SWEEP, workspace) == DONE
    check = DriftCheck.objects.get()
    assert (check.compared, check.finished_at is None) == (CHUNK + 1, False)
    row = row_of(Kind.SWEEP, workspace)
    assert row.due_at == check.started_at + timedelta(hours=24)


@pytest.mark.parametrize("kind", [Kind.PULL, Kind.SAMPLE])
def test_a_workspace_that_allows_one_call_at_a_time_makes_it_in_the_slot_of_the_turn(
    box, workspace, kind
):
    row = create(workspace, "R-1", {"title": "x"}, origin="API", now=now())
    Property.objects.filter(pk=row.pk).update(due_at=None)
    Workspace.objects.update(max_under_way=1)
    held = []
    between = Between(box, PLATFORM)
    between.before = lambda _: held.append(
        list(Slot.objects.filter(lease_until__isnull=False).values_list("queue", flat=True))
    )
    assert take(kind, workspace) == DONE
    assert held == [[kind.lower()]]


@pytest.mark.parametrize("kind", [Kind.PULL, Kind.SAMPLE])
def test_a_pause_in_the_midst_of_it_begins_no_further_call_and_what_is_left_stays_due(
    box, workspace, kind
):
    for number in range(250):
        put(box, number)
    rows = [Property(workspace=workspace, platform_id=f"9{n:04}") for n in range(2)]
    Property.objects.bulk_create(rows)
    row_of(kind, workspace)
    box.calls.clear()

    def pause(_: dict) -> None:
        Workspace.objects.update(paused_until=now() + timedelta(hours=1))
        # The turn has read the workspace a moment ago.
        turn._stores[kind.lower(), workspace.pk]._read_at = 0.0

    Between(box, PLATFORM).after = pause
    assert take(kind, workspace) == {}
    assert len(box.calls) == 1
    assert row_of(kind, workspace).due_at <= now()
    assert row_of(kind, workspace).lease_token is None


def test_where_a_long_backlog_holds_the_slots_the_last_one_is_left_to_short_reads(box, workspace):
    Workspace.objects.update(max_under_way=3)
    workspace.refresh_from_db()
    with slots.hold(workspace, leave=1), slots.hold(workspace, leave=1):
        assert take(Kind.PULL, workspace) == {}
    assert take(Kind.PULL, workspace) == DONE


def test_what_makes_no_call_is_done_though_no_key_opens_a_secret_of_the_workspace(workspace):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE crm_sync_workspace SET fixed_token = 'gAAAA'")
    broken = Workspace.objects.only("slug").get()
    create(broken, "R", {}, origin="API", now=now())
    assert take(Kind.SWEEP, broken) == DONE
    call_command("audit", stdout=StringIO())


def test_a_restored_workspace_is_walked_at_once(workspace):
    recurring.begin(workspace.pk, now())
    recovery.begin(workspace.pk, now())
    assert waiting(now()) == {"pull"}


def test_two_workers_on_one_walk_skip_no_page_and_count_none_twice(box, workspace, stock):  # noqa: F811
    one, other = (pull(workspace, size=10) for _ in range(2))
    for steps in (one, other, one, other, other):
        next(steps, None)
    list(one), list(other)
    walk = Walk.objects.get()
    assert (walk.page, walk.listed, walk.added, walk.missing) == (3, 25, 25, 0)
    assert Property.objects.count() == 25
