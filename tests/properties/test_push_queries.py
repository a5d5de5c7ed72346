"""The sweep and the push cost the same for a row, however many rows there are."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from crm_sync import registry
from crm_sync.workers.ticker import Ticker
from properties.editing import create, edit
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
        tally = PROPERTIES.drain(workspace.pk, 20.0)
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
    assert (done, idle) == (5, 1)
    # To begin and end a drain: what is due, its lane, the workspace, slots; then the claim that
    # finds none. Four of them are a transaction each, so as not to wait for the disk.
    once = idle + 9 + 4 * 2
    # Two to claim, one to ask for the pause, one to settle. On SQLite a claim is a transaction.
    each = 4 + 2 * (connection.vendor == "sqlite")
    assert (one, five) == (each + once, 5 * each + once)


def test_a_tick_with_nothing_due_is_one_query_a_queue_and_no_call(box, workspace, drain_all):
    make(workspace, 20)
    drain_all()
    box.calls.clear()
    with CaptureQueriesContext(connection) as captured:
        assert Ticker().tick(now()) == 0
    # What others are at, and whose turn was when; none for files, since none are downloaded.
    assert len(captured) == len(registry.hooks().queues) - 1 + 2
    assert not box.calls
