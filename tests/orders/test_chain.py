"""A move whose beginning we do not know makes the order due, and the read puts it right (I24)."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from crm_sync.inbox import store
from crm_sync.models import ReceivedEvent
from crm_sync.work import turn
from orders.models import Assignment, Order, StatusChange
from orders.models.statuses import (
    ASSIGNMENT_TERMINAL,
    DOCUMENT_TRANSITIONS,
    ORDER_TRANSITIONS,
    PHOTO_TRANSITIONS,
    START,
)
from tests.crm_sync.polls import poll_now, sources
from tests.orders.conftest import is_due, mirror, move, move_order, moved, now, set_aside

ELSEWHERE = "RESCHEDULE_IN_PROCESS"  # a status that no move of the order or of a document begins in


def moves(table) -> list[tuple[str, str]]:
    return sorted((old, new) for old, news in table.items() if old != START for new in news)


TABLES = {"PHOTO": PHOTO_TRANSITIONS, "DOCUMENT": DOCUMENT_TRANSITIONS}
ASSIGNMENT_MOVES = [(kind, *move) for kind, table in TABLES.items() for move in moves(table)]


def test_the_tables_have_so_many_moves():
    assert (len(ASSIGNMENT_MOVES), len(moves(ORDER_TRANSITIONS))) == (19, 4)


@pytest.mark.rule("I24", "3.3 rule 1", "6.3 ASSIGNMENT_STATUS_UPDATED previousStatus")
@pytest.mark.parametrize(("kind", "previous", "new"), ASSIGNMENT_MOVES)
@pytest.mark.parametrize("is_known", [True, False])
def test_each_move_of_an_assignment_is_read_where_its_beginning_is_not_what_we_had(
    workspace, kind, previous, new, is_known
):
    begun = "SCHEDULED" if previous == ELSEWHERE else ELSEWHERE
    more = {"assignmentType": kind} if kind else {}
    move(workspace, 0, START, previous if is_known else begun, **more)
    set_aside(Order.objects.get())
    move(workspace, 1, previous, new)
    assert Assignment.objects.get().status == new
    is_read_anyway = new in ASSIGNMENT_TERMINAL  # S10
    assert is_due(Order.objects.get()) == (not is_known or is_read_anyway)


@pytest.mark.rule("3.3 rule 1")
@pytest.mark.parametrize(("previous", "new"), moves(ORDER_TRANSITIONS))
@pytest.mark.parametrize("is_known", [True, False])
def test_each_move_of_an_order_is_read_where_its_beginning_is_not_what_we_had(
    workspace, previous, new, is_known
):
    move_order(workspace, 0, START, previous if is_known else "COMPLETED")
    set_aside(Order.objects.get())
    move_order(workspace, 1, previous, new)
    order = Order.objects.get()
    assert order.status == new
    ends = new in ("COMPLETED", "CANCELLED") and (is_known or new != "COMPLETED")
    assert is_due(order) == (ends or not is_known)


def steps(box, assignment: str, count: int, lost_step: int) -> None:
    """Advance so often; one step's events are lost without a trace."""
    for step in range(count):
        box.faults.set({"rules": [{"fault": "LOST"}]} if step == lost_step else {})
        box.advance(assignment)
        box.deliver()
    box.faults.set({})


@pytest.mark.rule("I24")
@pytest.mark.parametrize("lost_step", range(4))
@pytest.mark.parametrize("product", ["GROUND_PHOTO", "ENERGY_CERTIFICATE"])
def test_whichever_step_is_lost_the_next_one_puts_everything_right(
    box, workspace, place, drain_all, product, lost_step
):
    order = place(product)
    assignment = Assignment.objects.get()
    steps(box, assignment.platform_id, min(lost_step + 2, 4), lost_step)
    drain_all()
    if lost_step == 3:  # nothing comes after the last step: the schedule reads it
        Order.objects.update(due_at=now())
        drain_all()
    there = box.workspace.orders[order.platform_id]
    order.refresh_from_db()
    assignment.refresh_from_db()
    assert order.status == there["status"]
    assert assignment.status == box.workspace.assignments[assignment.platform_id]["status"]


@pytest.mark.rule("3.1 start")
def test_an_order_that_others_placed_becomes_known_by_the_history_alone(
    box, workspace, place, drain_all
):
    order = place()
    assignment = box.workspace.orders[order.platform_id]["assignments"][0]
    StatusChange.objects.all().delete()
    Assignment.objects.all().delete()
    order.placement.delete()
    order.delete()
    box.faults.set({"rules": [{"fault": "DROPPED"}]})
    box.advance(assignment)
    box.deliver()
    box.faults.set({})
    poll_now(workspace)
    drain_all()
    assert set(sources()) == {"HISTORY"}
    known = Order.objects.get()
    assert known.real_estate_property.object_reference_id == "SEED-1"
    assert (known.status, known.assignments.get().status) == (
        "IN_PROGRESS",
        "PHOTOGRAPHER_ASSIGNED",
    )


@pytest.mark.parametrize("minutes", [-9, 9])
def test_our_clock_changes_nothing_about_what_is_known(workspace, minutes):
    events = [
        ("CREATED", "PHOTOGRAPHER_ASSIGNED", 10),
        ("PHOTOGRAPHER_ASSIGNED", "SCHEDULED", 30),
        ("SCHEDULED", "RESCHEDULE_IN_PROCESS", 20),
    ]
    found = []
    for offset in (0, minutes):
        for row in (StatusChange, Assignment, Order, ReceivedEvent):
            row.objects.all().delete()
        start = datetime(2026, 1, 31, 10, tzinfo=UTC) + timedelta(minutes=offset)
        with time_machine.travel(start, tick=True):
            for previous, new, second in events:
                store.store(
                    workspace.pk,
                    json.dumps(moved(second, previous, new)).encode(),
                    headers={},
                    method="POST",
                    source=ReceivedEvent.Source.CALLBACK,
                    now=now(),
                )
            turn.take(store.RECEIVED_EVENTS, workspace.pk, seconds=20.0)
        found.append(mirror())
    assert found[0] == found[1]
    assert found[0]["Assignment"][0][2] == "SCHEDULED"
