"""The assignment itself is read for what its order's detail is silent about (§4.5, §6.3, I23)."""

import json
import random
from datetime import UTC, date, datetime, timedelta

import pytest
import time_machine

from crm_sync import hooks
from crm_sync.work import rings, turn
from orders.models import Assignment, Order, RateLimit
from orders.placing import changes
from tests.orders.conftest import calls, now, tell, timeline

KNOWN = {
    "photographer": {"id": "51", "name": "Photographer One", "phone": "+41"},
    "scheduled_at": datetime(2026, 12, 1, 9, tzinfo=UTC),
    "estimated_delivery_date": date(2026, 12, 3),
    "action_required": "",
    "products": ["GROUND_PHOTO"],
}
WHOLE = {"products": ["GROUND_PHOTO"], "assignmentType": "PHOTO"}


@pytest.fixture
def order(place) -> Order:
    """Return an order of whose assignment all is known, though its platform tells little."""
    placed = place()
    Assignment.objects.update(status="SCHEDULED", **KNOWN)
    Order.objects.update(due_at=None)
    return placed


def facts(assignment: Assignment) -> dict:
    return Assignment.objects.values(*KNOWN).get(pk=assignment.pk)


def drain(name: str, order: Order) -> dict[str, int]:
    return turn.take(hooks.queue(name), order.workspace_id, seconds=20.0).counts


def read(order: Order) -> None:
    Order.objects.filter(pk=order.pk).update(due_at=now())
    assert drain("orders", order) == {"read": 1}


def answer(wire, order: Order, item: dict | None) -> Assignment:
    """Let the platform tell this of the order's assignment; None: no assignments at all."""
    row = order.assignments.get()
    detail = {"id": order.platform_id, "status": "IN_PROGRESS"}
    if item is not None:
        detail["assignments"] = [{"id": row.platform_id, "status": "SCHEDULED"} | item]
    body = json.dumps(detail).encode()
    wire.answers[f"/v1/orders/{order.platform_id}"] = ("200 OK", body)
    return row


def answer_itself(wire, row: Assignment, document: dict) -> None:
    body = json.dumps({"id": row.platform_id, "status": "SCHEDULED"} | document).encode()
    wire.answers[f"/v1/assignments/{row.platform_id}"] = ("200 OK", body)


# --- when it is read


@pytest.mark.rule("4.5 GET assignment", "6.2 PHOTOGRAPHER_BOOKED", "6.3 PHOTOGRAPHER_BOOKED")
def test_a_booked_photographer_is_read_from_the_assignment(box, place, drain_all):
    order = place()
    assignment = order.assignments.get()
    box.advance(assignment.platform_id)
    box.deliver()
    box.calls.clear()
    drain_all()
    assignment.refresh_from_db()
    there = box.workspace.assignments[assignment.platform_id]
    assert assignment.photographer == there["photographer"]
    assert assignment.read_at is not None
    assert calls(box) == [("GET", f"/v1/assignments/{assignment.platform_id}")]


def test_where_orders_are_brief_an_order_is_followed_to_its_end(box, place, drain_all):
    box.switches["orderDetail"] = "brief"
    box.switches["placed"] = "id"
    order = place("GROUND_PHOTO")
    drain_all()
    assignment = order.assignments.get()
    there = box.workspace.assignments[assignment.platform_id]
    for _ in range(4):
        box.advance(assignment.platform_id)
        box.deliver()
        drain_all()
        Order.objects.update(due_at=now())  # a regular read, which erases nothing
        drain_all()
        assignment.refresh_from_db()
        assert assignment.status == there["status"]
        assert assignment.photographer == there.get("photographer", {})
        assert assignment.products == ["GROUND_PHOTO"]
        assert _moment(assignment.scheduled_at) == _moment(there.get("scheduledAt"))
    order.refresh_from_db()
    assert (order.status, assignment.status) == ("COMPLETED", "DELIVERED")


def test_where_orders_are_brief_what_no_event_told_is_read_too(box, place, drain_all):
    box.switches["orderDetail"] = "brief"
    order = place()
    assignment = order.assignments.get()
    box.faults.set({"rules": [{"fault": "LOST"}]})
    for _ in range(2):
        box.advance(assignment.platform_id)
    box.deliver()
    Order.objects.update(due_at=now())
    drain_all()
    assignment.refresh_from_db()
    there = box.workspace.assignments[assignment.platform_id]
    assert (assignment.status, assignment.photographer) == ("SCHEDULED", there["photographer"])
    assert _moment(assignment.scheduled_at) == _moment(there["scheduledAt"])
    changes.reschedule(order, user="AGENT-1", now=now())
    drain_all()
    assignment.refresh_from_db()
    assert (assignment.scheduled_at, assignment.photographer) == (None, {})


