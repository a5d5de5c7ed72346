"""What holds for a drain of every queue, on a clock that moves with the work alone.

It ends within its budget and what one piece of work takes, whatever stops it; it works or gives
back every row; and what it left is done by the next.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.utils import timezone

from crm_sync import registry
from crm_sync.hooks.messages import Message
from crm_sync.jobs import due
from crm_sync.models import (
    Lane,
    ReceivedEvent,
    Slot,
    Subscription,
    WebhookMonitor,
    Workspace,
)
from crm_sync.outgoing import outbox
from crm_sync.workers import queues
from crm_sync.workers.queues import Drain, RowQueue
from orders.mirror import user_list
from orders.models import (
    Assignment,
    Material,
    MaterialFile,
    MaterialSet,
    Order,
    PersonSettings,
    Placement,
    StatusChange,
    UserList,
)
from orders.news import News
from orders.notices.choices import choose
from properties.editing import create
from properties.models import Fetch, Import, Property, Sender, Source
from tests.crm_sync.receivers import subscribe
from tests.crm_sync.sockets import Server, answering
from tests.orders.admin_rows import note
from tests.properties.uploaded import table, upload

BACKLOG = 12
BUDGET = 3.0  # seconds, for rows of one second each: less than the backlog takes
COST = 1.0
SOMEBODY_ELSE = "12345678-1234-5678-1234-567812345678"


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def fill_properties(workspace, _) -> None:
    for n in range(BACKLOG):
        create(workspace, f"L-{n}", {"title": f"House {n}"}, origin="FEED", now=timezone.now())


def fill_received_events(workspace, _) -> None:
    now = timezone.now()
    for n in range(BACKLOG):
        ReceivedEvent.objects.create(workspace=workspace, digest=str(n), body=b"?", due_at=now)


def fill_orders(workspace, _) -> None:
    now = timezone.now()
    for n in range(BACKLOG):
        Order.objects.create(workspace=workspace, platform_id=f"O-{n}", due_at=now)


def fill_assignments(workspace, _) -> None:
    now = timezone.now()
    order = Order.objects.create(workspace=workspace, platform_id="O-1")
    for n in range(BACKLOG):
        Assignment.objects.create(
            workspace=workspace, order=order, platform_id=f"A-{n}", due_at=now
        )


def fill_materials(workspace, _) -> None:
    now = timezone.now()
    for n in range(BACKLOG):
        MaterialSet.objects.create(
            workspace=workspace, property_platform_id=str(n), ready_at=now, due_at=now
        )


def fill_files(workspace, _) -> None:
    now = timezone.now()
    ready = MaterialSet.objects.create(workspace=workspace, ready_at=now, fetched_at=now)
    for n in range(BACKLOG):
        one = Material.objects.create(material_set=ready, platform_id=f"M-{n}")
        MaterialFile.objects.create(workspace=workspace, material=one, role="FILE", due_at=now)


def fill_webhooks(workspace, _) -> None:
    WebhookMonitor.objects.filter(workspace=workspace).update(due_at=timezone.now())


def fill_imports(workspace, user) -> None:
    for n in range(5):  # each is read by a process of its own
        upload(workspace, user, table([f"U-{n}"]), name=f"{n}.csv")


def fill_users(workspace, _) -> None:
    user_list.ask(workspace.pk, timezone.now())


def fill_placements(workspace, _) -> None:
    now = timezone.now()
    for n in range(BACKLOG):
        Placement.objects.create(
            workspace=workspace,
            object_reference_id=f"P-{n}",
            user_platform_id="101",
            state=Placement.State.READY,
            products=[{"id": "1", "product": "GROUND_PHOTO", "quantity": 1}],
            confirmed_at=now,
            due_at=now,
        )


def fill_notices(workspace, _) -> None:
    now = timezone.now()
    note(
        Order.objects.create(workspace=workspace, platform_id="O-1"), "CANCELLED", news="CANCELLED"
    )
    StatusChange.objects.update(created_at=now - timedelta(hours=1))
    may_see = Permission.objects.get(codename="view_order")
    for n in range(BACKLOG):
        person = User.objects.create(username=f"N-{n}", is_staff=True, email="n@example.com")
        person.user_permissions.add(may_see)
        since = now - timedelta(hours=2)
        choose(person, kinds=[News.CANCELLED], only_mine=False, time_zone="", now=since)


def source_of(workspace, **columns) -> Source:
    sender, _ = Sender.objects.get_or_create(workspace=workspace, name="Agency")
    now = timezone.now()
    return Source.objects.create(
        workspace=workspace, sender=sender, address="/nowhere", due_at=now, **columns
    )


def fill_sources(workspace, _) -> None:
    for _ in range(BACKLOG):
        source_of(workspace)


def fill_source_mails(workspace, _) -> None:
    source = source_of(workspace, mail_to="a@agency.test")
    now = timezone.now()
    for _ in range(BACKLOG):
        Fetch.objects.create(workspace=workspace, source=source, outcome="AWAY", due_at=now)


ALWAYS_FINE = Server(answering(b""))


def fill_outgoing(workspace, _) -> None:
    now = timezone.now()
    for _ in range(BACKLOG):
        subscribe(workspace, ALWAYS_FINE.url)
    outbox.tell(
        workspace.pk, ["property.in_sync"], lambda: [Message("property.in_sync", now, {})], now=now
    )


FILL = {
    "outgoing": (Subscription, fill_outgoing),
    "properties": (Property, fill_properties),
    "received_events": (ReceivedEvent, fill_received_events),
    "orders": (Order, fill_orders),
    "assignments": (Assignment, fill_assignments),
    "materials": (MaterialSet, fill_materials),
    "files": (MaterialFile, fill_files),
    "webhooks": (WebhookMonitor, fill_webhooks),
    "users": (UserList, fill_users),
    "placements": (Placement, fill_placements),
    "imports": (Import, fill_imports),
    "notices": (PersonSettings, fill_notices),
    "sources": (Source, fill_sources),
    "source_mails": (Fetch, fill_source_mails),
}


def test_every_queue_of_rows_is_among_those_that_are_tried():
    assert {one.name for one in registry.hooks().queues if isinstance(one, RowQueue)} == set(FILL)


@pytest.fixture(params=sorted(FILL))
def queue(request, settings, workspace, admin_user, monkeypatch) -> RowQueue:
    """Return a queue with a backlog larger than the budget."""
    settings.ORDER_READS_A_MINUTE = 100_000
    settings.MATERIALS_DOWNLOAD = True
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    monkeypatch.setattr(queues, "ending", threading.Event())
    monkeypatch.setattr(queues, "crowded", threading.Event())
    # What is put off (I11) comes due again after half a second at least: on a slow machine that
    # is within the drain that put it off, and it would be counted twice. So here it waits a
    # minute.
    monkeypatch.setattr(due, "BACKOFF_BASE", 60.0)
    monkeypatch.setitem(due.backoff.__kwdefaults__, "rng", lambda: 1.0)
    FILL[request.param][1](workspace, admin_user)
    one = registry.queue(request.param)
    return replace(one, batch_size=min(one.batch_size, 2))


def costly(
    queue: RowQueue, clock: Clock, *, at: int = -1, happens: Callable[[Drain], None] | None = None
) -> RowQueue:
    """Let each piece of work take a second, and something happen in the midst of one of them."""
    begun = []

    def work(claims, drain):
        begun.append(claims)
        if len(begun) == at and happens is not None:
            happens(drain)
        outcomes = queue.work(claims, drain)
        clock.now += COST
        return outcomes

    return replace(queue, work=work)


def due_now(queue: RowQueue, workspace: Workspace) -> int:
    rows = queue.rows(timezone.now()).filter(workspace_id=workspace.pk)
    return rows.filter(due.free(timezone.now())).count()


def leased(queue: RowQueue) -> int:
    return FILL[queue.name][0].objects.filter(lease_token__isnull=False).count()


def nothing_is_held(queue: RowQueue) -> None:
    assert leased(queue) == 0
    assert not Lane.objects.filter(lease_token__isnull=False).exists()
    assert not Slot.objects.filter(lease_token__isnull=False).exists()


def finish(queue: RowQueue, workspace: Workspace) -> int:
    """Drain as often as it takes, and say how many rows came to an end."""
    done = 0
    for _ in range(20):
        tally = queue.drain(workspace.pk, 60.0)
        done += tally.total
        if not tally.total:
            return done
    raise AssertionError("it does not come to an end")


def test_a_drain_ends_with_its_budget_and_the_next_goes_on(queue, workspace):
    clock, before = Clock(), due_now(queue, workspace)
    tally = costly(queue, clock).drain(workspace.pk, BUDGET, clock=clock)
    assert clock.now <= BUDGET + COST
    is_longer = before > BUDGET * queue.batch_size
    assert tally.more == is_longer
    assert tally.total == (BUDGET * queue.batch_size if is_longer else before)
    nothing_is_held(queue)
    assert due_now(queue, workspace) == before - tally.total
    assert finish(queue, workspace) == before - tally.total


def test_while_others_wait_for_a_place_a_drain_has_a_turn_and_one_thread(queue, workspace):
    queues.crowded.set()
    clock, before, at_work = Clock(), due_now(queue, workspace), []
    several = replace(queue, threads=lambda: 4, batch_size=1)
    watched = costly(
        several, clock, at=1, happens=lambda _: at_work.append(threading.current_thread())
    )
    tally = watched.drain(workspace.pk, 100.0, clock=clock)
    assert at_work == [threading.current_thread()]
    assert (tally.total, clock.now) == (1, COST)
    assert tally.more
    nothing_is_held(queue)
    assert due_now(queue, workspace) == before - 1


def test_no_turn_passes_without_a_row_however_long_the_database_takes(queue, workspace):
    queues.crowded.set()
    clock, one_by_one = Clock(), replace(queue, batch_size=1)

    def rows(now: datetime):
        clock.now += 2 * queues.TURN
        return queue.rows(now)

    slow = replace(costly(one_by_one, clock), rows=rows)
    assert slow.drain(workspace.pk, 100.0, clock=clock).total == 1
    nothing_is_held(queue)


def test_a_drain_that_had_its_turn_ends_as_soon_as_others_wait(queue, workspace):
    clock, before = Clock(), due_now(queue, workspace)
    at = min(3, before)
    long = costly(queue, clock, at=at, happens=lambda _: queues.crowded.set())
    assert long.drain(workspace.pk, 100.0, clock=clock).more
    assert clock.now == at * COST
    nothing_is_held(queue)
    assert finish(queue, workspace) == before - min(at * queue.batch_size, before)


def lose_the_lane(_: Drain) -> None:
    Lane.objects.update(
        lease_token=SOMEBODY_ELSE, lease_until=timezone.now() + timedelta(seconds=60)
    )


def lose_the_slots(_: Drain) -> None:
    Slot.objects.filter(lease_token__isnull=False).update(
        lease_token=SOMEBODY_ELSE, lease_until=timezone.now() + timedelta(seconds=60)
    )


def pause(drain: Drain) -> None:
    Workspace.objects.update(paused_until=timezone.now() + timedelta(seconds=60))
    drain.workspace.refresh_from_db()


def end_the_process(_: Drain) -> None:
    queues.ending.set()


def free_everything(now: datetime) -> None:
    for model in (Lane, Slot):
        model.objects.update(lease_token=None, lease_until=None)
    Workspace.objects.update(paused_until=None)
    queues.ending.clear()


@pytest.mark.parametrize("happens", [pause, end_the_process])
def test_what_ends_it_in_the_middle_leaves_the_rest_due(queue, workspace, happens):
    if happens is pause and not queue.calls:
        happens = end_the_process  # a pause is no concern of a queue without calls
    clock, before = Clock(), due_now(queue, workspace)
    at = min(2, before)
    tally = costly(queue, clock, at=at, happens=happens).drain(workspace.pk, 100.0, clock=clock)
    assert clock.now <= at * COST + COST
    assert tally.total <= at * queue.batch_size
    assert leased(queue) == 0
    free_everything(timezone.now())
    # An import that was given back, and a property whose push begins no call in a pause.
    ended = tally.total - sum(tally.counts.get(one, 0) for one in ("goes on", "put back"))
    assert due_now(queue, workspace) == before - ended
    assert finish(queue, workspace) == before - ended


def test_what_has_to_end_holds_its_place_until_its_last_row_is_done(queue, workspace):
    kept = []

    def happens(drain: Drain) -> None:
        queues.ending.set()
        now = timezone.now()
        held = [one for one in (drain.lane, drain.held) if one is not None]
        for one in held:
            one.until = now + timedelta(seconds=1)  # more than half of the time is over
        assert not drain.goes_on()
        kept.extend(one.until > now + timedelta(seconds=1) for one in held)

    costly(queue, Clock(), at=1, happens=happens).drain(workspace.pk, 100.0)
    assert kept == [True] * (1 + queue.calls)
    nothing_is_held(queue)


@pytest.mark.parametrize("loses", [lose_the_lane, lose_the_slots])
def test_who_lost_its_place_to_another_worker_begins_nothing_more(
    queue, workspace, loses, monkeypatch
):
    if loses is lose_the_slots and not queue.calls:
        loses = lose_the_lane
    clock, before = Clock(), due_now(queue, workspace)
    begin = timezone.now()

    def happens(drain: Drain) -> None:
        loses(drain)
        past = begin - timedelta(seconds=1)  # half of the time is over: it asks whether it holds
        drain.lane.until = past
        if drain.held is not None:
            drain.held.until = begin + timedelta(seconds=1)

    at = min(2, before)
    tally = costly(queue, clock, at=at, happens=happens).drain(workspace.pk, 100.0, clock=clock)
    assert tally.total <= at * queue.batch_size
    assert leased(queue) == 0
    free_everything(timezone.now())
    assert due_now(queue, workspace) == before - tally.total


def test_a_row_at_which_our_own_code_fails_does_not_stop_the_others(queue, workspace):
    def bug(_: Drain) -> None:
        raise ZeroDivisionError("a bug")

    clock, before = Clock(), due_now(queue, workspace)
    # The last, so that it is not tried again in the same drain.
    at = -(-before // queue.batch_size)
    tally = costly(queue, clock, at=at, happens=bug).drain(workspace.pk, 100.0, clock=clock)
    failed = tally.counts.pop("failed")
    assert 1 <= failed <= queue.batch_size
    assert tally.total == before - failed
    nothing_is_held(queue)
    row = FILL[queue.name][0].objects.filter(**{queue.reason: "a bug"}).first()
    assert (row.attempts, row.due_at > timezone.now() - timedelta(seconds=1)) == (1, True)


def test_what_fails_for_the_twentieth_time_waits_as_well(queue, workspace):
    """Its wait is not taken for one that a wrong clock wrote (I29)."""
    now = timezone.now()
    rows = queue.rows(now).filter(workspace_id=workspace.pk)
    claim = due.claim(rows, now=now, record=queue.record)
    claim.row.attempts = 20
    assert queue.failed(claim, ZeroDivisionError("a bug")) == "failed"
    assert not queue.rows(now).filter(due.free(timezone.now(), wait=queue.wait), pk=claim.row.pk)


def test_a_second_worker_leaves_the_queue_to_the_first(queue, workspace):
    clock, seen, before = Clock(), [], due_now(queue, workspace)

    def happens(_: Drain) -> None:
        seen.append(queue.drain(workspace.pk, 5.0))

    costly(queue, clock, at=1, happens=happens).drain(workspace.pk, 100.0, clock=clock)
    # Of a single row there is nothing left to be at.
    assert [(one.busy, one.total) for one in seen] == [(before > 1, 0)]
