"""What was stored is understood later: in order, once, and never lost (I31)."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection

from crm_sync import hooks
from crm_sync.hooks import Effect, Outcome
from crm_sync.inbox import store as inbox_store
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.work import leases, turn
from tests.crm_sync.polls import poll_now
from tests.crm_sync.test_events import PAYLOADS

KIND = "ORDER_STATUS_UPDATED"
MOVED = PAYLOADS[KIND]
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.fixture
def hook(db) -> Workspace:
    return Workspace.objects.create(slug="main", base_url="http://x.test")


@pytest.fixture
def applied(app_hooks) -> list[str]:
    """Return the order ids in the order in which a handler of the test saw them."""
    seen: list[str] = []

    def handler(batch, event, received_event_id) -> Effect:
        seen.append(event.text("orderId"))
        return Effect(Outcome.APPLIED, f"order {event.text('orderId')} moved")

    app_hooks(event_handlers={KIND: handler})
    return seen


def store(workspace: Workspace, payload: object, *, now: datetime = START) -> ReceivedEvent:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    inbox_store.store(
        workspace.pk,
        body,
        headers={},
        method="POST",
        source=ReceivedEvent.Source.CALLBACK,
        now=now,
    )
    return ReceivedEvent.objects.latest("pk")


def drain(workspace: Workspace, at: datetime = START) -> dict[str, int]:
    with time_machine.travel(at, tick=False):
        return turn.take(inbox_store.RECEIVED_EVENTS, workspace.pk, seconds=60.0).counts


def states() -> list[str]:
    return list(ReceivedEvent.objects.order_by("pk").values_list("state", flat=True))


def test_deliveries_are_applied_in_the_order_in_which_they_came(hook, applied):
    for n, minute in enumerate([3, 1, 2]):
        store(hook, MOVED | {"orderId": str(n)}, now=START - timedelta(minutes=minute))
    assert drain(hook) == {"APPLIED": 3}
    assert applied == ["0", "2", "1"]
    first = ReceivedEvent.objects.order_by("pk")[0]
    assert (first.kind, first.order_platform_id, first.effect) == (KIND, "0", "order 0 moved")
    assert first.occurred_at == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert (first.applied_at, first.due_at, first.lease_token) == (START, None, None)
    assert drain(hook) == {}


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"\xff", "not JSON: the bytes are not UTF-8"),
        (b"{}", "unknown event None"),
        ({"event": "ORDER_ARCHIVED"}, "unknown event ORDER_ARCHIVED"),
        ({"event": "a\0b\ud800"}, "unknown event 'a\\x00b\\ud800'"),
        (MOVED | {"orderId": None}, f"{KIND} without orderId"),
        (MOVED | {"occurredAt": "\0"}, "occurredAt is not a timestamp: '\\x00'"),
        (b"[" * 200_000, "the JSON is nested too deeply"),
    ],
    ids=str,
)
def test_what_cannot_be_understood_is_kept_with_its_reason_and_the_next_goes_on(
    hook, applied, payload, reason
):
    bad = store(hook, payload)
    store(hook, MOVED, now=START)
    assert drain(hook) == {"QUARANTINED": 1, "APPLIED": 1}
    body = bytes(bad.body)
    bad.refresh_from_db()
    assert bad.effect.startswith(reason)
    assert (bytes(bad.body), bad.due_at, bad.state) == (body, None, "QUARANTINED")
    assert applied == ["12"]


def test_an_event_up_to_ten_minutes_ahead_of_the_clock_is_applied_and_another_waits(hook, applied):
    store(hook, MOVED | {"occurredAt": "2026-03-01T12:10:00Z"})
    early = store(hook, MOVED | {"occurredAt": "2026-03-01T12:10:01Z", "orderId": "13"})
    assert drain(hook) == {"APPLIED": 1, "EARLY": 1}
    early.refresh_from_db()
    assert (early.state, early.due_at) == ("EARLY", START + timedelta(seconds=1))
    assert drain(hook, early.due_at) == {"APPLIED": 1}
    assert applied == ["12", "13"]


@pytest.mark.rule("6.1 rule 5")
def test_the_same_event_written_otherwise_is_a_duplicate(hook, applied):
    first = store(hook, json.dumps(MOVED).encode())
    again = store(hook, json.dumps(dict(reversed(MOVED.items())), indent=1).encode())
    assert drain(hook) == {"APPLIED": 1, "DUPLICATE": 1}
    again.refresh_from_db()
    assert (applied, again.effect) == (["12"], f"the same as received event {first.pk}")


def test_the_same_bytes_are_counted_while_they_wait_and_a_duplicate_once_they_are_settled(
    hook, applied
):
    for _ in range(3):
        store(hook, MOVED)
        store(hook, b"?")
    assert drain(hook) == {"APPLIED": 1, "QUARANTINED": 1}
    store(hook, b"?")  # waits for a person
    again = store(hook, MOVED)
    assert drain(hook) == {"DUPLICATE": 1}
    first, unclear, _ = ReceivedEvent.objects.order_by("pk")
    again.refresh_from_db()
    assert (first.repeats, unclear.repeats, again.repeats) == (2, 3, 0)
    assert (applied, again.effect) == (["12"], f"the same as received event {first.pk}")


def test_a_copy_that_comes_while_the_first_is_settled_is_not_lost(hook, applied):
    first = store(hook, MOVED)

    def settle_first(execute, sql, *rest):
        if sql.startswith("UPDATE") and "repeats" in sql and not applied:
            drain(hook)
        return execute(sql, *rest)

    with connection.execute_wrapper(settle_first):
        again = store(hook, MOVED)
    assert states() == ["APPLIED", "RECEIVED"]
    assert drain(hook) == {"DUPLICATE": 1}
    assert (applied, ReceivedEvent.objects.get(pk=first.pk).repeats, again.pk > first.pk) == (
        ["12"],
        0,
        True,
    )


def test_the_same_event_in_two_workspaces_is_no_duplicate(hook, applied):
    other = Workspace.objects.create(slug="other", base_url="http://x.test")
    for workspace in (hook, other):
        store(workspace, MOVED)
    assert drain(hook) == {"APPLIED": 1}
    assert states() == ["APPLIED", "RECEIVED"]  # a drain touches its own workspace alone
    assert drain(other) == {"APPLIED": 1}


def test_an_event_that_nobody_handles_is_ignored_and_says_so(hook, app_hooks):
    app_hooks(event_handlers={})
    store(hook, MOVED)
    assert drain(hook) == {"IGNORED": 1}
    assert ReceivedEvent.objects.get().effect == f"nothing handles {KIND}"


def test_a_handler_may_say_that_it_knew_something_newer(hook, app_hooks):
    app_hooks(event_handlers={KIND: lambda *_: Effect(Outcome.STALE, "newer is known")})
    store(hook, MOVED)
    assert drain(hook) == {"STALE": 1}


# --- a fault of ours


@pytest.fixture
def failing(app_hooks, applied) -> list[bool]:
    """Let the handler of the test fail for order 13 as long as the list says so."""
    works, faulty = hooks.plugged().event_handlers[KIND], [True]

    def handler(batch, event, received_event_id) -> Effect:
        Workspace.objects.create(slug=f"half-{received_event_id}", base_url="http://x.test")
        if event.text("orderId") == "13" and faulty[0]:
            raise ValueError("a bug\0 of ours")
        return works(batch, event, received_event_id)

    app_hooks(event_handlers={KIND: handler})
    return faulty


def test_a_handler_that_fails_leaves_nothing_half_done_and_does_not_stop_the_others(
    hook, applied, failing
):
    bad = store(hook, MOVED | {"orderId": "13"}, now=START - timedelta(minutes=1))
    store(hook, MOVED)
    assert drain(hook) == {"FAILED": 1, "APPLIED": 1}
    bad.refresh_from_db()
    assert (bad.state, bad.effect, bad.attempts) == ("FAILED", "ValueError: a bug of ours", 1)
    assert (bad.kind, bad.order_platform_id) == (KIND, "13")
    assert START < bad.due_at <= START + timedelta(seconds=4)
    assert not Workspace.objects.filter(slug=f"half-{bad.pk}").exists()
    assert applied == ["12"]


def test_a_failed_delivery_is_applied_when_the_fault_is_gone(hook, applied, failing):
    bad = store(hook, MOVED | {"orderId": "13"})
    assert drain(hook) == {"FAILED": 1}
    failing[0] = False
    assert drain(hook) == {}  # not before its time
    assert drain(hook, START + timedelta(seconds=5)) == {"APPLIED": 1}
    bad.refresh_from_db()
    assert (bad.state, bad.effect, applied) == ("APPLIED", "order 13 moved", ["13"])


def test_a_copy_of_a_failed_delivery_is_no_duplicate_of_it(hook, applied, failing):
    store(hook, MOVED | {"orderId": "13"})
    drain(hook)
    failing[0] = False
    store(hook, json.dumps(MOVED | {"orderId": "13"}, indent=1).encode())
    assert drain(hook) == {"APPLIED": 1}
    assert drain(hook, START + timedelta(seconds=5)) == {"DUPLICATE": 1}
    assert applied == ["13"]


def test_after_eight_tries_it_waits_for_a_person_with_its_reason(hook, applied, failing):
    bad = store(hook, MOVED | {"orderId": "13"})
    at, waits = START, []
    for _ in range(8):
        assert drain(hook, at) == {"FAILED": 1}
        bad.refresh_from_db()
        if bad.due_at:
            waits.append(bad.due_at - at)
            at = bad.due_at
    assert (bad.attempts, bad.due_at, bad.state) == (8, None, "FAILED")
    assert bad.effect == "ValueError: a bug of ours"
    assert len(waits) == 7
    ceilings = [timedelta(seconds=2 ** (n + 2)) for n in range(7)]
    assert all(wait <= ceiling for wait, ceiling in zip(waits, ceilings, strict=True))
    assert drain(hook, at + timedelta(days=1)) == {}


@pytest.mark.parametrize("key", ["1\0" + "2", "\ud8001", "x" * 255 + "\0"])
def test_ids_that_no_database_takes_stop_nobody(hook, applied, key):
    store(hook, MOVED | {"orderId": key}, now=START - timedelta(minutes=1))
    store(hook, MOVED)
    assert drain(hook) == {"APPLIED": 2}
    odd = ReceivedEvent.objects.order_by("pk")[0]
    kept = key.replace("\0", "").replace("\ud800", "")
    assert odd.order_platform_id == kept
    assert odd.effect == f"order {kept} moved"


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("", f"{KIND} without orderId"),
        (" ", f"{KIND} without orderId"),
        ("\ud800", f"{KIND} without orderId"),
        ("\0" * 300, f"{KIND} without orderId"),
        ("x" * 256, f"orderId is longer than 255 characters: {'x' * 40}…"),
    ],
)
def test_an_event_whose_id_is_empty_or_too_long_is_refused_with_its_reason(hook, applied, key, why):
    store(hook, MOVED | {"orderId": key}, now=START - timedelta(minutes=1))
    store(hook, MOVED)
    assert drain(hook) == {"QUARANTINED": 1, "APPLIED": 1}
    odd = ReceivedEvent.objects.order_by("pk")[0]
    assert (odd.effect, odd.order_platform_id) == (why, "")


# --- leases


def test_what_a_dead_worker_held_is_taken_up_again_after_its_lease(hook, applied):
    store(hook, MOVED)
    dead = leases.claim(ReceivedEvent.objects.all(), now=START)
    assert dead is not None
    assert drain(hook, START + leases.LEASE - timedelta(seconds=1)) == {}
    assert drain(hook, START + leases.LEASE) == {"APPLIED": 1}
    with pytest.raises(leases.LeaseLost):  # it wakes up too late to write
        dead.finish(due_at=None, state="FAILED")
    assert states() == ["APPLIED"]


def test_a_worker_that_lost_its_lease_meanwhile_changes_nothing(hook, app_hooks):
    def slow(batch, event, received_event_id) -> Effect:
        Workspace.objects.create(slug="half", base_url="http://x.test")
        ReceivedEvent.objects.update(lease_token="12345678-1234-5678-1234-567812345678")
        return Effect(Outcome.APPLIED, "too late")

    app_hooks(event_handlers={KIND: slow})
    store(hook, MOVED)
    assert drain(hook) == {"lost to another worker": 1}
    assert not Workspace.objects.filter(slug="half").exists()
    assert states() == ["RECEIVED"]


@pytest.fixture
def held(hook, applied, failing) -> tuple[ReceivedEvent, leases.Claim[ReceivedEvent]]:
    """Return an event that failed once, and that a worker has now."""
    row = store(hook, MOVED | {"orderId": "13"})
    drain(hook)
    claim = leases.claim(ReceivedEvent.objects.all(), now=START + 5 * SECOND)
    assert claim is not None
    return row, claim


def by_hand(row: ReceivedEvent, now: datetime) -> list[int]:
    """What a person can do to a stuck event, and how many that were."""
    mine = ReceivedEvent.objects.filter(pk=row.pk)
    return [inbox_store.set_aside(mine, now=now), inbox_store.apply_again(mine, now=now)]


def test_what_a_worker_has_is_left_to_it(held):
    row, claim = held
    assert by_hand(row, START + 6 * SECOND) == [0, 0]
    claim.finish(due_at=None, state="APPLIED", canonical_digest="d" * 64)
    row.refresh_from_db()
    assert (row.state, row.due_at) == ("APPLIED", None)


@pytest.mark.parametrize(
    ("act", "state"), [(inbox_store.set_aside, "IGNORED"), (inbox_store.apply_again, "RECEIVED")]
)
def test_a_worker_that_is_late_writes_no_state_over_that_of_a_person(held, act, state):
    row, claim = held
    later = START + 5 * SECOND + leases.LEASE
    assert act(ReceivedEvent.objects.all(), now=later) == 1
    with pytest.raises(leases.LeaseLost):
        claim.finish(due_at=None, state="APPLIED", canonical_digest="d" * 64)
    row.refresh_from_db()
    assert (row.state, row.due_at) == (state, later if state == "RECEIVED" else None)


def test_a_turn_whose_time_is_over_leaves_the_rest_for_the_next(hook, applied):
    for number in range(3):
        store(hook, {**MOVED, "note": number})
    one_by_one = replace(inbox_store.RECEIVED_EVENTS, batch_size=1)
    tally = turn.take(one_by_one, hook.pk, seconds=0.0)
    assert (tally.counts, tally.more) == ({"APPLIED": 1}, True)
    assert inbox_store.RECEIVED_EVENTS.workspaces(datetime.now(UTC)) == {hook.pk}


def test_every_delivery_is_in_exactly_one_state(hook, applied, failing):
    payloads = [b"?", *[MOVED | {"orderId": str(n)} for n in range(10, 20)]]
    for payload in payloads:
        for _ in range(3):
            store(hook, payload)
        store(hook, json.dumps(payload, indent=2).encode() if payload != b"?" else b"??")
    store(hook, {"event": "NEW", "occurredAt": "2026-03-01T10:00:00Z"})
    received = ReceivedEvent.objects.count()
    counts = drain(hook)
    store(hook, MOVED | {"orderId": "99"})
    assert sum(counts.values()) == received
    assert counts == {"QUARANTINED": 3, "APPLIED": 9, "DUPLICATE": 9, "FAILED": 2}
    assert sorted(states()) == sorted(
        [state for state, count in counts.items() for _ in range(count)] + ["RECEIVED"]
    )
    waiting = (
        ReceivedEvent.objects.exclude(due_at=None).order_by("state").values_list("state", flat=True)
    )
    assert list(waiting) == ["FAILED", "FAILED", "RECEIVED"]


def test_the_worker_needs_a_bounded_number_of_queries_a_delivery(
    hook, applied, django_assert_max_num_queries
):
    for n in range(10):
        store(hook, MOVED | {"orderId": str(n)})
    with django_assert_max_num_queries(10 * 8 + 2, connection=connection):
        assert drain(hook) == {"APPLIED": 10}


@pytest.mark.rule("S5")
def test_an_event_that_repeats_our_secret_is_stored_once_and_masked(box, workspace):
    secret = Workspace.objects.get().auth_secret
    box.workspace.properties[secret] = {"id": secret}
    box.marketing_ready(secret, "INSTAGRAM")
    box.deliver()
    row = ReceivedEvent.objects.get()
    kept = bytes(row.body).decode()
    assert (secret in kept, "***" in json.loads(kept).values()) == (False, True)
    assert poll_now(workspace) == "polled"  # the history has the same event
    assert list(ReceivedEvent.objects.all()) == [row]


def test_the_effect_of_an_event_is_stored_as_a_sentence(hook, applied):
    store(hook, MOVED)
    store(hook, MOVED | {"extra": "a"})
    for _ in range(2):
        drain(hook)
    store(hook, json.dumps(MOVED, indent=1).encode())
    assert drain(hook) == {"DUPLICATE": 1}
    copy = ReceivedEvent.objects.latest("pk")
    assert copy.effect.message == "the same as received event %(id)s"
    assert copy.effect == f"the same as received event {ReceivedEvent.objects.earliest('pk').pk}"
