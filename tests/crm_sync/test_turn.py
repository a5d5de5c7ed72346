"""One turn of a queue, and what the turns of a process share (I1, I3, A8, I11)."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from crm_sync.inbox import store
from crm_sync.models import ReceivedEvent, Ring, Slot, WebhookMonitor, Workspace, due
from crm_sync.webhook import poll
from crm_sync.work import leases, queues, rings, turn
from crm_sync.work.leases import Claim
from crm_sync.work.queues import RowQueue, Turn
from tests.together import together

SECOND = timedelta(seconds=1)


def events(workspace: Workspace, count: int) -> None:
    now = timezone.now()
    ReceivedEvent.objects.bulk_create(
        ReceivedEvent(workspace=workspace, digest=str(n), body=b"?", due_at=now)
        for n in range(count)
    )


def settle(claims: Sequence[Claim[ReceivedEvent]], _: Turn) -> list[str]:
    for claim in claims:
        claim.finish(due_at=None, state=ReceivedEvent.State.IGNORED)
    return ["ignored"] * len(claims)


def one_by_one(work=settle, **options) -> RowQueue[ReceivedEvent]:
    return replace(store.RECEIVED_EVENTS, work=work, batch_size=1, slots=8, **options)


def left() -> int:
    return ReceivedEvent.objects.filter(due_at__isnull=False).count()


def leased() -> int:
    return ReceivedEvent.objects.filter(lease_token__isnull=False).count()


@contextmanager
def counted_claims(queue: RowQueue[ReceivedEvent]) -> Iterator[tuple[RowQueue, list[int]]]:
    """Yield the queue with a note of how many rows each claim asked for."""
    asked: list[int] = []

    class Counting(RowQueue[ReceivedEvent]):
        def claim(self, workspace_id: int, limit: int) -> list[Claim[ReceivedEvent]]:
            asked.append(limit)
            return super().claim(workspace_id, limit)

    yield Counting(**queue.__dict__), asked


@contextmanager
def a_turn_that_hangs(
    queue: RowQueue, workspace: Workspace, hangs: threading.Event, goes_on: threading.Event
) -> Iterator[None]:
    """Take a turn in a thread; the block runs while it hangs, then it goes on to its end."""
    slow = threading.Thread(
        target=lambda: together(lambda: turn.take(queue, workspace.pk), workers=1)
    )
    slow.start()
    assert hangs.wait(30)
    try:
        yield
    finally:
        goes_on.set()
        slow.join()


# --- one turn
def test_a_turn_works_on_what_is_due_and_leaves_nothing_held(main):
    events(main, 5)
    tally = turn.take(one_by_one(), main.pk)
    assert (tally.counts, tally.more, left(), leased()) == ({"ignored": 5}, False, 0, 0)
    assert not Slot.objects.filter(lease_token__isnull=False).exists()


def test_what_comes_due_at_the_last_row_is_seen_after_the_slot_is_free(main, rings):
    events(main, 1)

    def work(claims, one) -> list[str]:
        # Its ring finds the slot taken, and is of no use.
        ReceivedEvent.objects.create(
            workspace=main, digest="late", body=b"?", due_at=timezone.now()
        )
        one.ends_at = 0.0
        return settle(claims, one)

    tally = turn.take(one_by_one(work), main.pk)
    assert (tally.counts, tally.more, left()) == ({"ignored": 1}, True, 1)


def test_what_comes_due_after_a_turn_found_nothing_is_left_to_its_own_ring(main, rings):
    events(main, 1)

    class Late(RowQueue[ReceivedEvent]):
        def claim(self, workspace_id: int, limit: int) -> list[Claim[ReceivedEvent]]:
            found = super().claim(workspace_id, limit)
            if not found:  # an import makes the next row due, again and again
                ReceivedEvent.objects.create(
                    workspace=main, digest="late", body=b"?", due_at=timezone.now()
                )
            return found

    tally = turn.take(Late(**one_by_one().__dict__), main.pk)
    assert (tally.counts, tally.more, left()) == ({"ignored": 1}, False, 1)


def test_beside_a_backlog_a_turn_asks_for_the_next_without_a_look(main, rings):
    events(main, 12)

    class Blind(RowQueue[ReceivedEvent]):
        def is_due(self, workspace_id: int, now: datetime) -> bool:
            raise AssertionError("it looked")

    def work(claims, one) -> list[str]:
        one.ends_at = 0.0
        return settle(claims, one)

    tally = turn.take(Blind(**one_by_one(work).__dict__), main.pk)
    assert (tally.total, tally.more, left()) == (1, True, 11)


def test_in_a_pause_nothing_is_claimed(main):
    WebhookMonitor.objects.create(workspace=main, due_at=timezone.now())
    Workspace.objects.update(paused_until=timezone.now() + 60 * SECOND)
    assert turn.take(poll.TRIGGERS, main.pk).counts == {}
    row = WebhookMonitor.objects.get()
    assert (row.lease_token, row.attempts) == (None, 0)


@pytest.mark.rule("I11")
def test_after_a_pause_one_turn_of_all_queues_tries_one_row(main):
    Workspace.objects.update(pauses=1)
    events(main, 3)
    seen = []

    def work(claims, one) -> list[str]:
        seen.append(turn.take(replace(calling, work=settle), main.pk).busy)
        return settle(claims, one)

    calling = replace(one_by_one(work), calls=True)
    tally = turn.take(calling, main.pk)
    assert (tally.counts, seen) == ({"ignored": 1}, [True])


def test_a_row_that_needs_a_secret_no_key_reads_is_put_off_and_others_go_on(main, settings):
    Workspace.objects.filter(pk=main.pk).update(fixed_token="secret")
    settings.SECRET_KEYS_AT_REST = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]  # another key
    events(main, 2)

    def work(claims, one) -> list[str]:
        return settle(claims, one) if claims[0].row.digest == "0" else [one.workspace.fixed_token]

    calling = replace(one_by_one(work), calls=True)
    assert turn.take(calling, main.pk).counts == {"ignored": 1, "failed": 1}
    row = ReceivedEvent.objects.get(due_at__isnull=False)
    assert (row.attempts, row.lease_token, row.due_at > timezone.now()) == (1, None, True)


def test_a_turn_of_a_queue_with_nothing_due_costs_few_statements(main, django_assert_num_queries):
    turn.take(poll.TRIGGERS, main.pk)
    with django_assert_num_queries(5):  # workspace, slot, claim, release, who waits for a slot
        assert turn.take(poll.TRIGGERS, main.pk).counts == {}


# --- what the turns of a process share
@pytest.mark.django_db(transaction=True)
def test_turns_at_one_moment_share_what_one_claim_took_and_none_has_the_row_of_another():
    main = Workspace.objects.create(slug="main", base_url="http://platform.test")
    events(main, 40)
    seen, lock, all_in = [], threading.Lock(), threading.Barrier(4)

    def work(claims, one) -> list[str]:
        with lock:
            is_first = len(seen) < 4
            seen.append(claims[0].row.pk)
        if is_first:
            all_in.wait(20)
        return settle(claims, one)

    with counted_claims(one_by_one(work)) as (queue, asked):
        tallies = together(lambda: turn.take(queue, main.pk, seconds=60.0), workers=4)
    assert sum(one.total for one in tallies) == len(seen) == len(set(seen)) == 40
    assert len(asked) < 25  # forty for each by itself
    assert max(asked) <= 4 * turn.AHEAD
    assert (left(), leased()) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_a_call_that_hangs_keeps_no_row_but_its_own():
    main = Workspace.objects.create(slug="main", base_url="http://platform.test")
    events(main, 12)
    hangs, goes_on = threading.Event(), threading.Event()

    def work(claims, one) -> list[str]:
        if not hangs.is_set():
            hangs.set()
            assert goes_on.wait(30)
        return settle(claims, one)

    queue = one_by_one(work)
    with a_turn_that_hangs(queue, main, hangs, goes_on):
        assert turn.take(queue, main.pk, seconds=60.0).total == 11
        assert left() == 1
    assert (left(), leased()) == (0, 0)


@pytest.mark.django_db(transaction=True)
def test_what_comes_due_anew_while_it_is_leased_is_done_by_the_turn_that_has_it():
    main = Workspace.objects.create(slug="main", base_url="http://platform.test")
    events(main, 1)
    hangs, goes_on, worked = threading.Event(), threading.Event(), []

    def work(claims, one) -> list[str]:
        worked.append(one)
        if hangs.is_set():
            return settle(claims, one)
        hangs.set()
        assert goes_on.wait(30)
        claims[0].finish(due_at=None)  # it stays due, since somebody made it so meanwhile
        return ["ignored"]

    queue = one_by_one(work)
    with a_turn_that_hangs(queue, main, hangs, goes_on):
        ReceivedEvent.objects.update(due_at=timezone.now())
        assert turn.take(queue, main.pk).total == 0  # its ring finds the row leased
    assert (len(worked), len(set(worked)), left(), leased()) == (2, 1, 0, 0)


@pytest.mark.django_db(transaction=True)
def test_what_was_claimed_ahead_of_a_call_that_hangs_is_given_back_and_rung_for(rings):
    main = Workspace.objects.create(slug="main", base_url="http://platform.test")
    events(main, 12)
    hangs, goes_on = threading.Event(), threading.Event()

    def work(claims, one) -> list[str]:
        hangs.set()
        assert goes_on.wait(30)
        one.ends_at = 0.0
        return settle(claims, one)

    queue = one_by_one(work)
    with a_turn_that_hangs(queue, main, hangs, goes_on):
        turn.renew(timezone.now())
        assert (leased(), rings) == (2, [])
        turn.renew(timezone.now() + 2 * SECOND)
        assert (leased(), rings) == (1, [(queue.name, main.pk)])
    assert (left(), leased()) == (11, 0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("problem", "asked"), [("", 1), ("AWAY", 0)])
def test_a_workspace_gets_one_more_turn_after_an_answer_and_none_while_its_platform_fails(
    rings, problem, asked
):
    main = Workspace.objects.create(slug="main", base_url="http://platform.test")
    events(main, 12)
    before = []

    def work(claims, one) -> list[str]:
        before.append(len(rings))
        one.workspace.problem = problem
        return settle(claims, one)

    queue = replace(one_by_one(work), calls=True)
    assert turn.take(queue, main.pk, seconds=60.0).total == 12
    assert (before[0], rings) == (0, [(queue.name, main.pk)] * asked)


@pytest.mark.django_db(transaction=True)
def test_a_turn_that_begins_while_answers_come_asks_for_one_more_before_its_own_first(rings):
    main = Workspace.objects.create(slug="main", base_url="http://platform.test", max_under_way=4)
    events(main, 60)
    before: list[int] = []

    def work(claims, one) -> list[str]:
        before.append(len(rings))
        if len(before) == 3:  # while an answer of another turn is fresh
            inner = turn.take(replace(calling, work=second), main.pk, seconds=60.0)
            assert inner.total > 0
        return settle(claims, one)

    def second(claims, one) -> list[str]:
        before.append(len(rings))
        one.ends_at = 0.0
        return settle(claims, one)

    calling = replace(one_by_one(work), calls=True)
    turn.take(calling, main.pk, seconds=60.0)
    assert before[:4] == [0, 1, 1, 2]


@pytest.mark.django_db(transaction=True)
def test_a_workspace_with_all_its_turns_under_way_asks_for_none(rings):
    main = Workspace.objects.create(slug="main", base_url="http://platform.test", max_under_way=1)
    events(main, 12)
    calling = replace(one_by_one(), calls=True)
    assert turn.take(calling, main.pk, seconds=60.0).total == 12
    assert rings == []


@pytest.mark.django_db(transaction=True)
def test_who_found_no_slot_is_rung_for_when_one_comes_free(rings):
    main = Workspace.objects.create(slug="main", base_url="http://platform.test", max_under_way=1)
    Ring.objects.create(workspace=main, queue=poll.TRIGGERS.name)
    WebhookMonitor.objects.create(workspace=main, due_at=timezone.now())
    events(main, 2)
    busy = []

    def work(claims, one) -> list[str]:
        busy.append(turn.take(poll.TRIGGERS, main.pk).busy)
        one.ends_at = 0.0
        return settle(claims, one)

    turn.take(replace(one_by_one(work), calls=True), main.pk)
    assert busy == [True]
    # Before its own next turn, so that the other finds the slot free.
    assert rings == [(poll.TRIGGERS.name, main.pk), (store.RECEIVED_EVENTS.name, main.pk)]


# --- leases
def test_the_lease_of_what_is_worked_on_is_renewed_and_what_another_has_taken_is_not(main):
    events(main, 2)
    claims = one_by_one().claim(main.pk, 2)
    until = claims[0].until
    later = timezone.now() + 3 * SECOND
    with turn.under_way(claims):
        turn.renew(later)
        assert claims[0].until == later + leases.SHORT_LEASE
        assert set(ReceivedEvent.objects.values_list("lease_until", flat=True)) == {
            later + leases.SHORT_LEASE
        }
        ReceivedEvent.objects.filter(pk=claims[1].row.pk).update(
            lease_token="12345678-1234-5678-1234-567812345678"
        )
        known = claims[0].until
        turn.renew(later + 3 * SECOND)
        # Of what it may have lost it begins nothing that needs the lease.
        assert claims[0].until == known > until
    assert claims[0].write({"attempts": 1})
    assert not claims[1].write({"attempts": 1})


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has no locks of rows")
def test_a_row_that_a_person_is_saving_keeps_no_other_lease_from_its_renewal():
    main = Workspace.objects.create(slug="main", base_url="http://platform.test")
    events(main, 2)
    (saved, other) = (one_by_one().claim(main.pk, 1)[0] for _ in range(2))
    before, later = saved.until, timezone.now() + 3 * SECOND
    held, done = threading.Event(), threading.Event()

    def save() -> None:
        with transaction.atomic():
            ReceivedEvent.objects.select_for_update().get(pk=saved.row.pk)
            held.set()
            assert done.wait(30)
        connection.close()

    person = threading.Thread(target=save)
    person.start()
    assert held.wait(30)
    with turn.under_way([saved, other]):
        turn.renew(later)
    done.set()
    person.join()
    assert (saved.until, other.until) == (before, later + leases.SHORT_LEASE)


def test_what_a_killed_worker_held_without_a_call_is_free_after_five_seconds(main):
    events(main, 1)
    one_by_one().claim(main.pk, 1)
    assert timedelta(seconds=5) == leases.SHORT_LEASE
    mine = ReceivedEvent.objects.filter(due.unleased(timezone.now() + 4 * SECOND))
    assert not mine.exists()
    assert ReceivedEvent.objects.filter(due.unleased(timezone.now() + 5 * SECOND)).exists()


def test_a_lease_from_before_the_clock_was_set_back_is_written_anew(main):
    events(main, 1)
    claims = one_by_one().claim(main.pk, 1)
    earlier = timezone.now() - timedelta(hours=3)
    with turn.under_way(claims):
        turn.renew(earlier)
    assert claims[0].until == earlier + leases.SHORT_LEASE
    assert ReceivedEvent.objects.get(due.leased(earlier)).lease_until == claims[0].until


def test_a_lease_that_is_over_is_not_renewed_since_somebody_may_have_read_its_row_as_free(main):
    events(main, 1)
    claims = one_by_one().claim(main.pk, 1)
    with turn.under_way(claims):
        turn.renew(timezone.now() + 6 * SECOND)
    assert ReceivedEvent.objects.filter(due.unleased(timezone.now() + 6 * SECOND)).exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has no locks of rows")
def test_a_row_that_is_locked_while_it_is_given_back_keeps_nobody_waiting_and_is_tried_again():
    main = Workspace.objects.create(slug="main", base_url="http://platform.test")
    events(main, 3)
    claims = one_by_one().claim(main.pk, 3)
    held, done = threading.Event(), threading.Event()

    def save() -> None:
        with transaction.atomic():
            ReceivedEvent.objects.select_for_update().get(pk=claims[1].row.pk)
            held.set()
            assert done.wait(30)
        connection.close()

    person = threading.Thread(target=save)
    person.start()
    assert held.wait(30)
    assert leases.give_back(claims) == [claims[1]]
    done.set()
    person.join()
    assert leases.give_back([claims[1]]) == []
    assert leased() == 0


def test_a_claim_ahead_that_fails_loses_no_row_of_those_before(main):
    events(main, 12)
    asked = []

    class Failing(RowQueue[ReceivedEvent]):
        def claim(self, workspace_id: int, limit: int) -> list[Claim[ReceivedEvent]]:
            asked.append(limit)
            if len(asked) == 2:
                raise OperationalError("the lock was not to be had")
            return super().claim(workspace_id, limit)

    tally = turn.take(Failing(**one_by_one().__dict__), main.pk, seconds=60.0)
    assert (tally.total, left(), leased()) == (12, 0, 0)


# --- the broker
@pytest.mark.django_db(transaction=True)
def test_a_flood_of_one_workspace_delays_its_neighbour_by_the_turns_before_it_alone():
    flood, quiet = (
        Workspace.objects.create(slug=slug, base_url="http://platform.test")
        for slug in ("flood", "quiet")
    )
    events(flood, 400)
    events(quiet, 1)
    queue, messages, order = one_by_one(), [], []

    def ring(name: str, workspace_id: int) -> None:
        if rings.mark([(name, workspace_id)], timezone.now()):
            messages.append((name, workspace_id))

    from crm_sync.work.doorbell import doorbell

    doorbell.connect(ring)
    rings.tick(timezone.now(), lambda *pair: messages.append(pair), messages=lambda: 0)
    while messages:
        assert len(messages) == len(set(messages))  # at most one waits for each
        name, workspace_id = messages.pop(0)
        rings.taken(name, workspace_id)
        order.append(workspace_id)
        turn.take(queue, workspace_id, seconds=0.05)
    doorbell.connect(None)
    assert order.index(quiet.pk) <= 1
    assert (left(), order.count(quiet.pk)) == (0, 1)
    assert not Ring.objects.filter(rung_at__isnull=False).exists()


def test_who_has_to_end_begins_no_turn_and_asks_for_none(main, monkeypatch, rings):
    events(main, 3)
    monkeypatch.setattr(queues, "ending", threading.Event())
    queues.ending.set()
    tally = turn.take(one_by_one(), main.pk)
    assert (tally.counts, tally.more, left(), leased()) == ({}, False, 3, 0)