@pytest.mark.rule("1 order")
def test_an_order_that_is_answered_by_its_id_alone_is_read_at_once(box, place, drain_all):
    box.switches["placed"] = "id"
    order = place("GROUND_PHOTO", "FLOOR_PLAN")
    assert (order.status, order.assignments.count()) == ("", 0)
    drain_all()
    order.refresh_from_db()
    assert (order.status, order.assignments.count()) == ("PLACED", 2)


@pytest.mark.parametrize(
    "item",
    [
        None,  # the detail names no assignments
        {},
        {"assignmentType": "PHOTO", "scheduledAt": "2026-12-01T09:00:00Z"},
        WHOLE,
        WHOLE | {"photographer": {"id": "51"}, "scheduledAt": "2026-12-01T09:00:00Z"},
    ],
)
def test_what_a_detail_is_silent_about_is_kept_and_read(order, wire, item):
    row = answer(wire, order, item)
    read(order)
    assert facts(row) == KNOWN
    assert drain("assignments", order) == {"read": 1}
    row.refresh_from_db()
    # The sandbox has none of it: that is what the assignment itself says.
    assert (row.photographer, row.scheduled_at, row.products) == ({}, None, ["GROUND_PHOTO"])


def test_a_detail_that_tells_all_that_is_known_is_enough(order, wire):
    told = {
        "photographer": {"id": 51, "name": "Photographer One", "phone": "+41"},
        "scheduledAt": "2026-12-01T09:00:00Z",
        "estimatedDeliveryAt": "2026-12-03",
    }
    row = answer(wire, order, WHOLE | told)
    read(order)
    assert facts(row) == KNOWN
    assert drain("assignments", order) == {}


def test_the_bare_name_of_somebody_else_is_written_and_read(order, wire):
    told = {"scheduledAt": "2026-12-01T09:00:00Z", "estimatedDeliveryAt": "2026-12-03"}
    row = answer(wire, order, WHOLE | told | {"photographer": {"id": 52}})
    read(order)
    assert facts(row)["photographer"] == {"id": "52"}
    assert drain("assignments", order) == {"read": 1}


# --- what it says


@pytest.mark.parametrize("member", ["photographer", "scheduledAt", "estimatedDeliveryAt"])
def test_an_explicit_null_clears_in_any_detail(order, wire, member):
    row = answer(wire, order, {member: None})
    read(order)
    cleared = {name for name, value in facts(row).items() if not value}
    column = {
        "photographer": "photographer",
        "scheduledAt": "scheduled_at",
        "estimatedDeliveryAt": "estimated_delivery_date",
    }[member]
    assert cleared == {column, "action_required"}


@pytest.mark.parametrize("document", [{}, {"photographer": {"id": "51"}}, {"assignmentType": "X"}])
def test_an_assignment_that_is_not_told_whole_erases_nothing(order, wire, document):
    row = order.assignments.get()
    answer_itself(wire, row, document)
    Assignment.objects.update(due_at=now())
    assert drain("assignments", order) == {"read": 1}
    assert facts(row) == KNOWN


@pytest.mark.rule("4.5 GET assignment")
def test_what_a_whole_assignment_leaves_out_is_cleared(order, wire):
    row = order.assignments.get()
    answer_itself(wire, row, WHOLE | {"scheduledAt": "2026-12-02T09:00:00Z"})
    Assignment.objects.update(due_at=now(), problem="not there")
    assert drain("assignments", order) == {"read": 1}
    row.refresh_from_db()
    assert (row.photographer, row.estimated_delivery_date) == ({}, None)
    assert row.scheduled_at == datetime(2026, 12, 2, 9, tzinfo=UTC)
    assert (row.problem, row.due_at) == ("", None)
    assert timeline(fact="APPOINTMENT", source="READ") == [
        ("APPOINTMENT", "2026-12-01T09:00:00+00:00", "2026-12-02T09:00:00+00:00")
    ]


def test_a_reason_to_act_ends_with_its_status_though_the_detail_is_brief(order, wire):
    Assignment.objects.update(status="ACTION_REQUIRED", action_required="DOCUMENT_UPLOAD_REQUIRED")
    row = answer(wire, order, {"status": "ACTION_REQUIRED"})
    read(order)
    assert facts(row)["action_required"] == "DOCUMENT_UPLOAD_REQUIRED"
    answer(wire, order, {"status": "CREATED"})
    read(order)
    assert facts(row)["action_required"] == ""


