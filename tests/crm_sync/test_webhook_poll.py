"""The trigger history is a second channel: what was missed comes back (I15, I19, I20)."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from crm_sync.inbox import store
from crm_sync.models import Gap, ReceivedEvent, WebhookMonitor, Workspace
from crm_sync.platform.events import canonical_digest
from sandbox.state import callbacks
from tests.crm_sync.polls import (
    CONFIGURATION,
    HISTORY,
    apply,
    calls,
    happen,
    monitor_of,
    poll_now,
    sources,
    states,
)
from tests.platforms import Between, lost

SECRET = "canary-sécret+with/odd&chars"


@pytest.mark.rule("2.2 payload; errorMessage", "6.1 rule 4")
def test_a_dropped_callback_comes_back_through_the_history(box, workspace):
    happen(box, 3, "DROPPED")
    assert not ReceivedEvent.objects.exists()
    assert poll_now(workspace) == "polled"
    assert sources() == ["HISTORY"] * 3
    assert apply(workspace) == {"APPLIED": 3}
    watch = monitor_of(workspace)
    assert (watch.recovered, watch.failed) == (3, 3)
    assert watch.last_failure == "no answer: The connection was lost"
    assert not Gap.objects.exists()


def test_what_came_by_callback_does_not_come_again(box, workspace):
    happen(box, 3)
    for _ in range(2):  # the worker has applied nothing yet; then it has
        poll_now(workspace)
        assert sources() == ["CALLBACK"] * 3
        apply(workspace)
    assert (monitor_of(workspace).recovered, monitor_of(workspace).failed) == (0, 0)
    assert ReceivedEvent.objects.filter(repeats=0).count() == 3


def test_a_callback_after_its_copy_is_a_duplicate_and_has_no_effect(box, workspace):
    happen(box, 1, "DROPPED")
    poll_now(workspace)
    assert apply(workspace) == {"APPLIED": 1}
    first = ReceivedEvent.objects.get()
    late = json.dumps(json.loads(bytes(first.body)), indent=1).encode()  # written otherwise
    for source in (ReceivedEvent.Source.CALLBACK, ReceivedEvent.Source.REPLAY):
        now = datetime.now(UTC)
        late += b"\n"
        store.store(workspace.pk, late, headers={}, method="POST", source=source, now=now)
    assert apply(workspace) == {"DUPLICATE": 2}
    assert sources() == ["HISTORY", "CALLBACK", "REPLAY"]
    assert set(ReceivedEvent.objects.exclude(pk=first.pk).values_list("effect", flat=True)) == {
        f"the same as received event {first.pk}"
    }
    poll_now(workspace)
    assert ReceivedEvent.objects.count() == 3


@pytest.mark.parametrize("body", [b"?", b'{"event": "NEW"}', b'{"event": 5, "x": "\\ud800"}'])
def test_a_callback_that_was_not_understood_does_not_come_again(box, workspace, body):
    now = datetime.now(UTC)
    source = ReceivedEvent.Source.CALLBACK
    store.store(workspace.pk, body, headers={}, method="POST", source=source, now=now)
    assert apply(workspace) == {"QUARANTINED": 1}
    if body != b"?":
        digest = canonical_digest(json.loads(body))
        assert store.lacking(workspace.pk, {digest, "other"}) == {"other"}


def test_an_event_that_we_do_not_know_comes_back_too_and_is_shown(box, workspace):
    happen(box, 1, "NEWER_EVENT")
    ReceivedEvent.objects.all().delete()
    poll_now(workspace)
    assert apply(workspace) == {"APPLIED": 1, "QUARANTINED": 1}


def test_the_history_of_another_workspace_is_not_ours(box, workspace):
    happen(box, 1)
    other = Workspace.objects.create(slug="other", base_url=workspace.base_url, fixed_token="x")
    assert store.lacking(other.pk, {"1"}) == {"1"}
    digest = canonical_digest(json.loads(bytes(ReceivedEvent.objects.get().body)))
    assert store.lacking(workspace.pk, {digest}) == set()
    assert store.lacking(other.pk, {digest}) == {digest}


def test_a_repeated_attempt_is_one_event(box, workspace):
    happen(box, 1, "REPEATED")
    ReceivedEvent.objects.all().delete()
    poll_now(workspace)
    received_event = ReceivedEvent.objects.get()
    assert (received_event.source, received_event.repeats) == ("HISTORY", 0)
    assert len(monitor_of(workspace).window) == 2


@pytest.mark.rule("2.2 headers")
def test_headers_and_failures_are_stored_without_the_secret(box, workspace):
    Workspace.objects.update(auth_secret=SECRET)
    happen(box, 1, "DROPPED")
    record = box.workspace.history[-1]
    record["headers"] |= {"X-API-Key": "k", "X-Echo": f"is {SECRET}", "X-Odd": 5}
    record["errorMessage"] = f"http://x.test/?token={SECRET} and c\0nary\ud800"
    poll_now(workspace)
    received_event, watch = ReceivedEvent.objects.get(), monitor_of(workspace)
    assert received_event.headers == {
        "X-Event-Type": "MARKETING_MATERIALS_READY",
        "X-API-Key": "***",
        "X-Echo": "is ***",
        "X-Odd": "5",
    }
    assert watch.last_failure == "no answer: http://x.test/?token=*** and cnary"


@pytest.mark.rule("2.2 triggeredAt; statusCode; success", "7 non-2xx")
def test_failures_are_counted_once_with_their_status(box, workspace):
    happen(box, 2, "OLD_SECRET")
    poll_now(workspace)
    poll_now(workspace)
    watch = monitor_of(workspace)
    assert (watch.failed, watch.last_failure) == (2, "answered 401: The callback answered 401")
    assert watch.last_failure_at == datetime.fromisoformat(box.workspace.history[-1]["triggeredAt"])
    assert sources() == ["HISTORY"] * 2


@pytest.mark.rule("7 time-out")
def test_an_attempt_that_timed_out_is_told_and_its_event_is_one(box, workspace, monkeypatch):
    monkeypatch.setattr(callbacks, "SECONDS", 0)  # stored here, but answered too late (A25)
    happen(box, 1)
    assert "statusCode" not in box.workspace.history[-1]
    poll_now(workspace)
    watch = monitor_of(workspace)
    assert (watch.failed, watch.recovered, sources()) == (1, 0, ["CALLBACK"])
    assert watch.last_failure == "no answer: Time-out: no answer within 0 seconds"
    assert apply(workspace) == {"APPLIED": 1}


# --- outage and blackout, I15, I19, I20


@pytest.mark.rule("I15")
@pytest.mark.django_db(transaction=True)
def test_while_the_database_takes_nothing_the_answer_is_503_and_the_event_comes_back(
    box, workspace
):
    _set_read_only(True)
    try:
        happen(box, 2)
    finally:
        _set_read_only(False)
    assert [record["statusCode"] for record in box.workspace.history] == [503, 503]
    assert not ReceivedEvent.objects.exists()
    assert poll_now(workspace) == "polled"
    assert apply(workspace) == {"APPLIED": 2}
    assert sources() == ["HISTORY", "HISTORY"]
    assert monitor_of(workspace).last_failure == "answered 503: The callback answered 503"


def _set_read_only(is_read_only: bool) -> None:
    """What a full disk or a standby does: reads work, writes do not."""
    statement = {
        "sqlite": f"PRAGMA query_only = {int(is_read_only)}",
        "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION READ "
        + ("ONLY" if is_read_only else "WRITE"),
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.django_db(transaction=True)
def test_after_a_failure_of_ours_the_next_callback_has_the_history_read_at_once(box, workspace):
    _set_read_only(True)
    try:
        happen(box, 1)
    finally:
        _set_read_only(False)
    assert WebhookMonitor.objects.get().due_at > datetime.now(UTC) + timedelta(seconds=50)
    happen(box, 1)
    watch = monitor_of(workspace)
    assert watch.due_at <= datetime.now(UTC)
    assert watch.is_certain


@pytest.mark.rule("I20")
def test_in_a_blackout_every_event_arrives_and_the_first_poll_says_so(box, workspace):
    for round_ in range(1, 6):  # nine attempts between two polls
        happen(box, 9, "DROPPED")
        poll_now(workspace)
        apply(workspace)
        watch = monitor_of(workspace)
        assert (watch.failed, watch.recovered) == (9 * round_, 9 * round_)
    assert set(states()) == {"APPLIED"}
    assert not Gap.objects.exists()


@pytest.mark.rule("I19")
def test_a_dead_receiver_misses_nothing_that_the_history_still_has(box, workspace, settings):
    Workspace.objects.update(auth_secret="")  # nobody gets in, as if nothing listened
    happen(box, 9)
    assert not ReceivedEvent.objects.exists()
    Workspace.objects.update(auth_secret=box.workspace.webhook["authSecret"])
    poll_now(workspace)
    assert apply(workspace) == {"APPLIED": 9}


# --- the poll itself


@pytest.mark.rule("2.1 lastTriggeredAt", "6.1 rule 4")
def test_the_history_is_read_only_where_something_was_tried(box, workspace):
    assert poll_now(workspace) == "as before"
    assert calls(box) == [CONFIGURATION]
    happen(box, 1)
    assert poll_now(workspace) == "polled"
    assert calls(box) == [CONFIGURATION, HISTORY]
    assert poll_now(workspace) == "as before"
    assert calls(box) == [CONFIGURATION]


@pytest.mark.parametrize("call", [CONFIGURATION, HISTORY])
@pytest.mark.parametrize("fault", ["SERVER_ERROR", "UNAVAILABLE", "EXPIRED_TOKEN", "CUT_OFF"])
def test_a_poll_that_fails_forgets_nothing_and_says_why(box, workspace, call, fault):
    happen(box, 2, "DROPPED")
    before = monitor_of(workspace)
    box.faults.set({"rules": [{"fault": fault, "method": call[0], "path": call[1]}]})
    now = datetime.now(UTC)
    assert poll_now(workspace, at=now) == "put off"
    after = monitor_of(workspace)
    assert (after.window, after.last_triggered_at, after.polled_at) == (
        before.window,
        before.last_triggered_at,
        before.polled_at,
    )
    assert after.problem != ""
    assert timedelta(seconds=15) <= after.due_at - now <= timedelta(seconds=60)
    assert after.lease_token is None
    box.faults.set({})
    Workspace.objects.update(paused_until=None)
    assert poll_now(workspace) == "polled"
    assert (monitor_of(workspace).problem, monitor_of(workspace).attempts) == ("", 0)
    assert sources() == ["HISTORY"] * 2


def test_a_stop_in_the_middle_loses_nothing(box, workspace):
    happen(box, 2, "DROPPED")
    between = Between(box, workspace.base_url)
    between.after = lost("GET", times=1)
    assert poll_now(workspace) == "put off"
    assert poll_now(workspace) == "polled"
    assert sources() == ["HISTORY"] * 2


def test_a_secret_that_no_key_opens_stops_nobody(box, workspace, settings):
    keys, settings.SECRET_KEYS_AT_REST = settings.SECRET_KEYS_AT_REST, ["A" * 43 + "="]
    assert poll_now(workspace) == "put off"
    settings.SECRET_KEYS_AT_REST = keys
    assert "cannot be decrypted" in monitor_of(workspace).problem


@pytest.mark.parametrize(
    ("payload", "is_understood"),
    [
        (None, False),
        ([], False),
        ({}, False),
        ('{"event": "MARKETING_MATER', False),
        ("text", True),  # the same event as a text
    ],
)
def test_a_payload_that_is_missing_or_cut_off_is_no_silence(box, workspace, payload, is_understood):
    happen(box, 1, "DROPPED")
    record = box.workspace.history[-1]
    record["payload"] = json.dumps(record["payload"]) if payload == "text" else payload
    assert poll_now(workspace) == ("polled" if is_understood else "gap")
    assert ReceivedEvent.objects.count() == is_understood
    if is_understood:
        assert apply(workspace) == {"APPLIED": 1}
        return
    gap = Gap.objects.get()
    at = datetime.fromisoformat(record["triggeredAt"])
    assert (gap.why, gap.began_at, gap.ended_at) == ("UNREADABLE", at, at)
    assert poll_now(workspace) == "as before"
    assert Gap.objects.count() == 1


@pytest.mark.parametrize("name", ["id", "triggeredAt", "headers", "success", "statusCode"])
@pytest.mark.parametrize("value", ["absent", None, 5, "x", {}])
def test_whatever_else_a_record_lacks_its_event_comes_back(box, workspace, name, value):
    happen(box, 2, "DROPPED")
    for record in box.workspace.history:
        record.pop(name, None)
        if value != "absent":
            record[name] = value
    WebhookMonitor.objects.update(window=["an older one"])
    assert poll_now(workspace) == "gap"
    assert poll_now(workspace) == "as before"
    apply(workspace)
    kinds = {"APPLIED", "STALE"} if name == "triggeredAt" else {"APPLIED"}  # nothing to sort by
    assert (len(states()), set(states())) == (2, kinds)
