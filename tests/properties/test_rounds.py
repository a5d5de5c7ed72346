"""No workspace keeps the others waiting: what was not reached is first next time."""

import time
from collections import Counter
from datetime import timedelta
from io import StringIO

import pytest
import time_machine
from django.core.management import call_command
from django.db import connection
from django.utils.timezone import now

from crm_sync.models import Workspace
from properties.editing import create
from properties.models import DriftCheck, Property, Turn, Walk
from properties.pull.walk import pull
from properties.rounds import go_round, longest_ago, take_turn
from properties.tasks import SWEEP_ROWS, pull_properties, sample_drift, sweep_properties
from tests.crm_sync.sockets import saying, serving
from tests.properties.test_pull import stock  # noqa: F401 - a fixture

PULL = Turn.Task.PULL
TASKS = (pull_properties, sample_drift, sweep_properties)


@pytest.fixture
def mute():
    """Return the address of a platform that accepts connections and never answers."""
    with serving(saying()) as server:
        yield server.url


def connect(*slugs: str, to: str = "http://127.0.0.1:9") -> list[Workspace]:
    return [Workspace.objects.create(slug=slug, base_url=to, fixed_token="t") for slug in slugs]


@pytest.mark.parametrize("threads", [1, 16])
@pytest.mark.django_db(transaction=True)
def test_platforms_that_hang_cost_their_own_walk_and_no_other(
    box, workspace, mute, settings, threads
):
    settings.PUSH_THREADS, settings.CALL_DEADLINE = threads, 0.3
    hanging = dict.fromkeys("abc", "put off")
    connect(*hanging, to=mute)
    assert pull_properties() == hanging | {"main": "done"}
    assert pull_properties() == hanging
    assert Walk.objects.get(workspace=workspace).finished_at is not None
    assert "no whole answer within" in Workspace.objects.get(slug="a").problem
    connect("new", to=mute)
    assert next(iter(pull_properties())) == "new"


def test_platforms_that_hang_cost_their_own_sample_and_no_other(box, workspace, mute, settings):
    settings.CALL_DEADLINE = 0.1
    for one in (*connect("a", "b", to=mute), workspace):
        row = create(one, "R-1", {"title": "x"}, origin="API", now=now())
        Property.objects.filter(pk=row.pk).update(due_at=None)
    put_off = {"a": "0 of 0 differ, 0 unexplained", "b": "0 of 0 differ, 0 unexplained"}
    outcomes = sample_drift()
    assert outcomes.pop("main").endswith(" differ, 1 unexplained")
    assert outcomes == put_off


def test_whatever_a_round_reaches_nobody_is_tried_twice_before_all_are_once(db):
    tried: Counter[str] = Counter()

    def hang(workspace: Workspace, until: float) -> str:
        tried[workspace.slug] += 1
        time.sleep(0.01)
        return "put off"

    connect(*"abcdefg")
    for _ in range(12):
        outcomes = go_round(PULL, Workspace.objects.all(), hang, budget=0.03)
        assert set(outcomes) == set("abcdefg")
        counts = [tried[slug] for slug in "abcdefg"]
        assert max(counts) - min(counts) <= 1
    assert min(counts) >= 1


def test_a_step_has_its_share_of_the_time_that_is_left(db):
    shares = {}

    def step(workspace: Workspace, until: float) -> str:
        shares[workspace.slug] = until - time.monotonic()
        return "done"

    connect(*"abcd")
    go_round(PULL, Workspace.objects.all(), step, budget=1000.0)
    expected = {"a": 250, "b": 333, "c": 500, "d": 1000}
    assert {slug: round(share / 10) for slug, share in shares.items()} == {
        slug: round(share / 10) for slug, share in expected.items()
    }


def test_no_step_begins_after_the_end(db):
    connect(*"ab")
    assert go_round(PULL, Workspace.objects.all(), lambda *_: "done", budget=0.0) == {
        "a": "put off",
        "b": "put off",
    }
    assert not Turn.objects.exists()


def test_a_workspace_whose_step_breaks_stops_no_other_and_is_told(db, caplog):
    def step(workspace: Workspace, until: float) -> str:
        if workspace.slug == "b":
            raise ValueError("a bug of ours")
        return "done"

    connect(*"abc")
    outcomes = go_round(PULL, Workspace.objects.all(), step, budget=20.0)
    assert outcomes == {"a": "done", "b": "failed", "c": "done"}
    assert "the pull of b failed" in caplog.text
    assert "a bug of ours" in caplog.text


def test_a_secret_that_no_key_opens_stops_no_other_workspace(box, workspace):
    connect("broken")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE crm_sync_workspace SET fixed_token = 'gAAAA' WHERE slug = 'broken'")
    broken = Workspace.objects.only("slug").get(slug="broken")
    create(broken, "R", {}, origin="API", now=now())
    assert pull_properties() == {"broken": "failed", "main": "done"}
    outcomes = sample_drift()
    assert outcomes["broken"] == "failed"
    assert outcomes["main"].endswith(", 0 unexplained")
    assert sweep_properties().keys() == {"broken", "main"}
    call_command("audit", stdout=StringIO())


def test_a_turn_that_another_worker_took_is_left_to_that_one(db):
    connect("a")
    one, other = (longest_ago(PULL, Workspace.objects.all()).get() for _ in range(2))
    assert take_turn(PULL, one, lambda _: "done") == "done"
    assert take_turn(PULL, other, lambda _: "done") == "left to another worker"
    assert take_turn(Turn.Task.SWEEP, other, lambda _: "done") == "done"


def test_two_workers_on_one_walk_skip_no_page_and_count_none_twice(box, workspace, stock):  # noqa: F811
    one, other = (pull(workspace, size=10) for _ in range(2))
    for steps in (one, other, one, other, other):
        next(steps, None)
    list(one), list(other)
    walk = Walk.objects.get()
    assert (walk.page, walk.listed, walk.added, walk.missing) == (3, 25, 25, 0)
    assert Property.objects.count() == 25


def test_a_small_workspace_is_swept_beside_one_that_takes_all_day(box, workspace):
    rows = [
        Property(workspace=workspace, object_reference_id=f"B-{n}") for n in range(3 * SWEEP_ROWS)
    ]
    Property.objects.bulk_create(rows)
    connect("small", "tiny")
    outcomes = sweep_properties()
    assert (outcomes["small"], outcomes["tiny"]) == ("0 in all, 0 found", "0 in all, 0 found")
    assert outcomes["main"].endswith(" so far, 0 found")


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_thousand_workspaces_with_nothing_to_do_take_a_few_queries(
    db, task, django_assert_max_num_queries
):
    Workspace.objects.bulk_create(
        Workspace(slug=f"w-{n}", base_url="http://127.0.0.1:9", fixed_token="t")
        for n in range(1000)
    )
    workspaces = list(Workspace.objects.only("pk"))
    Walk.objects.bulk_create(Walk(workspace=one, finished_at=now()) for one in workspaces)
    DriftCheck.objects.bulk_create(
        DriftCheck(workspace=one, kind=kind, finished_at=now())
        for one in workspaces
        for kind in DriftCheck.Kind
    )
    with django_assert_max_num_queries(8):
        assert task() == {}


def test_a_walk_begins_anew_an_hour_after_the_last_and_not_before(box, workspace):
    assert pull_properties() == {"main": "done"}
    assert pull_properties() == {}
    with time_machine.travel(now() + timedelta(minutes=61), tick=True):
        assert pull_properties() == {"main": "done"}
