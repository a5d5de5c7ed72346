"""The inbox screen: what it shows, what it never does, and trying again."""

from datetime import datetime, timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from crm_sync.inbox import store
from crm_sync.models import ReceivedEvent
from crm_sync.work import turn
from tests.crm_sync.admin_pages import (
    CANARY,
    ESCAPED,
    client_of,
    make_received_event,
    make_workspace,
)
from tests.problems import noted

pytestmark = pytest.mark.django_db
LIST = "/admin/crm_sync/receivedevent/"
State = ReceivedEvent.State


def page(received_event: ReceivedEvent) -> str:
    return reverse("admin:crm_sync_receivedevent_change", args=[received_event.pk])


def apply_again(client: Client, *received_events: ReceivedEvent):
    pks = [received_event.pk for received_event in received_events]
    return client.post(LIST, {"action": "apply_again", "_selected_action": pks})


def state_of(received_event: ReceivedEvent) -> tuple[str, datetime | None, int]:
    received_event.refresh_from_db()
    return received_event.state, received_event.due_at, received_event.attempts


def test_the_list_leaves_the_raw_bytes_in_the_database(main, boss, django_assert_max_num_queries):
    make_received_event(main, body=b'{"big": 1}')
    with django_assert_max_num_queries(20) as captured:
        boss.get(LIST)
    assert [
        q for q in captured.captured_queries if '"crm_sync_receivedevent"."body"' in q["sql"]
    ] == []


def test_a_row_tells_event_state_order_lag_source_and_effect(main, boss):
    received = timezone.now() - timedelta(minutes=5)
    make_received_event(
        main,
        kind="ORDER_STATUS_UPDATED",
        state=State.APPLIED,
        order_platform_id="5000",
        received_at=received,
        applied_at=received + timedelta(milliseconds=120),
        effect="order 5000: Placed → In progress",
    )
    text = boss.get(LIST).content.decode()
    for shown in (
        "ORDER_STATUS_UPDATED",
        '<span class="cs-badge cs-good">Applied</span>',
        "5000",
        f"{received:%a} {received.day} {received:%b %Y, %H:%M:%S} UTC",
        "5 min ago",
        "120 ms",
        "Callback",
        "Order 5000: Placed → In progress",
    ):
        assert shown in text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("state__exact=FAILED", ["failed"]),
        ("kind=VISUALS_READY", ["visuals"]),
        ("kind=other", ["failed"]),
        ("source__exact=HISTORY", ["visuals"]),
        ("q=5001", ["visuals"]),
        ("q=500", []),
    ],
)
def test_the_list_is_filtered_and_searched(main, boss, query, found):
    rows = {
        "failed": make_received_event(main, state=State.FAILED, effect="ValueError: boom"),
        "visuals": make_received_event(
            main,
            b"[]",
            kind="VISUALS_READY",
            order_platform_id="5001",
            source=ReceivedEvent.Source.HISTORY,
        ),
    }
    shown = boss.get(f"{LIST}?{query}").context["cl"].result_list
    assert [row.pk for row in shown] == [rows[name].pk for name in found]


def test_the_workspace_filter_shows_only_its_deliveries(main, boss):
    other = make_workspace("other")
    make_received_event(main)
    theirs = make_received_event(other, b"[]")
    shown = boss.get(f"{LIST}?workspace=other").context["cl"].result_list
    assert [row.pk for row in shown] == [theirs.pk]


def test_json_is_shown_indented(main, boss):
    received_event = make_received_event(main, body='{"event":"Ä","n":1}'.encode())
    assert boss.get(page(received_event)).context["payload"] == '{\n  "event": "Ä",\n  "n": 1\n}'


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"\xff\x00 no json", "b'\\xff\\x00 no json'"),
        (b'"\\ud800"', '"\\ud800"'),
        (b"[" * 100_000, repr(b"[" * 100_000)),
    ],
)
def test_a_body_that_nobody_understands_still_has_a_page(main, boss, body, shown):
    received_event = make_received_event(main, body=body, state=State.QUARANTINED)
    response = boss.get(page(received_event))
    assert (response.status_code, response.context["payload"]) == (200, shown)


