"""Every order and repetition of a short history ends in the same mirror (I22).

A commit is tested with each 24th permutation of six events, a storm with all of them. However an
event comes, by callback, by the history or by replay, it has one effect.
"""

import itertools
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import transaction

from crm_sync.inbox import store
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.platform.events import parse
from crm_sync.webhook.history import record
from crm_sync.work import turn
from orders.models import Assignment, StatusChange
from tests.orders.conftest import appointed, handled, mirror, moved, order_moved

pytestmark = pytest.mark.once  # each event is one of those that test_mirror applies on both
Event = dict[str, Any]
SOURCES = (ReceivedEvent.Source.CALLBACK, ReceivedEvent.Source.HISTORY, ReceivedEvent.Source.REPLAY)


DAY, OTHER = "2026-02-03T09:00:00Z", "2026-02-09T09:00:00Z"
# name: the history in its true order, and (status, appointment) at its end
HISTORIES: dict[str, tuple[list[Event], tuple[str, str | None]]] = {
    "twice rescheduled": (
        [
            moved(0, "PHOTOGRAPHER_ASSIGNED", "SCHEDULED", scheduledAt=DAY),
            moved(1, "SCHEDULED", "RESCHEDULE_IN_PROCESS"),
            moved(2, "RESCHEDULE_IN_PROCESS", "PHOTOGRAPHER_ASSIGNED"),
            moved(3, "PHOTOGRAPHER_ASSIGNED", "SCHEDULED", scheduledAt=OTHER),
            moved(4, "SCHEDULED", "RESCHEDULE_IN_PROCESS"),
            moved(5, "RESCHEDULE_IN_PROCESS", "PHOTOGRAPHER_ASSIGNED"),
        ],
        ("PHOTOGRAPHER_ASSIGNED", OTHER),
    ),
    "nudges carry newer logistics, and absent is not null": (
        [
            moved(0, "PHOTOGRAPHER_ASSIGNED", "SCHEDULED", scheduledAt=DAY),
            moved(1, "SCHEDULED", "SCHEDULED", scheduledAt=OTHER),
            moved(2, "SCHEDULED", "SCHEDULED"),
            moved(3, "SCHEDULED", "SCHEDULED", estimatedDeliveryAt="2026-02-11"),
        ],
        ("SCHEDULED", OTHER),
    ),
    "null clears, and what came before it does not come back": (
        [
            appointed(0, DAY),
            moved(1, "PHOTOGRAPHER_ASSIGNED", "SCHEDULED", scheduledAt=OTHER),
            appointed(2, None),
            moved(3, "SCHEDULED", "RESCHEDULE_IN_PROCESS"),
            appointed(4, DAY),
            appointed(5, None),
        ],
        ("RESCHEDULE_IN_PROCESS", None),
    ),
    "one moment tells several things": (
        [
            moved(0, "CREATED", "PHOTOGRAPHER_ASSIGNED"),
            order_moved(0, "PLACED", "IN_PROGRESS"),
            moved(1, "PHOTOGRAPHER_ASSIGNED", "SCHEDULED", scheduledAt=DAY),
            appointed(1, DAY),
            moved(2, "SCHEDULED", "CANCELLED"),
            order_moved(2, "IN_PROGRESS", "CANCELLED"),
        ],
        ("CANCELLED", DAY),
    ),
}
# Which of two that contradict each other in one moment is right, only a read can tell: but all
# agree on one of them.
TIES = [
    moved(0, "CREATED", "PHOTOGRAPHER_ASSIGNED"),
    moved(1, "PHOTOGRAPHER_ASSIGNED", "SCHEDULED", scheduledAt=DAY),
    moved(1, "PHOTOGRAPHER_ASSIGNED", "CANCELLED"),
    appointed(1, None),
    appointed(1, OTHER),
]


@pytest.fixture
def workspace(db) -> Workspace:
    return Workspace.objects.create(slug="laws", base_url="http://laws.test")


