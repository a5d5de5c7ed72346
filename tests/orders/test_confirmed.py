"""A status that a callback alone tells is a hint until our own read shows it (S10, S11)."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.core import mail
from django.urls import reverse
from django.utils.timezone import now

from crm_sync import hooks
from crm_sync.inbox import store
from crm_sync.models import ReceivedEvent
from crm_sync.work import turn
from orders.models import Assignment, Material, MaterialFile, MaterialSet, Order, StatusChange
from orders.models.news import News
from orders.people import mail_queue
from orders.people.preferences import choose
from tests.orders.conftest import is_due, set_aside, tell
from tests.orders.test_replay import everything

SOON = timedelta(minutes=8)  # ahead of the platform's clock, and tolerated


def wire(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def forge(workspace, order: Order, status: str, moment: datetime) -> None:
    """Tell with the right secret what is not true of the order."""
    moved = {"previousStatus": order.status, "newStatus": status, "occurredAt": wire(moment)}
    tell(workspace, "ORDER_STATUS_UPDATED", orderId=order.platform_id, **moved)
    order.refresh_from_db()


def forge_assignment(workspace, assignment: Assignment, status: str, moment: datetime) -> None:
    ids = {"orderId": assignment.order.platform_id, "assignmentId": assignment.platform_id}
    moved = {"previousStatus": assignment.status, "newStatus": status}
    tell(workspace, "ASSIGNMENT_STATUS_UPDATED", **ids, **moved, occurredAt=wire(moment))
    assignment.refresh_from_db()


def read(workspace) -> None:
    turn.take(hooks.queue("orders"), workspace.pk, seconds=20.0)
    turn.take(hooks.queue("assignments"), workspace.pk, seconds=20.0)


@pytest.fixture
def reader(workspace) -> User:
    """Return somebody who wants mail about everything but appointments."""
    person = User.objects.create(username="reader", email="reader@example.com", is_staff=True)
    for codename in ("view_order", "view_placement", "all_workspaces"):
        person.user_permissions.add(Permission.objects.get(codename=codename))
    since = now() - timedelta(hours=1)
    kinds = [kind for kind in News if kind is not News.SCHEDULED]
    choose(person, kinds=kinds, only_mine=False, time_zone="", language="", now=since)
    return person


def mails(workspace) -> list[str]:
    """Let the time pass after which news is told; return the subjects of the mails."""
    news = StatusChange.objects.filter(news__isnull=False)
    news.update(created_at=now() - mail_queue.SETTLES - timedelta(seconds=1))
    turn.take(hooks.queue("notices"), workspace.pk, seconds=20.0)
    return [one.subject for one in mail.outbox]


@pytest.mark.rule("S10")
@pytest.mark.parametrize("moment", [timedelta(0), SOON])
def test_a_forged_end_is_marked_told_to_nobody_and_reverted_by_the_read(
    workspace, scheduled, reader, admin_client, moment
):
    order, assignment = scheduled, scheduled.assignments.first()
    read(workspace)
    order.refresh_from_db()
    assignment.refresh_from_db()
    true = (order.status, assignment.status)
    assert order.is_confirmed
    forge(workspace, order, "COMPLETED", now() + moment)
    forge_assignment(workspace, assignment, "DELIVERED", now() + moment)
    assert (order.status, order.is_confirmed) == ("COMPLETED", False)
    assert (assignment.status, assignment.is_confirmed) == ("DELIVERED", False)
    assert is_due(order)
    for address in (
        reverse("admin:orders_order_change", args=[order.pk]),
        reverse("admin:orders_order_changelist"),
        reverse("admin:properties_property_change", args=[order.real_estate_property_id]),
    ):
        page = admin_client.get(address).content.decode()
        assert page.count("not confirmed</span>") == 2, address
    page = admin_client.get(reverse("admin:orders_order_change", args=[order.pk])).content.decode()
    assert "no mail is sent until then" in page
    assert "It was delivered." not in page
    assert mails(workspace) == []
    read(workspace)
    order.refresh_from_db()
    assignment.refresh_from_db()
    assert (order.status, assignment.status) == true
    assert order.is_confirmed
    assert assignment.is_confirmed
    assert mails(workspace) == []


@pytest.mark.rule("S10")
def test_what_the_read_confirms_is_told_once(box, workspace, scheduled, reader, drain_all):
    assignment = scheduled.assignments.get(products=["FLOOR_PLAN"])
    there = box.workspace.assignments[assignment.platform_id]
    there["status"] = "DELIVERED"
    forge_assignment(workspace, assignment, "DELIVERED", now())
    assert mails(workspace) == []
    # The same once more, while the read is on its way: it is asked for again.
    set_aside(scheduled)
    forge_assignment(workspace, assignment, "DELIVERED", now() + timedelta(seconds=1))
    assert is_due(scheduled)
    read(workspace)
    assignment.refresh_from_db()
    assert assignment.is_confirmed
    assert mails(workspace) == ["Orders: 1 was delivered"]
    read(workspace)
    lines = StatusChange.objects.filter(assignment=assignment, news="DELIVERED")
    assert lines.count() == 1


@pytest.mark.parametrize(("after", "told"), [(timedelta(seconds=1), 1), (timedelta(minutes=5), 2)])
def test_what_a_read_has_just_shown_is_not_told_again_by_its_event(
    box, workspace, scheduled, reader, after, told
):
    """Much later, it is the same once more: the events between were lost."""
    assignment = scheduled.assignments.get(products=["GROUND_PHOTO"])
    before = assignment.status
    box.workspace.assignments[assignment.platform_id]["status"] = "ACTION_REQUIRED"
    Order.objects.filter(pk=scheduled.pk).update(due_at=now())
    read(workspace)
    assignment.refresh_from_db()
    assert (before, assignment.status) == ("SCHEDULED", "ACTION_REQUIRED")
    assignment.status = before
    forge_assignment(workspace, assignment, "ACTION_REQUIRED", assignment.status_at + after)
    lines = StatusChange.objects.filter(assignment=assignment, new="ACTION_REQUIRED")
    assert list(lines.order_by("pk").values_list("source", "was_stale")) == [
        ("READ", False),
        ("CALLBACK", told == 1),
    ]
    assert lines.filter(news="ACTION").count() == told


def test_while_the_platform_cannot_be_asked_the_mark_stays(box, workspace, scheduled, reader):
    box.faults.set({"rules": [{"fault": "SERVER_ERROR"}]})
    forge(workspace, scheduled, "CANCELLED", now())
    read(workspace)
    scheduled.refresh_from_db()
    assert (scheduled.status, scheduled.is_confirmed) == ("CANCELLED", False)
    assert scheduled.due_at is not None
    assert mails(workspace) == []


@pytest.mark.rule("S10")
def test_a_forged_announcement_downloads_nothing(workspace, scheduled, folder, drain_all):
    assignment = scheduled.assignments.first()
    ids = {"orderId": scheduled.platform_id, "assignmentId": assignment.platform_id}
    said = {"product": "GROUND_PHOTO", "visualType": "POST", "url": "https://evil.example/a.jpg"}
    tell(workspace, "VISUALS_READY", timestamp=wire(now()), **ids, **said)
    drain_all()
    ready = MaterialSet.objects.get(assignment=assignment)
    assert ready.problem.startswith("Announced as ready, but")
    assert (Material.objects.count(), MaterialFile.objects.count()) == (0, 0)


@pytest.mark.rule("S11")
def test_an_event_that_an_ahead_one_hides_asks_for_a_read(box, workspace, scheduled):
    assignment = scheduled.assignments.get(products=["GROUND_PHOTO"])
    forge_assignment(workspace, assignment, "IN_PRODUCTION", now() + SOON)
    assert not assignment.is_confirmed
    Order.objects.update(due_at=now())
    read(workspace)
    assignment.refresh_from_db()
    assert (assignment.status, assignment.is_confirmed) == ("SCHEDULED", True)
    # What is real now is older than what was forged, and must not be lost because of that.
    Assignment.objects.update(due_at=None)
    set_aside(scheduled)
    box.workspace.assignments[assignment.platform_id]["status"] = "IN_PRODUCTION"
    forge_assignment(workspace, assignment, "IN_PRODUCTION", now())
    assert assignment.status == "SCHEDULED"
    assert Assignment.objects.get(due_at__lte=now()) == assignment
    read(workspace)
    assignment.refresh_from_db()
    assert (assignment.status, assignment.is_confirmed) == ("IN_PRODUCTION", True)


def test_an_event_that_is_only_late_asks_for_none(workspace, scheduled):
    assignment = scheduled.assignments.get(products=["GROUND_PHOTO"])
    assignment.refresh_from_db()
    Assignment.objects.update(due_at=None)
    set_aside(scheduled)
    forge_assignment(workspace, assignment, "CREATED", assignment.status_at - timedelta(hours=1))
    assert not is_due(scheduled)
    assert not Assignment.objects.filter(due_at__isnull=False).exists()


@pytest.mark.rule("S11")
def test_an_announcement_that_an_ahead_one_hides_is_fetched(workspace, scheduled):
    assignment = scheduled.assignments.first()
    ids = {"orderId": scheduled.platform_id, "assignmentId": assignment.platform_id}
    said = {"product": "GROUND_PHOTO", "visualType": "POST"}
    tell(workspace, "VISUALS_READY", timestamp=wire(now() + SOON), **ids, **said)
    MaterialSet.objects.update(due_at=None, fetched_at=now())
    real = now()
    tell(workspace, "VISUALS_READY", timestamp=wire(real), **ids, **said)
    row = MaterialSet.objects.get(assignment=assignment)
    assert (row.ready_at, row.due_at is not None) == (real, True)


@pytest.mark.rule("S10")
def test_ten_records_that_come_a_hundred_times_change_nothing(box, workspace, place, drain_all):
    place()
    while box.step():
        box.deliver()
    drain_all()
    bodies = [bytes(one.body) for one in ReceivedEvent.objects.order_by("-pk")[:10]]
    before = everything()
    for _ in range(100):
        for body in bodies:
            what = {"headers": {}, "method": "POST", "source": ReceivedEvent.Source.CALLBACK}
            store.store(workspace.pk, body, **what, now=now())
    turn.take(hooks.queue(store.QUEUE), workspace.pk, seconds=60.0)
    after = everything()
    copies = ReceivedEvent.objects.filter(state="DUPLICATE").count()
    for name in before.keys() - {"ReceivedEvent"}:
        assert after[name] == before[name], name
    assert copies >= len(bodies)
