"""Reads of orders: guarded by watermarks, asked for at any time, put off where they fail."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.db import DataError, connection
from django.test.utils import CaptureQueriesContext

from crm_sync import hooks
from crm_sync.work import turn
from orders.models import Assignment, MaterialSet, Order, StatusChange
from tests.orders.conftest import calls, now, tell, timeline


def read(order) -> dict[str, int]:
    Order.objects.filter(pk=order.pk).update(due_at=now() - timedelta(seconds=1))
    return turn.take(hooks.queue("orders"), order.workspace_id, seconds=20.0).counts


@pytest.mark.rule("4.5 GET order")
def test_an_order_that_is_due_is_read_and_scheduled_again(box, place):
    order = place()
    there = box.workspace.orders[order.platform_id]
    there["status"] = "IN_PROGRESS"  # its event never came
    assert read(order) == {"read": 1}
    order.refresh_from_db()
    assert (order.status, order.observed["status"]) == ("IN_PROGRESS", "IN_PROGRESS")
    assert timedelta(seconds=10) < order.due_at - now() < timedelta(minutes=18)
    assert timeline(fact="ORDER_STATUS", source="READ") == [
        ("ORDER_STATUS", "PLACED", "IN_PROGRESS")
    ]


@pytest.mark.parametrize(("status", "looks"), [("PLACED", 0), ("COMPLETED", 1)])
def test_when_an_order_came_to_its_status_is_asked_only_at_its_end(box, place, status, looks):
    order = place()
    box.workspace.orders[order.platform_id]["status"] = status
    read(order)
    with CaptureQueriesContext(connection) as queries:
        assert read(order) == {"read": 1}
    asked = [query for query in queries if 'FROM "orders_statuschange"' in query["sql"]]
    assert len(asked) == looks


def test_an_order_known_by_its_event_alone_is_read_in_full(box, workspace, place, drain_all):
    place()
    kept = place()
    for model in (StatusChange, Assignment):
        model.objects.filter(order=kept).delete()
    kept.placement.delete()
    kept.delete()
    box.advance(box.workspace.orders[kept.platform_id]["assignments"][0])
    box.deliver()
    drain_all()
    order = Order.objects.get(platform_id=kept.platform_id)
    assert order.real_estate_property.object_reference_id == "SEED-1"
    assert order.user_platform_id == "101"
    assert order.placed_at == datetime.fromisoformat(
        box.workspace.orders[order.platform_id]["createdAt"]
    )
    assert order.assignments.get().products == ["GROUND_PHOTO"]


@pytest.mark.rule("I23")
def test_a_slow_read_does_not_overwrite_a_newer_event(box, workspace, place, wire):
    order = place()
    assignment = Assignment.objects.get()
    later = (now() + timedelta(seconds=5)).isoformat()

    def event_comes_meanwhile() -> None:
        tell(
            workspace,
            "ORDER_STATUS_UPDATED",
            occurredAt=later,
            orderId=order.platform_id,
            previousStatus="PLACED",
            newStatus="IN_PROGRESS",
        )
        tell(
            workspace,
            "APPOINTMENT_DATE_UPDATED",
            occurredAt=later,
            orderId=order.platform_id,
            assignmentId=assignment.platform_id,
            scheduledAt="2026-12-01T09:00:00Z",
        )

    wire.after[f"GET /v1/orders/{order.platform_id}"] = event_comes_meanwhile
    assert read(order) == {"read": 1}
    order.refresh_from_db()
    assignment.refresh_from_db()
    assert order.status == "IN_PROGRESS"
    assert order.status_at == datetime.fromisoformat(later)
    assert assignment.scheduled_at == datetime(2026, 12, 1, 9, tzinfo=UTC)
    assert order.observed["status"] == "PLACED"  # as it was read, for a person to see


@pytest.mark.rule("I29")
def test_the_watermark_of_a_read_is_the_clock_of_the_platform(box, place):
    order = place()
    box.set_clock(now() + timedelta(hours=3))
    assert read(order) == {"read": 1}
    order.refresh_from_db()
    assert timedelta(hours=2, minutes=59) < order.status_at - now() < timedelta(hours=3)


def test_a_platform_clock_that_was_set_back_lowers_no_watermark(box, place):
    order = place()
    read(order)
    before = Order.objects.get().status_at
    box.set_clock(now() - timedelta(hours=3))
    box.workspace.orders[order.platform_id]["status"] = "IN_PROGRESS"
    read(order)
    order.refresh_from_db()
    assert (order.status, order.status_at) == ("IN_PROGRESS", before)


def test_without_a_date_the_watermark_stays(box, place, wire):
    order = place()
    before = Order.objects.get().status_at
    wire.has_date = False
    box.workspace.orders[order.platform_id]["status"] = "IN_PROGRESS"
    assert read(order) == {"read": 1}
    order.refresh_from_db()
    assert (order.status, order.status_at) == ("IN_PROGRESS", before)


def test_a_read_that_contradicts_a_young_event_is_repeated_soon(box, workspace, place):
    order = place()
    tell(
        workspace,
        "ORDER_STATUS_UPDATED",
        occurredAt=now().isoformat(),
        orderId=order.platform_id,
        previousStatus="PLACED",
        newStatus="IN_PROGRESS",
    )
    assert read(order) == {"read": 1}  # the sandbox still says PLACED
    order.refresh_from_db()
    assert order.status == "PLACED"
    assert timedelta(seconds=10) < order.due_at - now() <= timedelta(seconds=15)


@pytest.mark.rule("I23")
def test_an_event_that_asks_during_a_read_is_not_forgotten(box, workspace, place, wire):
    order = place()

    def photographer_is_booked_meanwhile() -> None:
        tell(
            workspace,
            "PHOTOGRAPHER_BOOKED",
            timestamp=now().isoformat(),
            orderId=order.platform_id,
            photographerId="51",
        )

    wire.after[f"GET /v1/orders/{order.platform_id}"] = photographer_is_booked_meanwhile
    assert read(order) == {"read": 2}


def test_what_is_gone_from_an_assignment_is_cleared_and_one_that_is_gone_is_kept(box, place):
    order = place("GROUND_PHOTO", "FLOOR_PLAN")
    first, second = Assignment.objects.order_by("platform_id")
    box.set_appointment(first.platform_id, "2026-12-01T09:00:00Z")
    read(order)
    first.refresh_from_db()
    assert first.scheduled_at == datetime(2026, 12, 1, 9, tzinfo=UTC)
    box.workspace.assignments[first.platform_id].pop("scheduledAt")
    box.workspace.orders[order.platform_id]["assignments"].remove(second.platform_id)
    read(order)
    first.refresh_from_db()
    assert first.scheduled_at is not None  # the detail of an order may be abridged
    assert turn.take(hooks.queue("assignments"), order.workspace_id, seconds=20.0).counts == {
        "read": 2
    }
    first.refresh_from_db()
    assert first.scheduled_at is None
    assert Assignment.objects.filter(pk=second.pk).exists()


def test_a_404_that_comes_faster_than_a_copy_of_the_platform_is_tried_again(box, place):
    order = place()
    there = box.workspace.orders.pop(order.platform_id)
    there["status"] = "IN_PROGRESS"
    for attempts in (1, 2, 3):
        assert read(order) == {"put off": 1}
        order.refresh_from_db()
        assert (order.attempts, order.due_at > now()) == (attempts, True)
    box.workspace.orders[order.platform_id] = there
    assert read(order) == {"read": 1}
    order.refresh_from_db()
    assert (order.status, order.problem, order.attempts) == ("IN_PROGRESS", "", 0)


def test_an_order_that_stays_away_waits_for_a_person(box, place):
    order = place()
    del box.workspace.orders[order.platform_id]
    before = mirror_of(order)
    assert [read(order) for _ in range(8)] == [{"put off": 1}] * 7 + [{"not there": 1}]
    after = Order.objects.get()
    assert (after.due_at, after.lease_token, after.attempts) == (None, None, 0)
    assert f"there is no order {order.platform_id}" in after.problem
    assert mirror_of(order) == before


def mirror_of(order) -> tuple:
    return Order.objects.values_list("status", "status_at", "observed").get(pk=order.pk)


@pytest.mark.parametrize("status", ["500 Broken", "429 Too Many Requests", "503 Busy"])
def test_a_read_that_fails_is_put_off_and_changes_nothing(box, workspace, place, wire, status):
    order = place()
    before = mirror_of(order)
    wire.answers[f"/v1/orders/{order.platform_id}"] = (status, b"")
    assert read(order) == {"put off": 1}
    after = Order.objects.get()
    assert after.due_at > now()
    assert (after.attempts, after.lease_token) == (1, None)
    assert mirror_of(order) == before
    workspace.refresh_from_db()
    assert workspace.is_paused(now()) == (not status.startswith("500"))


def test_a_paused_workspace_is_left_alone(box, workspace, place):
    order = place()
    box.calls.clear()
    type(workspace).objects.update(paused_until=now() + timedelta(minutes=1))
    assert read(order) == {}
    assert hooks.queue("orders").workspaces(now()) == set()
    assert calls(box) == []


@pytest.mark.parametrize("body", [b"[]", b'"gone"', b"{}", b'{"assignments": [{"status": 5}, 7]}'])
def test_a_detail_that_says_nothing_changes_no_fact(box, place, wire, body):
    order = place()
    status = Order.objects.values_list("status", "status_at").get()
    wire.answers[f"/v1/orders/{order.platform_id}"] = ("200 OK", body)
    read(order)
    assert Order.objects.values_list("status", "status_at").get() == status
    assert Assignment.objects.get().status == "CREATED"


def test_a_detail_that_the_database_refuses_stops_no_other_row(box, workspace, place, wire):
    bad, good = place(), place()
    Order.objects.filter(pk=bad.pk).update(due_at=now() - timedelta(minutes=2))
    Order.objects.filter(pk=good.pk).update(due_at=now() - timedelta(minutes=1), read_at=None)
    wire.answers[f"/v1/orders/{bad.platform_id}"] = ("200 OK", b'{"status": "PLACED", "x": "odd"}')

    def refuse(execute, sql, params, many, context):
        if '"odd"' in str(params):
            raise DataError("the database does not take it")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        assert turn.take(hooks.queue("orders"), workspace.pk, seconds=20.0).counts == {
            "failed": 1,
            "read": 1,
        }
    bad.refresh_from_db()
    good.refresh_from_db()
    assert bad.due_at > now()
    assert bad.problem != ""
    assert (good.problem, good.read_at is None) == ("", False)


@pytest.mark.rule("I27", "6.2 scenario")
def test_materials_that_are_announced_too_early_are_fetched_later(box, workspace, place):
    order = place()
    assignment = Assignment.objects.get()
    tell(
        workspace,
        "VISUALS_READY",
        timestamp=now().isoformat(),
        orderId=order.platform_id,
        assignmentId=assignment.platform_id,
        visualType="POST",
        product="GROUND_PHOTO",
    )
    drain = partial(turn.take, hooks.queue("materials"), seconds=20.0)
    assert drain(workspace.pk).counts == {"read": 1}
    ready = MaterialSet.objects.get()
    assert (ready.empty_reads, ready.fetched_at) == (1, None)
    assert "It is read again by itself" in ready.problem
    assert ready.due_at > now()
    box.set_status(assignment.platform_id, "DELIVERED")
    MaterialSet.objects.update(due_at=now())
    assert drain(workspace.pk).counts == {"read": 1}
    ready.refresh_from_db()
    assert (ready.due_at, ready.problem, ready.empty_reads) == (None, "", 0)
    assert ready.materials.count() == 1


def read_due(order: Order) -> None:
    Order.objects.filter(pk=order.pk).update(due_at=now())
    turn.take(hooks.queue("orders"), order.workspace_id, seconds=20.0)
    order.refresh_from_db()


@pytest.mark.rule("I18")
def test_one_404_after_an_outage_gives_up_no_order(place, wire):
    order = place("GROUND_PHOTO")
    own = f"GET /v1/orders/{order.platform_id}"
    wire.answers[own] = ("500 Internal Server Error", b"")
    for _ in range(7):
        read_due(order)
    wire.answers[own] = ("404 Not Found", b"")
    read_due(order)
    assert order.due_at is not None
