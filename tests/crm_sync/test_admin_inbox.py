"""The inbox screens beside the list: replay, causes, live figures."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from crm_sync.admin.received_event import retry
from crm_sync.inbox import store
from crm_sync.models import ReceivedEvent
from crm_sync.work import turn
from tests.crm_sync.admin_pages import (
    CANARY,
    ESCAPED,
    client_of,
    make_received_event,
    make_workspace,
    queries_of,
)
from tests.crm_sync.test_events import PAYLOADS
from tests.problems import noted

pytestmark = pytest.mark.django_db
LIST = "/admin/crm_sync/receivedevent/"
CAUSES, LIVE = f"{LIST}causes/", f"{LIST}live/"
State, Source = ReceivedEvent.State, ReceivedEvent.Source
MOVED = PAYLOADS["ORDER_STATUS_UPDATED"]


@pytest.fixture
def viewer() -> Client:
    return client_of("crm_sync.view_receivedevent")


def page(received_event: ReceivedEvent) -> str:
    return reverse("admin:crm_sync_receivedevent_change", args=[received_event.pk])


def act(client: Client, action: str, *rows: ReceivedEvent, **more):
    data = {"action": action, "_selected_action": [row.pk for row in rows]} | more
    return client.post(LIST, data)


def event(**fields) -> bytes:
    return json.dumps(MOVED | fields).encode()


def rows() -> list[dict]:
    return [
        {**row, "body": bytes(row["body"])} for row in ReceivedEvent.objects.order_by("pk").values()
    ]


# --- replay ---
def test_a_replay_is_shown_first_and_then_done(main, boss):
    stuck = make_received_event(main, event(), state=State.FAILED, attempts=8)
    done = make_received_event(
        main, event(orderId="13"), state=State.APPLIED, effect="order 13 moved"
    )
    before = rows()
    shown = act(boss, "replay", stuck, done)
    assert (shown.status_code, rows(), LogEntry.objects.count()) == (200, before, 0)
    text = shown.content.decode()
    for part in ("order 12: Placed → In progress", "order 12, status:", "Replay 2"):
        assert part in text
    response = act(boss, "replay", stuck, done, confirmed="1")
    assert (response.status_code, response["Location"]) == (302, LIST)
    turn.take(store.RECEIVED_EVENTS, main.pk, seconds=5.0)
    stuck.refresh_from_db()
    done.refresh_from_db()
    copy = done.replays.get()
    assert (stuck.state, done.state, done.effect) == ("APPLIED", "APPLIED", "order 13 moved")
    assert (copy.state, copy.source, stuck.replays.count()) == ("APPLIED", "REPLAY", 0)
    entries = LogEntry.objects.values_list("object_id", "change_message")
    assert {key for key, _ in entries} == {str(stuck.pk), str(done.pk)}
    assert "Replayed." in noted()
    both = boss.get(page(done)).content.decode(), boss.get(page(copy)).content.decode()
    assert f"Received event {copy.pk}" in both[0]
    assert f"Replay of received event {done.pk}" in both[1]


def test_a_single_replay_leads_back_to_its_page(main, boss):
    done = make_received_event(main, event(), state=State.APPLIED)
    assert act(boss, "replay", done, confirmed="1")["Location"] == page(done)


def test_more_than_a_page_holds_is_left_to_the_command(main, boss, monkeypatch):
    monkeypatch.setattr(retry, "MOST_REPLAYED", 2)
    chosen = [make_received_event(main, event(), state=State.FAILED) for _ in range(3)]
    before = rows()
    response = boss.post(
        LIST,
        {"action": "replay", "_selected_action": [row.pk for row in chosen], "confirmed": "1"},
        follow=True,
    )
    assert "manage.py replay" in response.content.decode()
    assert rows() == before


def test_nothing_hostile_becomes_markup_on_the_way(main, boss):
    odd = {"orderId": CANARY, "newStatus": CANARY, "previousStatus": CANARY}
    stuck = make_received_event(main, event(**odd), kind=CANARY, state=State.FAILED, effect=CANARY)
    ReceivedEvent.objects.update(cause=CANARY)
    pages = [act(boss, "replay", stuck), boss.get(CAUSES), boss.get(LIST), boss.get(page(stuck))]
    for response in pages:
        assert response.status_code == 200
        text = response.content.decode()
        assert CANARY not in text
        assert ESCAPED in text


# --- what stands in the list and on the page ---
def test_the_row_tells_both_lags(main, boss):
    came = timezone.now() - timedelta(minutes=5)
    make_received_event(
        main,
        state=State.APPLIED,
        occurred_at=came - timedelta(seconds=3),
        received_at=came,
        applied_at=came + timedelta(milliseconds=120),
    )
    text = boss.get(LIST).content.decode()
    assert "120 ms" in text
    assert "3 s to us" in text


def test_the_payload_is_shown_pretty_and_as_it_came(main, boss):
    received_event = make_received_event(main, body=b'{"a":1,\r\n  "b":2}')
    context = boss.get(page(received_event)).context
    assert context["payload"] == '{\n  "a": 1,\n  "b": 2\n}'
    assert context["raw"] == '{"a":1,\r\n  "b":2}'
    odd = make_received_event(main, body='"\u202e"'.encode())
    assert boss.get(page(odd)).context["raw"] == repr('"\u202e"'.encode())


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("age=hour", [0]),
        ("age=day", [1, 0]),
        ("age=week", [2, 1, 0]),
        ("age=month", [3, 2, 1, 0]),
        ("age=older", [4]),
        ("age=odd", [4, 3, 2, 1, 0]),
        ("q=5002", [2]),
        ("kind=VISUALS_READY", [4, 3]),
        ("cause=OTHER:a+…", [1]),
        ("cause=a+…", []),
    ],
)
def test_the_list_is_narrowed_by_age_cause_and_event_and_searched_by_order(
    main, boss, query, found
):
    ages = [0.01, 0.5, 3, 20, 40]
    made = [
        make_received_event(
            main,
            order_platform_id=f"500{n}",
            kind="VISUALS_READY" if n > 2 else "ORDER_STATUS_UPDATED",
            received_at=timezone.now() - timedelta(days=age),
            state=State.FAILED if n == 1 else State.APPLIED,
            problem_kind="OTHER" if n < 2 else "",
            cause="a …" if n < 2 else "",
        )
        for n, age in enumerate(ages)
    ]
    shown = boss.get(f"{LIST}?{query}").context["cl"].result_list
    assert [row.pk for row in shown] == sorted((made[n].pk for n in found), reverse=True)


# --- causes ---
GROUP = {"problem_kind": "ERROR", "cause": "KeyError in orders.x"}


@pytest.fixture
def stuck(main) -> list[ReceivedEvent]:
    other = make_workspace("other")
    now = timezone.now()
    causes = [
        (main, State.FAILED, "ERROR", "KeyError in orders.x", 3),
        (main, State.FAILED, "ERROR", "KeyError in orders.x", 1),
        (other, State.FAILED, "ERROR", "KeyError in orders.x", 2),
        (main, State.QUARANTINED, "UNKNOWN_EVENT", "NEW", 1),
        (main, State.APPLIED, "", "", 1),
        (main, State.IGNORED, "UNKNOWN_EVENT", "NEW", 1),
    ]
    return [
        make_received_event(
            workspace,
            state=state,
            problem_kind=kind,
            cause=cause,
            effect=f"effect {n}",
            received_at=now - timedelta(hours=hours),
        )
        for n, (workspace, state, kind, cause, hours) in enumerate(causes)
    ]


def test_what_is_stuck_is_grouped_by_cause_the_largest_first(stuck, boss):
    groups = boss.get(CAUSES).context["groups"]
    assert [(one["why"], one["state"], one["count"], one["workspaces"]) for one in groups] == [
        ("An error of ours: KeyError in orders.x.", "FAILED", 3, 2),
        ("The event NEW is unknown.", "QUARANTINED", 1, 1),
    ]
    first = groups[0]
    assert (first["text"], first["page"]) == ("effect 2", page(stuck[2]))
    assert ("3 h ago" in first["first"], "1 h ago" in first["last"]) == (True, True)
    shown = boss.get(first["list"]).context["cl"].result_list
    assert {row.pk for row in shown} == {row.pk for row in stuck[:3]}
    assert CAUSES in boss.get(LIST).content.decode()


@pytest.mark.parametrize(
    ("action", "state", "text"),
    [("apply_again", "RECEIVED", "Applied again."), ("set_aside", "IGNORED", "Set aside.")],
)
def test_one_click_acts_on_all_of_a_group_and_on_nothing_else(stuck, boss, action, state, text):
    data = {"action": action, "state": "FAILED", **GROUP}
    assert boss.post(CAUSES, data)["Location"] == CAUSES
    states = [ReceivedEvent.objects.get(pk=row.pk).state for row in stuck]
    assert states == [state] * 3 + ["QUARANTINED", "APPLIED", "IGNORED"]
    keys = set(LogEntry.objects.values_list("object_id", flat=True))
    assert (keys, set(noted())) == ({str(row.pk) for row in stuck[:3]}, {text})


def test_no_click_acts_on_what_is_not_stuck(stuck, boss):
    before = rows()
    for state in ("APPLIED", "IGNORED", "RECEIVED"):
        boss.post(CAUSES, {"action": "set_aside", "state": state, "problem_kind": "", "cause": ""})
    boss.post(CAUSES, {"action": "delete", "state": "FAILED", **GROUP})
    assert (rows(), LogEntry.objects.count()) == (before, 0)


def test_who_may_only_view_sees_the_causes_and_changes_nothing(stuck, viewer):
    before = rows()
    assert "Try again" not in viewer.get(CAUSES).content.decode()
    data = {"action": "apply_again", "state": "FAILED", **GROUP}
    assert viewer.post(CAUSES, data).status_code == 403
    assert rows() == before
    stranger = client_of("crm_sync.view_workspace")
    assert [stranger.get(address).status_code for address in (CAUSES, LIVE)] == [403, 403]


def test_the_causes_take_as_many_queries_for_many_as_for_one(main, boss):
    make_received_event(main, state=State.FAILED, cause="0")
    one = queries_of(boss, CAUSES)
    for n in range(30):
        make_received_event(main, state=State.FAILED, cause=f"{n % 7}")
    assert queries_of(boss, CAUSES) == one


# --- live figures ---
def test_the_figures_say_what_was_received_what_waits_and_how_long_it_takes(main, boss):
    now = timezone.now()

    def came(minutes: float, state: State = State.APPLIED, took: float | None = 1, **columns):
        at = now - timedelta(minutes=minutes)
        done = None if took is None else at + timedelta(seconds=took)
        make_received_event(main, state=state, received_at=at, applied_at=done, **columns)

    for n in range(19):
        came(10 + n / 100, took=1)
    came(11, took=7)
    came(12, took=30)
    came(90, took=3000)  # too long ago for the lag
    came(60 * 25)
    first = ReceivedEvent.objects.earliest("pk")
    came(5, source=Source.REPLAY, replay_of=first, took=1)
    came(7, State.RECEIVED, None)
    came(3, State.RECEIVED, None)
    came(2, State.FAILED, None)
    came(1, State.QUARANTINED, 1)
    response = boss.get(LIVE)
    assert response.context["live"] == {
        "last_hour": "25",
        "pending": "2",
        "failed": "1",
        "quarantined": "1",
        "oldest": "7 min",
        "lag": "7 s",
    }
    overview = boss.get("/admin/")
    assert overview.context["live"] == response.context["live"]
    page, part = overview.content.decode(), response.content.decode()
    assert f'data-follow="{LIVE}"' in page
    assert part.startswith('<section class="cs-card" data-part="inbox">')
    assert part.strip() in page


def test_with_nothing_received_the_figures_say_so(boss, main):
    figures = boss.get(LIVE).context["live"]
    assert (figures["last_hour"], figures["oldest"], figures["lag"]) == ("0", "—", "—")


def test_the_figures_are_only_for_those_who_may_view_deliveries(main):
    client = client_of("crm_sync.view_workspace")
    overview = client.get("/admin/")
    assert overview.context["live"] is None
    assert LIVE not in overview.content.decode()
    assert client.get(LIVE).status_code == 403
    assert Client().get(LIVE).status_code == 302


def test_a_count_takes_a_bounded_number_of_queries(main, boss, django_assert_max_num_queries):
    for n in range(20):
        make_received_event(main, state=State.values[n % 7], received_at=datetime.now(UTC))
    with django_assert_max_num_queries(12):  # session and user, and two at most for each figure
        boss.get(LIVE)