def after(workspace: Workspace, history: tuple[Event, ...]) -> tuple[Any, Any]:
    """Tell a history; the mirror that it leaves, and what the timeline heard; nothing stays."""
    with transaction.atomic():
        for fields in history:
            handled(workspace.pk, parse(json.dumps(fields).encode()))
        lines = StatusChange.objects.filter(fact__in=["ORDER_STATUS", "ASSIGNMENT_STATUS"])
        found = mirror(), set(lines.values_list("fact", "previous", "new", "occurred_at"))
        transaction.set_rollback(True)
    return found


def tellings(history: list[Event], step: int) -> Iterator[tuple[Event, ...]]:
    """Each so many-th permutation, and behind it one of its events again, another one each time."""
    found = itertools.islice(enumerate(itertools.permutations(history)), 0, None, step)
    for number, permuted in found:
        yield (*permuted, permuted[number // step % len(permuted)])


def check(workspace: Workspace, name: str, *, step: int) -> None:
    history, (status, scheduled_at) = HISTORIES[name]
    expected = after(workspace, tuple(history))
    assert all(after(workspace, one) == expected for one in tellings(history, step))
    [row] = expected[0]["Assignment"]
    moment = datetime.fromisoformat(scheduled_at).astimezone(UTC) if scheduled_at else None
    assert (row[2], row[5]) == (status, moment)


@pytest.mark.rule("6.1 rule 6")
@pytest.mark.parametrize("name", HISTORIES)
def test_many_orders_of_a_history_end_where_the_history_ends(workspace, name):
    check(workspace, name, step=24 if len(HISTORIES[name][0]) == 6 else 1)


@pytest.mark.rule("I22")
@pytest.mark.chaos
@pytest.mark.parametrize("name", HISTORIES)
def test_every_order_of_a_history_ends_where_the_history_ends(workspace, name):
    check(workspace, name, step=1)


def test_in_a_tie_every_order_chooses_the_same(workspace):
    expected = after(workspace, tuple(TIES))
    assert all(after(workspace, one) == expected for one in tellings(TIES, 2))


@pytest.mark.parametrize("name", HISTORIES)
def test_every_beginning_of_a_history_told_in_any_order_may_be_followed_by_the_rest(
    workspace, name
):
    """Associative: what was told before, in whatever order, does not matter for what follows."""
    history, _ = HISTORIES[name]
    expected = after(workspace, tuple(history))
    for length in range(1, len(history)):
        head, tail = history[:length], history[length:]
        assert after(workspace, (*reversed(tail), *reversed(head))) == expected
        assert after(workspace, (*tail, *head, *tail)) == expected


@pytest.mark.parametrize("ways", list(itertools.permutations(SOURCES)))
def test_the_same_event_by_callback_by_history_and_by_replay_has_one_effect(workspace, ways):
    now = datetime(2026, 2, 1, tzinfo=UTC)
    for way in ways:
        for fields in HISTORIES["twice rescheduled"][0]:
            body = {
                ReceivedEvent.Source.CALLBACK: json.dumps(fields, indent=1).encode(),
                ReceivedEvent.Source.HISTORY: record({"payload": fields}).body,
                ReceivedEvent.Source.REPLAY: json.dumps(dict(reversed(fields.items()))).encode(),
            }[way]
            store.store(workspace.pk, body, headers={}, method="POST", source=way, now=now)
        turn.take(store.RECEIVED_EVENTS, workspace.pk, seconds=60.0)
    states = list(ReceivedEvent.objects.order_by("pk").values_list("state", flat=True))
    assert states == ["APPLIED"] * 6 + ["DUPLICATE"] * 12
    assert StatusChange.objects.filter(fact="ASSIGNMENT_STATUS").count() == 6
    row = Assignment.objects.get()
    assert (row.status, row.scheduled_at) == (
        "PHOTOGRAPHER_ASSIGNED",
        datetime(2026, 2, 9, 9, tzinfo=UTC),
    )