@pytest.mark.rule("S18")
def test_nothing_that_the_platform_sends_becomes_markup(main, boss):
    received_event = make_received_event(
        main,
        body=b'{"a": "<svg onload=alert(1)>"}',
        kind=CANARY,
        order_platform_id=CANARY,
        effect=CANARY,
        state=State.FAILED,
        headers={CANARY: CANARY},
    )
    for address in (LIST, page(received_event), "/admin/"):
        text = boss.get(address).content.decode()
        assert CANARY not in text
        assert ESCAPED in text


def test_apply_again_gives_stuck_deliveries_back_to_the_worker(
    main, boss, rings, django_capture_on_commit_callbacks
):
    failed = make_received_event(main, state=State.FAILED, attempts=8)
    quarantined = make_received_event(
        main, b"x", state=State.QUARANTINED, applied_at=timezone.now()
    )
    before = timezone.now()
    with django_capture_on_commit_callbacks(execute=True):
        assert apply_again(boss, failed, quarantined).status_code == 302
    for received_event in (failed, quarantined):
        state, due_at, attempts = state_of(received_event)
        assert (state, attempts, received_event.applied_at) == (State.RECEIVED, 0, None)
        assert before <= due_at <= timezone.now()
    assert rings == [("received_events", main.pk)]


def test_what_is_applied_again_takes_effect(main, boss):
    body = (
        b'{"event": "ORDER_STATUS_UPDATED", "occurredAt": "2026-01-31T10:00:00Z",'
        b' "orderId": "5000", "previousStatus": "PLACED", "newStatus": "IN_PROGRESS"}'
    )
    received_event = make_received_event(
        main, body=body, state=State.QUARANTINED, effect="not understood"
    )
    apply_again(boss, received_event)
    turn.take(store.RECEIVED_EVENTS, main.pk, seconds=5.0)
    state, due_at, _ = state_of(received_event)
    assert (state, due_at, received_event.order_platform_id) == (State.APPLIED, None, "5000")


def test_apply_again_is_written_to_the_log(main, boss):
    failed = make_received_event(main, state=State.FAILED)
    apply_again(boss, failed)
    entry = LogEntry.objects.get()
    assert (entry.object_id, *noted()) == (str(failed.pk), "Applied again.")


@pytest.mark.parametrize("state", sorted(set(State.values) - set(store.STUCK)))
def test_apply_again_leaves_every_other_delivery_as_it_is(main, boss, state):
    received_event = make_received_event(main, state=state)
    before = ReceivedEvent.objects.values().get()
    apply_again(boss, received_event)
    assert ReceivedEvent.objects.values().get() == before
    assert LogEntry.objects.count() == 0


def test_who_may_change_deliveries_can_apply_again(main):
    failed = make_received_event(main, state=State.FAILED)
    operator = client_of("crm_sync.view_receivedevent", "crm_sync.change_receivedevent")
    assert "apply_again" in operator.get(page(failed)).content.decode()
    apply_again(operator, failed)
    assert state_of(failed)[0] == State.RECEIVED


def test_a_get_applies_nothing_again(main, boss):
    failed = make_received_event(main, state=State.FAILED)
    boss.get(LIST, {"action": "apply_again", "_selected_action": failed.pk})
    assert state_of(failed) == (State.FAILED, None, 0)


def test_what_somebody_has_looked_at_can_be_set_aside_and_is_kept(main, boss):
    stuck = make_received_event(main, state=State.QUARANTINED, effect="no JSON")
    fine = make_received_event(main, b"x", state=State.APPLIED)
    data = {"action": "set_aside", "_selected_action": [str(stuck.pk), str(fine.pk)]}
    assert boss.post(LIST, data).status_code == 302
    assert (state_of(stuck)[0], stuck.effect) == (State.IGNORED, "no JSON")
    assert state_of(fine)[0] == State.APPLIED
