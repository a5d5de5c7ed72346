"""What programs are told of a status: the truth last, and once."""

from datetime import timedelta

import pytest

from orders.models import Order
from properties.domain.editing import due_now
from properties.models import Property
from tests.crm_sync.receivers import receiving, subscribe
from tests.orders.conftest import now, tell
from tests.orders.test_confirmed import forge, read, wire as stamp
from tests.orders.test_outgoing_messages import told


@pytest.fixture
def receiver(workspace, settings):
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    with receiving() as one:
        subscribe(workspace, one.url)
        yield one


def of_the_order() -> list[dict]:
    return [one for one in told("order.status_changed") if one["data"]["assignmentId"] is None]


@pytest.mark.rule("S10")
@pytest.mark.parametrize("ahead", [timedelta(0), timedelta(minutes=8)])
def test_what_a_read_says_against_an_event_is_dated_after_it(workspace, scheduled, receiver, ahead):
    read(workspace)
    scheduled.refresh_from_db()
    true = scheduled.status
    forge(workspace, scheduled, "COMPLETED", now() + ahead)
    read(workspace)
    last = max(of_the_order(), key=lambda one: one["timestamp"])  # as docs/outgoing.md says
    assert (last["data"]["newStatus"], last["data"]["confirmed"]) == (true, True)


@pytest.mark.rule("S10")
def test_a_status_that_a_read_has_told_is_not_told_again_as_unconfirmed(
    box, workspace, scheduled, receiver
):
    box.workspace.orders[scheduled.platform_id]["status"] = "CANCELLED"
    happened = stamp(now())
    Order.objects.update(due_at=now())
    read(workspace)  # another event has asked for it, and it is faster than the callback
    moved = {"previousStatus": "IN_PROGRESS", "newStatus": "CANCELLED", "occurredAt": happened}
    tell(workspace, "ORDER_STATUS_UPDATED", orderId=scheduled.platform_id, **moved)
    assert [one["data"]["confirmed"] for one in of_the_order()] == [True]


def test_a_status_is_told_under_the_reference_that_the_property_has_now(
    box, workspace, home, scheduled, receiver, drain_all
):
    box.edit_property("201", {"objectReferenceId": "NEW-1"})
    due_now(Property.objects.all())
    drain_all()
    box.step()
    box.deliver()
    drain_all()
    assert {one["data"]["reference"] for one in told("order.status_changed")[-2:]} == {"NEW-1"}