@pytest.mark.rule("I23")
def test_an_event_that_comes_during_the_read_is_not_overwritten(order, workspace, wire):
    row = order.assignments.get()
    later = (now() + timedelta(seconds=5)).isoformat()

    def appointment_moves() -> None:
        tell(
            workspace,
            "APPOINTMENT_DATE_UPDATED",
            occurredAt=later,
            orderId=order.platform_id,
            assignmentId=row.platform_id,
            scheduledAt="2026-12-24T09:00:00Z",
        )

    wire.after[f"/v1/assignments/{row.platform_id}"] = appointment_moves
    Assignment.objects.update(due_at=now())
    assert drain("assignments", order) == {"read": 1}
    row.refresh_from_db()
    assert row.scheduled_at == datetime(2026, 12, 24, 9, tzinfo=UTC)


def test_a_read_that_contradicts_a_young_event_is_repeated_soon(order, workspace):
    row = order.assignments.get()
    tell(
        workspace,
        "APPOINTMENT_DATE_UPDATED",
        occurredAt=now().isoformat(),
        orderId=order.platform_id,
        assignmentId=row.platform_id,
        scheduledAt="2026-12-24T09:00:00Z",
    )
    Assignment.objects.update(due_at=now())
    assert drain("assignments", order) == {"read": 1}
    row.refresh_from_db()
    assert row.scheduled_at is None
    assert timedelta(seconds=10) < row.due_at - now() <= timedelta(seconds=15)


# --- where it fails, and how much it may read


def test_an_assignment_that_is_not_there_keeps_what_is_known_and_says_so(order, wire, boss):
    row = answer(wire, order, {})
    wire.answers[f"/v1/assignments/{row.platform_id}"] = ("404 Not Found", b"")
    read(order)
    for _ in range(7):  # a 404 may be too early, but not for ever
        assert drain("assignments", order) == {"put off": 1}
        Assignment.objects.update(due_at=now())
    assert drain("assignments", order) == {"not there": 1}
    assert facts(row) == KNOWN
    row.refresh_from_db()
    assert (row.due_at, row.lease_token) == (None, None)
    assert row.problem == f"GET /v1/assignments/{row.platform_id}: 404"
    page = boss.get(f"/admin/orders/order/{order.pk}/change/").content.decode()
    assert row.problem in page


@pytest.mark.parametrize("body", [b"[]", b'"gone"', b"", b"null"])
def test_an_answer_that_is_no_assignment_is_put_off(order, wire, body):
    row = order.assignments.get()
    wire.answers[f"/v1/assignments/{row.platform_id}"] = ("200 OK", body)
    Assignment.objects.update(due_at=now())
    assert drain("assignments", order) == {"put off": 1}
    row.refresh_from_db()
    assert (row.attempts, row.due_at > now()) == (1, True)
    assert facts(row) == KNOWN


def test_a_brief_order_with_many_assignments_takes_no_more_reads_than_any_other(
    box, workspace, place, settings
):
    box.switches["orderDetail"] = "brief"
    large = place(*["GROUND_PHOTO", "FLOOR_PLAN", "DRONE_PHOTO", "ENERGY_CERTIFICATE"])
    small = place("FLOOR_PLAN")
    settings.ORDER_READS_A_MINUTE = 12  # two at once, then one in six seconds
    RateLimit.objects.all().delete()
    Assignment.objects.update(due_at=None)
    Order.objects.filter(pk=small.pk).update(due_at=None)
    box.calls.clear()
    read(large)
    assert drain("assignments", large) == {"read": 1}
    assert len(calls(box, "GET")) == 2
    assert Assignment.objects.filter(due_at__lte=now(), lease_token=None).count() == 3
    assert hooks.queue("assignments").workspaces(now()) == set()
    RateLimit.objects.update(paid_until=now() + timedelta(seconds=6))  # one is left
    read(small)
    assert drain("assignments", large) == {}


def test_orders_and_assignments_take_turns_where_reads_are_few(box, workspace, place, settings):
    box.switches["orderDetail"] = "brief"
    placed = [place("GROUND_PHOTO", "FLOOR_PLAN") for _ in range(8)]
    settings.ORDER_READS_A_MINUTE = 12
    RateLimit.objects.all().delete()
    started = now()
    Order.objects.update(due_at=started)
    Assignment.objects.update(due_at=started)
    reads, messages = {"orders": 0, "assignments": 0}, []
    shuffle = random.Random(7).shuffle
    for second in range(60):
        with time_machine.travel(started + timedelta(seconds=second), tick=False):
            rings.tick(
                now(),
                lambda *pair: messages.append(pair),
                messages=lambda: len(messages),
                shuffle=shuffle,
            )
            while messages:
                name, pk = messages.pop(0)
                rings.taken(name, pk)
                done = turn.take(hooks.queue(name), pk)
                if name in reads:
                    reads[name] += done.counts.get("read", 0)
    assert len(placed) == 8
    assert 10 <= sum(reads.values()) <= 12
    assert min(reads.values()) >= 4


def _moment(value: object) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else value  # type: ignore[return-value]
