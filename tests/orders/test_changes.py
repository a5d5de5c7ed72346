"""Reschedule and cancel: sent once as one user, and mirrored from the answer (§4.4, A34)."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from crm_sync.platform.errors import RejectedError, TransientError
from orders.models import Assignment, Order, StatusChange
from orders.placing import changes
from orders.placing.failures import NoSuchChoice, OutcomeUnknown
from tests.orders.conftest import calls, is_due, lost, mirror, now, set_aside

WHEN = datetime(2026, 12, 1, 9, tzinfo=UTC)


def put(box) -> list[tuple[str, dict]]:
    return [(path, body) for method, path, body, _ in box.calls if method == "PUT"]


@pytest.mark.rule("1 acting user", "3.1 PLACED → CANCELLED", "4.4 cancel; acting user", "9 rule 4")
def test_an_order_is_cancelled_in_the_name_of_a_user(box, place, drain_all):
    order = place("GROUND_PHOTO", "FLOOR_PLAN")
    done = changes.cancel(order, user="AGENT-2", reason="sold", now=now())
    assert (done.pk, done.status) == (order.pk, "CANCELLED")
    assert set(Assignment.objects.values_list("status", flat=True)) == {"CANCELLED"}
    path = f"/v1/orders/{order.platform_id}/cancel"
    assert put(box) == [(path, {"userId": "102", "reason": "sold"})]
    box.deliver()
    drain_all()
    order.refresh_from_db()
    assert (order.status, order.due_at > now() + timedelta(hours=23)) == ("CANCELLED", True)


@pytest.mark.rule("4.6 lists", "8 page size")
def test_a_user_on_the_last_page_is_found(box, place):
    order = place()
    for number in range(250):  # the list can neither be filtered nor sorted (§4.6)
        user = {"id": f"9{number:03}", "userReferenceId": f"AGENT-9{number:03}"}
        box.workspace.users[user["id"]] = user
    changes.cancel(order, user="AGENT-9249", now=now())
    assert put(box)[-1][1] == {"userId": "9249"}


@pytest.mark.rule(
    "3.2 PHOTOGRAPHER_ASSIGNED → RESCHEDULE_IN_PROCESS; SCHEDULED → RESCHEDULE_IN_PROCESS",
    "3.2 RESCHEDULE_IN_PROCESS → PHOTOGRAPHER_ASSIGNED",
    "4.4 reschedule",
    "9 rule 4",
)
def test_an_assignment_is_rescheduled(box, place, drain_all):
    order = place("GROUND_PHOTO", "FLOOR_PLAN")
    box.step()
    box.deliver()
    drain_all()
    first, second = Assignment.objects.order_by("platform_id")
    changes.reschedule(
        order, user="AGENT-1", assignment=first.platform_id, proposed_at=WHEN, now=now()
    )
    drain_all()  # what the answer leaves out is read
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.status, second.status) == ("RESCHEDULE_IN_PROCESS", "PHOTOGRAPHER_ASSIGNED")
    assert (first.photographer, first.scheduled_at) == ({}, None)
    assert put(box)[-1] == (
        f"/v1/orders/{order.platform_id}/reschedule",
        {
            "userId": "101",
            "assignmentId": first.platform_id,
            "proposedAt": "2026-12-01T09:00:00Z",
        },
    )
    for _ in range(2):
        box.advance(first.platform_id)
    box.deliver()
    drain_all()
    first.refresh_from_db()
    assert (first.status, first.scheduled_at) == ("SCHEDULED", WHEN)
    changes.reschedule(order, user="AGENT-1", assignment=first.platform_id, now=now())
    first.refresh_from_db()
    assert first.status == "RESCHEDULE_IN_PROCESS"
    assert StatusChange.objects.filter(is_listed=False).count() == 0


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"user": "NOBODY"}, "no user 'NOBODY' on the platform"),
        ({"user": "AGENT-1", "assignment": "99"}, "has no assignment '99'; there is: "),
    ],
)
def test_a_wrong_choice_is_named_and_sends_nothing(box, place, wishes, message):
    order = place()
    before = mirror()
    with pytest.raises(NoSuchChoice, match=message):
        changes.reschedule(order, now=now(), **wishes)
    assert calls(box, "PUT") == []
    assert mirror() == before


def test_what_the_state_does_not_allow_is_refused_and_the_order_is_read(box, place):
    order = place()
    before = mirror()
    with pytest.raises(RejectedError, match="409 there is no assignment that can be rescheduled"):
        changes.reschedule(order, user="AGENT-1", now=now())
    assert mirror() == before
    assert is_due(order)


def test_a_change_without_a_clear_answer_is_read_and_never_repeated(box, place, wire, drain_all):
    order = place()
    wire.after["/cancel"] = lost
    with pytest.raises(OutcomeUnknown, match=f"whether order {order.platform_id} was changed"):
        changes.cancel(order, user="AGENT-1", now=now())
    assert len(calls(box, "PUT")) == 1
    assert is_due(order)
    drain_all()
    order.refresh_from_db()
    assert order.status == "CANCELLED"
    assert len(calls(box, "PUT")) == 1


def test_a_change_that_surely_was_not_made_is_no_riddle(box, place, wire):
    order = place()
    set_aside(order)
    wire.answers["/cancel"] = ("429 Too Many Requests", b"")
    with pytest.raises(TransientError):
        changes.cancel(order, user="AGENT-1", now=now())
    assert not is_due(order)


def test_an_answer_without_the_order_is_followed_by_a_read(box, place, wire, drain_all):
    order = place()
    wire.answers["/cancel"] = ("204 No Content", b"")
    assert changes.cancel(order, user="AGENT-1", now=now()).status == "PLACED"
    assert is_due(order)


@pytest.mark.parametrize(
    "told", [{"status": "OK"}, {"success": True}, {"id": "77", "status": "CANCELLED"}]
)
def test_an_answer_that_does_not_name_the_order_sets_no_status_and_is_followed_by_a_read(
    box, place, wire, told
):
    order = place()
    before = Order.objects.get(pk=order.pk)
    wire.answers["/cancel"] = ("200 OK", json.dumps(told).encode())
    after = changes.cancel(order, user="AGENT-1", now=now())
    assert (after.status, after.observed) == (before.status, before.observed)
    assert is_due(order)


@pytest.mark.parametrize("name", ["order", "data"])
def test_an_answer_may_have_the_order_in_an_object_of_its_own(box, place, wire, name):
    order = place()
    told = {name: {"id": order.platform_id, "status": "CANCELLED"}}
    wire.answers["/cancel"] = ("200 OK", json.dumps(told).encode())
    assert changes.cancel(order, user="AGENT-1", now=now()).status == "CANCELLED"
