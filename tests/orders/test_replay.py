"""Playing events again: what it would do is shown first, and what is in effect stays (I22, I31)."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from crm_sync import hooks
from crm_sync.inbox import replay, store
from crm_sync.models import ReceivedEvent
from crm_sync.work import turn
from crm_sync.work.doorbell import doorbell
from orders.models import Assignment, MaterialSet, Order, StatusChange
from tests.orders.conftest import mirror, now

State, Source = ReceivedEvent.State, ReceivedEvent.Source


def moved(new: str, minute: int, previous: str = "PLACED", **more) -> dict:
    return {
        "event": "ORDER_STATUS_UPDATED",
        "occurredAt": f"2026-01-31T10:{minute:02}:00Z",
        "orderId": "5000",
        "previousStatus": previous,
        "newStatus": new,
        **more,
    }


@pytest.fixture
def receive(workspace, drain_all):
    """Return a function that stores events and lets the worker apply them."""

    def receive_all(*payloads: object, apply: bool = True) -> list[ReceivedEvent]:
        before = set(ReceivedEvent.objects.values_list("pk", flat=True))
        for payload in payloads:
            body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
            store.store(
                workspace.pk,
                body,
                headers={"X-Event-Type": "x"},
                method="POST",
                source=Source.CALLBACK,
                now=now(),
            )
        if apply:
            turn.take(store.RECEIVED_EVENTS, workspace.pk, seconds=20.0)
        return list(ReceivedEvent.objects.exclude(pk__in=before).order_by("pk"))

    return receive_all


@pytest.fixture
def breaks(app_hooks) -> list[bool]:
    """Let the handler of order events fail as long as the list says so."""
    handlers = hooks.plugged().event_handlers
    works, broken = handlers["ORDER_STATUS_UPDATED"], [True]

    def handler(*arguments):
        if broken[0]:
            raise ValueError("a bug of ours")
        return works(*arguments)

    app_hooks(event_handlers={**handlers, "ORDER_STATUS_UPDATED": handler})
    return broken


def everything() -> dict[str, list]:
    """All rows that an event can touch, with every column."""
    models = (ReceivedEvent, Order, Assignment, StatusChange, MaterialSet)
    return {
        model.__name__: sorted(
            (
                tuple(
                    (name, bytes(v) if isinstance(v, memoryview) else v) for name, v in row.items()
                )
                for row in model.objects.values()
            ),
            key=repr,
        )
        for model in models
    }


def played(workspace, chosen: list[ReceivedEvent]) -> list[tuple[str, str]]:
    """Play them and let the worker apply them; returns state and effect of the rows it played."""
    keys = replay.replay(chosen, now=now()).played
    turn.take(store.RECEIVED_EVENTS, workspace.pk, seconds=20.0)
    rows = ReceivedEvent.objects.in_bulk(list(keys))
    by_choice = {chosen_pk: rows[pk] for pk, chosen_pk in keys.items()}
    return [(by_choice[one.pk].state, by_choice[one.pk].effect) for one in replay.in_order(chosen)]


# --- what it would do ---
def test_a_dry_run_says_what_changes_and_changes_nothing(receive, breaks, workspace):
    chosen = receive(moved("IN_PROGRESS", 1), moved("COMPLETED", 2, "IN_PROGRESS"))
    breaks[0] = False
    before = everything()
    found = replay.preview(chosen, now=now())
    assert everything() == before
    assert [(one.received_event, one.state, one.text) for one in found] == [
        (chosen[0], "APPLIED", "order 5000: Placed → In progress"),
        (chosen[1], "APPLIED", "order 5000: In progress → Completed"),
    ]
    # The second sees what the first would do.
    assert [one.changes for one in found] == [
        [
            ("order 5000, status", "", "IN_PROGRESS"),
            ("order 5000, to be read", "", "yes"),
            ("order 5000, lines of its timeline", "", "1"),
        ],
        [
            ("order 5000, status", "IN_PROGRESS", "COMPLETED"),
            ("order 5000, lines of its timeline", "1", "2"),
        ],
    ]
    assert played(workspace, chosen) == [(one.state, one.text) for one in found]


def test_a_dry_run_rings_for_nobody(receive, rings, django_capture_on_commit_callbacks):
    chosen = receive(moved("IN_PROGRESS", 1), b"?")
    with django_capture_on_commit_callbacks(execute=True) as callbacks:
        replay.preview(chosen, now=now())
    assert (callbacks, rings) == ([], [])


@pytest.mark.django_db(transaction=True)
def test_a_dry_run_leaves_nothing_behind_in_a_database_that_really_commits(receive, workspace):
    chosen = receive(moved("IN_PROGRESS", 1), moved("CANCELLED", 2, "IN_PROGRESS"), b"?")
    Order.objects.all().update(due_at=None, status="", status_at=datetime(2020, 1, 1, tzinfo=UTC))
    rings: list[tuple[str, int]] = []
    doorbell.connect(lambda *ring: rings.append(ring))
    before = everything()
    found = replay.preview(chosen, now=now())
    assert [one.state for one in found] == ["APPLIED", "APPLIED", "QUARANTINED"]
    assert (everything(), rings) == (before, [])
    assert transaction.get_connection().in_atomic_block is False
    replay.replay(chosen, now=now())
    assert set(rings) == {("received_events", workspace.pk)}


def test_what_would_fail_again_says_why(receive, breaks):
    failed, bad = receive(moved("IN_PROGRESS", 1), b"no json")
    found = replay.preview([failed, bad], now=now())
    assert [(one.state, one.text, one.changes) for one in found] == [
        ("FAILED", "ValueError: a bug of ours", []),
        ("QUARANTINED", bad.effect, []),
    ]


def test_what_cannot_be_played_says_why(receive):
    (done,) = receive(moved("IN_PROGRESS", 1))
    (waiting,) = receive(moved("IN_PROGRESS", 2), apply=False)
    ReceivedEvent.objects.filter(pk=done.pk).update(body=b"", headers={}, cleared_at=now())
    chosen = list(ReceivedEvent.objects.all())
    found = replay.preview(chosen, now=now())
    assert [(one.received_event, one.state, one.text) for one in found] == [
        (done, "", "Its bytes were removed after their retention time."),
        (waiting, "", "It waits for a worker already."),
    ]
    result = replay.replay(chosen, now=now())
    assert (result.played, result.waiting, result.cleared) == ({}, 1, 1)
    assert ReceivedEvent.objects.count() == 2


# --- playing ---
def test_a_settled_delivery_keeps_its_outcome_and_its_replay_has_its_own(receive, workspace):
    (first,) = receive(moved("IN_PROGRESS", 1))
    before, rows = mirror(), StatusChange.objects.count()
    assert played(workspace, [first]) == [
        ("STALE", "order 5000: Placed → In progress; that is known already")
    ]
    first.refresh_from_db()
    assert (first.state, first.effect) == ("APPLIED", "order 5000: Placed → In progress")
    copy = first.replays.get()
    assert (copy.source, copy.kind, bytes(copy.body)) == (
        "REPLAY",
        first.kind,
        bytes(first.body),
    )
    assert (mirror(), StatusChange.objects.count()) == (before, rows)


def test_a_stuck_delivery_is_tried_again_itself(receive, breaks, workspace):
    (failed,) = receive(moved("IN_PROGRESS", 1))
    assert failed.problem_kind == "ERROR"
    assert failed.cause.startswith("ValueError in ")
    breaks[0] = False
    assert played(workspace, [failed]) == [("APPLIED", "order 5000: Placed → In progress")]
    again = ReceivedEvent.objects.get()
    assert (again.problem_kind, again.cause) == ("", "")


def test_a_replay_brings_back_what_was_lost_here(receive, workspace):
    chosen = receive(moved("IN_PROGRESS", 1), moved("COMPLETED", 2, "IN_PROGRESS"))
    before = mirror()
    StatusChange.objects.all().delete()
    Order.objects.all().delete()
    assert [state for state, _ in played(workspace, chosen)] == ["APPLIED", "APPLIED"]
    assert mirror() == before


def test_a_replay_of_a_replay_is_one_more_of_the_first(receive, workspace):
    (first,) = receive(moved("IN_PROGRESS", 1))
    for _ in range(3):
        played(workspace, [ReceivedEvent.objects.latest("pk")])
    assert first.replays.count() == 3


def test_copies_that_come_after_a_replay_are_still_known(receive, workspace):
    (first,) = receive(moved("IN_PROGRESS", 1))
    played(workspace, [first])
    for how in ({}, {"indent": 1}):  # the same bytes, and others
        (other,) = receive(json.dumps(moved("IN_PROGRESS", 1), **how).encode())
        ending = (other.state, other.effect)
        assert ending == ("DUPLICATE", f"the same as received event {first.pk}")


@pytest.mark.parametrize("times", [1, 3])
def test_a_storm_that_is_played_again_has_one_effect_and_each_row_one_state(
    receive, workspace, breaks, times
):
    """received = applied + duplicate + stale + ignored + quarantined + pending + failed (I31)."""
    story = [moved("IN_PROGRESS", 1), moved("COMPLETED", 3, "IN_PROGRESS"), b"?", b"{}"]
    story += [moved("CANCELLED", 2, "IN_PROGRESS"), {**moved("IN_PROGRESS", 1), "x": 1}]
    receive(*story[:3])
    breaks[0] = False
    receive(*story[3:])
    unknown = ReceivedEvent.objects.filter(effect__startswith="unknown")
    store.set_aside(unknown, now=now())
    played(workspace, list(ReceivedEvent.objects.all()))
    before = mirror()
    for _ in range(times):
        result = replay.replay(list(ReceivedEvent.objects.all()), now=now())
        counts = Counter(ReceivedEvent.objects.values_list("state", flat=True))
        assert sum(counts.values()) == ReceivedEvent.objects.count()
        assert counts["RECEIVED"] == len(result.played)
        turn.take(store.RECEIVED_EVENTS, workspace.pk, seconds=20.0)
        counts = Counter(ReceivedEvent.objects.values_list("state", flat=True))
        assert (sum(counts.values()), counts["RECEIVED"]) == (ReceivedEvent.objects.count(), 0)
        assert mirror() == before
    assert ReceivedEvent.objects.exclude(source="REPLAY").count() == len(story)


# --- the command ---
def run(*words: str) -> tuple[int, str]:
    out = StringIO()
    try:
        call_command("replay", *words, stdout=out, stderr=out)
    except CommandError as error:
        return error.returncode, out.getvalue()
    return 0, out.getvalue()


def test_the_command_shows_then_plays(receive, breaks, workspace):
    (failed,) = receive(moved("IN_PROGRESS", 1))
    breaks[0] = False
    before = everything()
    code, text = run("main", "--state", "FAILED", "--dry-run", "--json")
    printed = json.loads(text)
    assert (code, printed["chosen"], printed["outcomes"]) == (0, 1, {"APPLIED": 1})
    assert printed["received_events"][0]["changes"]["order 5000, status"] == {
        "before": "",
        "after": "IN_PROGRESS",
    }
    assert everything() == before
    assert run("main", "--state", "FAILED", "--json") == (
        0,
        '{\n  "played": 1,\n  "waiting": 0,\n  "cleared": 0\n}\n',
    )
    failed.refresh_from_db()
    assert (failed.state, failed.due_at is not None) == ("RECEIVED", True)


def test_the_command_chooses_by_all_that_is_said(receive, workspace):
    old, *_ = receive(moved("IN_PROGRESS", 1), moved("IN_PROGRESS", 1, orderId="6"), b"?")
    ReceivedEvent.objects.filter(pk=old.pk).update(received_at=now() - timedelta(days=2))
    yesterday = (now() - timedelta(days=1)).isoformat()

    def chosen(*words: str) -> int:
        return json.loads(run("main", *words, "--dry-run", "--json")[1])["chosen"]

    assert chosen("--since", yesterday) == 2
    assert chosen("--order", "5000") == 1
    assert chosen("--order", "5000", "--since", yesterday) == 0
    assert chosen("--state", "QUARANTINED") == 1
    assert chosen("--event", str(old.pk)) == 1
    assert chosen("--event", str(old.pk), "--order", "6") == 0
    assert chosen("--delivery", str(old.pk)) == 1  # as in 0.1.0


def test_the_command_says_what_is_wrong(receive, workspace):
    receive(b"?")
    assert run("main")[0] == 2
    assert run("other", "--order", "1")[0] == 2
    assert run("main", "--since", "yesterday")[0] == 2
    with pytest.raises(
        CommandError, match=r"no received event of main .* 888888, 999999$"
    ) as wrong:
        call_command("replay", "main", "--event", "999999", "888888")
    assert wrong.value.returncode == 2
    code, text = run("main", "--state", "QUARANTINED", "--dry-run")
    assert (code, text.splitlines()[-1]) == (3, "1 not understood")
    ReceivedEvent.objects.update(state="IGNORED", body=b"", cleared_at=now())
    assert run("main", "--state", "IGNORED")[0] == 3


@pytest.mark.rule("S12")
def test_another_workspace_is_never_played(receive, workspace):
    from crm_sync.models import Workspace

    receive(moved("IN_PROGRESS", 1))
    Workspace.objects.create(slug="other", base_url="http://platform.test")
    code, text = run("other", "--order", "5000", "--json")
    assert (code, json.loads(text)["played"]) == (0, 0)
    assert ReceivedEvent.objects.count() == 1
