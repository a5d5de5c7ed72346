"""What holds for a turn of every queue, on a clock that moves with the work alone.

It ends within its seconds and what one piece of work takes, whatever stops it; it works or gives
back every row; and what it left is done by the next.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.utils import timezone

from crm_sync import hooks
from crm_sync.models import (
    Alarm,
    ReceivedEvent,
    Slot,
    Subscription,
    WebhookMonitor,
    Workspace,
    due,
)
from crm_sync.outgoing import outbox
from crm_sync.outgoing.outbox import Message
from crm_sync.work import leases, queues, turn
from crm_sync.work.queues import RowQueue, Turn
from orders.calendar import reminders
from orders.models import (
    Assignment,
    Material,
    MaterialFile,
    MaterialSet,
    Order,
    PersonSettings,
    Placement,
    ReminderSettings,
    StatusChange,
    Target,
    TargetFile,
    UserList,
)
from orders.models.news import News
from orders.people.preferences import choose
from orders.platform_users import user_list
from properties import recurring
from properties.domain import undo_steps
from properties.domain.change_selection import ChangeSelection
from properties.domain.editing import create
from properties.models import Fetch, Import, Property, Recurring, Sender, Source, Undo
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


def fill_targets(workspace, _) -> None:
    now = timezone.now()
    ready = MaterialSet.objects.create(workspace=workspace, ready_at=now, fetched_at=now)
    one = Material.objects.create(material_set=ready, platform_id="M-1")
    for n in range(BACKLOG):
        target = Target.objects.create(
            workspace=workspace, name=f"T-{n}", kind="FOLDER", address="/nowhere", due_at=now
        )
        TargetFile.objects.create(workspace=workspace, target=target, material=one, due_at=now)


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
            state=Placement.State.CONFIRMED,
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
        choose(
            person, kinds=[News.CANCELLED], only_mine=False, time_zone="", language="", now=since
        )


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


def fill_recurring(workspace, _) -> None:
    recurring.begin(workspace.pk, timezone.now() - recurring.FIRST_AFTER)


def fill_undos(workspace, user) -> None:
    for _ in range(BACKLOG):
        undo_steps.request(workspace, ChangeSelection(), up_to=0, actor=user, now=timezone.now())


ALWAYS_FINE = Server(answering(b""))


def fill_outgoing(workspace, _) -> None:
    now = timezone.now()
    for _ in range(BACKLOG):
        subscribe(workspace, ALWAYS_FINE.url)
    outbox.tell(workspace.pk, [Message("property.in_sync", now, {})], now=now)


def fill_alarms(workspace, _) -> None:
    now = timezone.now()
    known = {"workspace": workspace, "kind": "source_away", "page": "/", "began_at": now}
    for n in range(BACKLOG):
        Alarm.objects.create(**known, key=f"{n}", due_at=now)


def fill_reminders(workspace, _) -> None:
    now = timezone.now()
    for n in range(BACKLOG):
        reminders.choose(User.objects.create(username=f"R-{n}"), hour=7, now=now)


FILL = {
    "reminders": (ReminderSettings, fill_reminders),
    "alarms": (Alarm, fill_alarms),
    "outgoing": (Subscription, fill_outgoing),
    "properties": (Property, fill_properties),
    "received_events": (ReceivedEvent, fill_received_events),
    "orders": (Order, fill_orders),
    "assignments": (Assignment, fill_assignments),
    "materials": (MaterialSet, fill_materials),
    "files": (MaterialFile, fill_files),
    "targets": (Target, fill_targets),
    "webhooks": (WebhookMonitor, fill_webhooks),
    "users": (UserList, fill_users),
    "placements": (Placement, fill_placements),
    "imports": (Import, fill_imports),
    "notices": (PersonSettings, fill_notices),
    "sources": (Source, fill_sources),
    "source_mails": (Fetch, fill_source_mails),
    "pull": (Recurring, fill_recurring),
    "sample": (Recurring, fill_recurring),
    "sweep": (Recurring, fill_recurring),
    "undos": (Undo, fill_undos),
}


def test_every_queue_of_rows_is_among_those_that_are_tried():
    assert {one.name for one in hooks.plugged().queues if isinstance(one, RowQueue)} == set(FILL)


@pytest.fixture(params=sorted(FILL))
def queue(request, settings, workspace, admin_user, monkeypatch) -> RowQueue:
    """Return a queue with a backlog larger than the budget."""
    settings.ORDER_READS_A_MINUTE = 100_000
    settings.MATERIALS_DOWNLOAD = True
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    monkeypatch.setattr(queues, "ending", threading.Event())
    # What is put off (I11) comes due again after half a second at least: on a slow machine that
    # is within the turns of the same test, and it would be counted twice. So here it waits a
    # minute.
    monkeypatch.setattr(due, "BACKOFF_BASE", 60.0)
    monkeypatch.setitem(due.backoff.__kwdefaults__, "rng", lambda: 1.0)
    FILL[request.param][1](workspace, admin_user)
    one = hooks.queue(request.param)
    return replace(one, batch_size=min(one.batch_size, 2))


def costly(
    queue: RowQueue, clock: Clock, *, at: int = -1, happens: Callable[[Turn], None] | None = None
) -> RowQueue:
    """Let each piece of work take a second, and something happen in the midst of one of them."""
    begun = []

    def work(claims, one):
        begun.append(claims)
        if len(begun) == at and happens is not None:
            happens(one)
        outcomes = queue.work(claims, one)
        clock.now += COST
        return outcomes

    return replace(queue, work=work)


def due_now(queue: RowQueue, workspace: Workspace) -> int:
    rows = queue.rows(timezone.now()).filter(workspace_id=workspace.pk)
    return rows.filter(due.free(timezone.now())).count()


def leased(queue: RowQueue) -> int:
    return FILL[queue.name][0].objects.filter(lease_token__isnull=False).count()


def nothing_is_held(queue: RowQueue) -> None:
    # On a busy machine the thread that renews leases may just be giving back what was not begun.
    until = time.monotonic() + 5
    while leased(queue) and time.monotonic() < until:
        time.sleep(0.05)
    assert leased(queue) == 0
    assert not Slot.objects.filter(lease_token__isnull=False).exists()


def finish(queue: RowQueue, workspace: Workspace) -> int:
    """Take as many turns as it needs, and say how many rows came to an end."""
    done = 0
    for _ in range(20):
        tally = turn.take(queue, workspace.pk, seconds=60.0)
        done += tally.total
        if not tally.total:
            return done
    raise AssertionError("it does not come to an end")


def test_a_turn_ends_with_its_seconds_and_the_next_goes_on(queue, workspace):
    clock, before = Clock(), due_now(queue, workspace)
    tally = turn.take(costly(queue, clock), workspace.pk, seconds=BUDGET, clock=clock)
    assert clock.now <= BUDGET + COST
    is_longer = before > BUDGET * queue.batch_size
    assert tally.more == is_longer
    assert tally.total == (BUDGET * queue.batch_size if is_longer else before)
    nothing_is_held(queue)
    assert due_now(queue, workspace) == before - tally.total
    assert finish(queue, workspace) == before - tally.total


def test_a_turn_asks_for_another_beside_it_and_for_one_after_it(
    queue, workspace, rings, django_capture_on_commit_callbacks
):
    clock, before = Clock(), due_now(queue, workspace)
    one_by_one = costly(replace(queue, batch_size=1), clock)
    with django_capture_on_commit_callbacks(execute=True):
        tally = turn.take(one_by_one, workspace.pk, seconds=BUDGET, clock=clock)
    asked = rings.count((queue.name, workspace.pk))
    assert tally.more == (before > BUDGET)
    # One once it has an answer, where it has a second slot, and one at its end, if more is due.
    can_grow = queue.calls or queue.slots > 1
    assert (asked >= 1 + can_grow) if tally.more else (asked <= 1)


def lose_the_slots(_: Turn) -> None:
    Slot.objects.filter(lease_token__isnull=False).update(
        lease_token=SOMEBODY_ELSE, lease_until=timezone.now() + timedelta(seconds=60)
    )


def pause(one: Turn) -> None:
    Workspace.objects.update(paused_until=timezone.now() + timedelta(seconds=60))
    one.workspace.refresh_from_db()


def end_the_process(_: Turn) -> None:
    queues.ending.set()


def free_everything(now: datetime) -> None:
    Slot.objects.update(lease_token=None, lease_until=None)
    Workspace.objects.update(paused_until=None)
    queues.ending.clear()


@pytest.mark.parametrize("happens", [pause, end_the_process])
def test_what_ends_it_in_the_middle_leaves_the_rest_due(queue, workspace, happens):
    if happens is pause and not queue.calls:
        happens = end_the_process  # a pause is no concern of a queue without calls
    clock, before = Clock(), due_now(queue, workspace)
    at = min(2, before)
    tally = turn.take(
        costly(queue, clock, at=at, happens=happens), workspace.pk, seconds=100.0, clock=clock
    )
    assert clock.now <= at * COST + COST
    assert tally.total <= at * queue.batch_size
    assert leased(queue) == 0
    free_everything(timezone.now())
    # An import that was given back, and a property whose push begins no call in a pause.
    ended = tally.total - sum(tally.counts.get(one, 0) for one in ("goes on", "put back"))
    assert due_now(queue, workspace) == before - ended
    assert finish(queue, workspace) == before - ended


def test_who_lost_its_slot_to_another_worker_begins_nothing_more(queue, workspace):
    clock, before = Clock(), due_now(queue, workspace)

    def happens(one: Turn) -> None:
        lose_the_slots(one)
        one.slot.until = timezone.now() - timedelta(seconds=1)  # it was suspended for so long

    at = min(2, before)
    tally = turn.take(
        costly(queue, clock, at=at, happens=happens), workspace.pk, seconds=100.0, clock=clock
    )
    assert tally.total <= at * queue.batch_size
    assert leased(queue) == 0
    free_everything(timezone.now())
    assert due_now(queue, workspace) == before - tally.total


def test_a_row_at_which_our_own_code_fails_does_not_stop_the_others(queue, workspace):
    def bug(_: Turn) -> None:
        raise ZeroDivisionError("a bug")

    clock, before = Clock(), due_now(queue, workspace)
    # The last, so that it is not tried again in the same turn.
    at = -(-before // queue.batch_size)
    tally = turn.take(
        costly(queue, clock, at=at, happens=bug), workspace.pk, seconds=100.0, clock=clock
    )
    failed = tally.counts.pop("failed")
    assert 1 <= failed <= queue.batch_size
    assert tally.total == before - failed
    nothing_is_held(queue)
    row = FILL[queue.name][0].objects.filter(**queue.failure("a bug")).first()
    assert (row.attempts, row.due_at > timezone.now() - timedelta(seconds=1)) == (1, True)


def test_what_fails_for_the_twentieth_time_waits_as_well(queue, workspace):
    """Its wait is not taken for one that a wrong clock wrote (I29)."""
    now = timezone.now()
    rows = queue.rows(now).filter(workspace_id=workspace.pk)
    claim = leases.claim(rows, now=now, record=queue.record)
    claim.row.attempts = 20
    assert queue.failed(claim, ZeroDivisionError("a bug")) == "failed"
    assert not queue.rows(now).filter(due.free(timezone.now(), wait=queue.wait), pk=claim.row.pk)


def test_no_turn_of_another_worker_has_the_same_row(queue, workspace):
    before, seen = due_now(queue, workspace), []
    alone = costly(queue, Clock(), at=1, happens=lambda _: seen.append(leased(queue)))

    def happens(_: Turn) -> None:
        turn._stores.clear()  # as in another process, which shares nothing with this one
        seen.append(turn.take(alone, workspace.pk, seconds=100.0).total)

    both = costly(queue, Clock(), at=1, happens=happens)
    mine = turn.take(both, workspace.pk, seconds=100.0).total
    assert mine + seen[-1] + finish(queue, workspace) == before
    nothing_is_held(queue)


@pytest.mark.parametrize("slots_left", [0, 1])
def test_where_all_slots_are_held_nothing_is_claimed(queue, workspace, slots_left):
    before = due_now(queue, workspace)
    count = workspace.max_under_way if queue.calls else queue.slots
    turn.take(replace(queue, rows=lambda now: queue.rows(now).none()), workspace.pk)  # makes them
    kind = "" if queue.calls else queue.name
    mine = Slot.objects.filter(workspace=workspace, kind=kind)
    kept = mine.order_by("-number")[:slots_left].values_list("pk", flat=True)
    mine.exclude(pk__in=list(kept)).update(
        lease_token=SOMEBODY_ELSE, lease_until=timezone.now() + timedelta(seconds=60)
    )
    assert mine.count() == count
    if queue.leave and slots_left:
        return  # the last ones are not for this queue
    tally = turn.take(queue, workspace.pk, seconds=100.0)
    assert (tally.busy, tally.total > 0) == (slots_left == 0, slots_left > 0)
    assert leased(queue) == 0
    assert due_now(queue, workspace) <= before
