"""The sweep and the push cost the same for a row, however many rows there are."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from crm_sync.work import turn
from properties.domain.editing import create, edit
from properties.models import Property
from properties.push.queue import PROPERTIES


def make(workspace, count: int) -> None:
    for n in range(count):
        create(workspace, f"Q-{n}", {"title": f"House {n}"}, origin="FEED", now=now())


def edit_first(count: int) -> None:
    for row in Property.objects.order_by("pk")[:count]:
        edit(row, {"title": f"{row.title} edited"}, origin="ADMIN", now=now())


def queries_to_drain(workspace) -> tuple[int, int]:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        tally = turn.take(PROPERTIES, workspace.pk, seconds=20.0)
    return len(captured), tally.total


@pytest.mark.parametrize("others", [0, 60])
def test_a_push_costs_the_same_number_of_queries_whatever_else_there_is(
    workspace, drain_all, others
):
    make(workspace, 5 + others)
    drain_all()
    edit_first(1)
    one, _ = queries_to_drain(workspace)
    edit_first(5)
    five, done = queries_to_drain(workspace)
    idle, _ = queries_to_drain(workspace)
    # Of a turn: workspace, slot, the claim that finds none, the slot given back, who waits for it.
    assert (done, idle) == (5, 5)
    # To ask before a call whether a person holds it, to settle a row and to record the change in
    # one transaction.
    each = 1 + 4
    # A claim of two is two statements. On SQLite it is a transaction, and waits for the disk.
    claim = 2 + 2 * (connection.vendor == "sqlite")
    # One that is full has looked for what is urgent as well: two of the three.
    assert (one, five) == (idle + each + claim, idle + 5 * each + 3 * claim + 2)


def test_a_tick_with_nothing_due_is_one_query_and_no_call(box, workspace, drain_all):
    make(workspace, 20)
    drain_all()
    box.calls.clear()
    with CaptureQueriesContext(connection) as captured:
        assert turn.waiting(now()) == []
    assert len(captured) == 1
    assert not box.calls
