"""At most so many reads of orders in any minute, whoever makes them; a gap reads all of them."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from crm_sync import hooks
from crm_sync.models import Gap, Workspace
from crm_sync.webhook import schedule
from crm_sync.work import turn
from orders.models import Order, RateLimit, StatusChange
from orders.reads import read_limit
from tests.crm_sync.polls import happen, monitor_of, poll_now
from tests.orders.conftest import calls, now
from tests.together import together

NOW = datetime(2026, 1, 31, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def hook(db) -> Workspace:
    return Workspace.objects.create(slug="main", base_url="http://x.test")


def open_orders(workspace: Workspace, count: int, **columns) -> list[Order]:
    made = [
        Order(workspace=workspace, platform_id=f"P{n}", status="PLACED", created_at=NOW, **columns)
        for n in range(count)
    ]
    return Order.objects.bulk_create(made)


@pytest.mark.parametrize(("most", "at_once"), [(1, 1), (2, 1), (60, 10), (120, 20)])
def test_in_no_minute_are_there_more_than_that(hook, settings, most, at_once):
    settings.ORDER_READS_A_MINUTE = most
    taken = []
    for tenth in range(0, 2000, 5):
        while read_limit.take(hook.pk, now=NOW + timedelta(seconds=tenth / 10)):
            taken.append(tenth)
    assert taken.count(0) == at_once
    assert max(len([one for one in taken if t <= one < t + 600]) for t in set(taken)) <= most
    assert taken.count(taken[-1]) == 1  # evenly, after the first few
    assert len(taken) >= 0.8 * (at_once + max(1, most - at_once) * 200 / 60)


def test_after_a_rest_a_few_come_at_once_again(hook, settings):
    settings.ORDER_READS_A_MINUTE = 60
    for at in (NOW, NOW + MINUTE, NOW + 60 * MINUTE):
        assert [read_limit.take(hook.pk, now=at) for _ in range(11)] == [True] * 10 + [False]
        assert read_limit.exhausted(at).get().workspace_id == hook.pk
        assert not read_limit.exhausted(at + timedelta(seconds=1.2)).exists()


def test_each_workspace_has_its_own(hook, settings):
    settings.ORDER_READS_A_MINUTE = 1
    other = Workspace.objects.create(slug="other", base_url="http://x.test")
    assert [read_limit.take(one.pk, now=NOW) for one in (hook, hook, other)] == [True, False, True]


def test_a_clock_that_went_ahead_stops_nobody_for_longer_than_a_share(hook, settings):
    settings.ORDER_READS_A_MINUTE = 60
    assert read_limit.take(hook.pk, now=NOW + 600 * MINUTE)
    assert not read_limit.exhausted(NOW).exists()  # the tick asks this before it reads
    assert not read_limit.take(hook.pk, now=NOW)
    assert read_limit.exhausted(NOW).exists()
    assert read_limit.take(hook.pk, now=NOW + timedelta(seconds=1.2))


@pytest.mark.django_db(transaction=True)
def test_several_workers_together_take_no_more(settings):
    settings.ORDER_READS_A_MINUTE = 60
    hook = Workspace.objects.create(slug="race", base_url="http://x.test")
    RateLimit.objects.create(workspace=hook)
    taken: list[bool] = []

    def work() -> None:
        for _ in range(20):
            taken.append(read_limit.take(hook.pk, now=NOW))

    together(work)
    assert (len(taken), sum(taken)) == (80, 10)


# --- the queue


def test_the_queue_reads_no_more_and_leaves_the_rest_due(box, workspace, place, settings):
    settings.ORDER_READS_A_MINUTE = 12
    placed = [place() for _ in range(5)]
    RateLimit.objects.all().delete()
    Order.objects.update(due_at=now())
    box.calls.clear()
    assert turn.take(hooks.queue("orders"), workspace.pk, seconds=20.0).counts == {"read": 2}
    assert len(calls(box, "GET")) == 2
    assert Order.objects.filter(due_at__lte=now(), lease_token=None).count() == 3
    assert hooks.queue("orders").workspaces(now()) == set()  # nothing to do for now
    with time_machine.travel(now() + timedelta(seconds=13)):
        assert hooks.queue("orders").workspaces(now()) == {workspace.pk}
        assert turn.take(hooks.queue("orders"), workspace.pk, seconds=20.0).counts == {"read": 2}
    assert len(placed) == 5


def test_a_backlog_that_is_worked_off_at_its_pace_is_no_standstill(workspace, settings):
    settings.ORDER_READS_A_MINUTE = 6
    open_orders(workspace, 3, due_at=now() - 5 * MINUTE)
    late = now() - MINUTE
    assert hooks.queue("orders").workspaces(late) == {workspace.pk}  # nobody reads at all
    while read_limit.take(workspace.pk, now=now()):
        pass
    assert hooks.queue("orders").workspaces(late) == set()


# --- after a gap


def test_after_a_gap_every_open_order_is_due_at_half_the_pace(workspace, settings):
    settings.ORDER_READS_A_MINUTE = 4
    open_orders(workspace, 5, due_at=NOW + 600 * MINUTE)
    sooner = Order.objects.create(
        workspace=workspace, platform_id="soon", due_at=NOW + timedelta(seconds=5), created_at=NOW
    )
    ended = Order.objects.create(workspace=workspace, platform_id="old", status="COMPLETED")
    other = Workspace.objects.create(slug="other", base_url="http://x.test")
    theirs = Order.objects.create(workspace=other, platform_id="P0")
    assert [ask(workspace.pk, NOW) for ask in hooks.plugged().after_gap] == [6]
    due_ats = dict(Order.objects.values_list("platform_id", "due_at").exclude(workspace=other))
    assert due_ats == {
        "soon": NOW,
        "P4": NOW,
        "P3": NOW + MINUTE,
        "P2": NOW + MINUTE,
        "P1": NOW + 2 * MINUTE,
        "P0": NOW + 2 * MINUTE,
        "old": None,
    }
    assert [ask(workspace.pk, NOW + MINUTE) for ask in hooks.plugged().after_gap] == [6]
    sooner.refresh_from_db()
    assert sooner.due_at == NOW  # what is due sooner stays so
    assert (ended.due_at, theirs.due_at) == (None, None)


def test_what_a_gap_hid_is_right_after_it(box, workspace, place, drain_all):
    order = place()
    happen(box, 1)  # nine more would still be seen
    poll_now(workspace)
    assignment = box.workspace.orders[order.platform_id]["assignments"][0]
    box.faults.set({"rules": [{"fault": "DROPPED"}]})
    for _ in range(4):
        box.advance(assignment)
        box.deliver()
    happen(box, 11, "DROPPED")
    assert poll_now(workspace) == "gap"
    gap = Gap.objects.get()
    assert (gap.why, gap.asked) == ("OVERFLOW", 1)
    drain_all()
    order.refresh_from_db()
    assert (order.status, order.assignments.get().status) == ("COMPLETED", "DELIVERED")


# --- what moves


@pytest.mark.parametrize(("minutes", "is_moving"), [(9, True), (11, False)])
def test_a_line_of_the_timeline_moves_its_workspace_for_ten_minutes(
    box, workspace, place, minutes, is_moving
):
    place()
    assert StatusChange.objects.exists()
    StatusChange.objects.update(created_at=now() - minutes * MINUTE)
    assert schedule.pause(workspace.pk, now=now()) == timedelta(seconds=15 if is_moving else 60)
    other = Workspace.objects.create(slug="other", base_url="http://x.test")
    assert schedule.pause(other.pk, now=now()) == timedelta(seconds=60)


@pytest.mark.parametrize("act", ["place", "cancel"])
def test_an_order_of_ours_brings_the_next_poll_within_15_seconds(box, workspace, place, act):
    from orders.placing import changes

    order = place()
    if act == "cancel":
        schedule.WebhookMonitor.objects.update(due_at=now() + MINUTE)
        changes.cancel(order, user="AGENT-1", now=now())
    assert monitor_of(workspace).due_at < now() + timedelta(seconds=16)
