"""The row is the queue: one holder at a time, the oldest first, never lost (I1, I3)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from hypothesis import given, settings, strategies as st

from crm_sync.models import ReceivedEvent, Workspace, due
from crm_sync.work import leases, turn
from tests.together import together

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.fixture
def hook(db) -> Workspace:
    return Workspace.objects.create(slug="main", base_url="http://x.test")


def row(workspace: Workspace, name: str, due_at: datetime | None = NOW) -> ReceivedEvent:
    return ReceivedEvent.objects.create(
        workspace=workspace,
        digest=name,
        body=b"{}",
        method="POST",
        state=ReceivedEvent.State.FAILED,  # may be due or not
        due_at=due_at,
    )


def take(now: datetime = NOW) -> leases.Claim[ReceivedEvent] | None:
    return leases.claim(ReceivedEvent.objects.all(), now=now)


def test_the_row_that_has_been_due_for_longest_is_claimed_first(hook):
    for name, age in (("b", 2), ("c", 1), ("a", 3), ("a2", 3)):
        row(hook, name, NOW - age * SECOND)
    claims = [take() for _ in range(5)]
    assert [claim and claim.row.digest for claim in claims] == ["a", "a2", "b", "c", None]


def test_what_is_not_due_is_not_claimed(hook):
    row(hook, "later", NOW + SECOND)
    row(hook, "never", None)
    assert take() is None
    assert take(NOW + SECOND).row.digest == "later"


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has no locks of rows")
def test_a_row_that_another_transaction_has_locked_is_left_out_and_delays_no_claim():
    main = Workspace.objects.create(slug="main", base_url="http://x.test")
    locked, *_ = (row(main, name) for name in "abc")
    with transaction.atomic():
        ReceivedEvent.objects.filter(pk=locked.pk).update(method="PUT")
        with ThreadPoolExecutor(1) as pool:
            found = pool.submit(_digests_of_a_claim).result(20)
    assert found == ["b", "c"]


def _digests_of_a_claim() -> list[str]:
    try:
        claims = leases.claim_some(ReceivedEvent.objects.all(), now=NOW, limit=9)
        return [claim.row.digest for claim in claims]
    finally:
        connection.close()


def test_a_claim_holds_the_row_for_one_lease_and_no_longer(hook):
    row(hook, "a")
    first = take()
    assert (first.until, first.abandoned) == (NOW + leases.LEASE, False)
    assert first.row.lease_token == first.token
    assert take(NOW + leases.LEASE - SECOND) is None
    second = take(NOW + leases.LEASE)
    assert (second.row.pk, second.abandoned) == (first.row.pk, True)
    assert second.token != first.token


def test_a_row_that_was_given_back_is_not_abandoned(hook):
    row(hook, "a")
    take().finish(due_at=NOW)
    assert take().abandoned is False


def test_what_is_given_back_unworked_is_due_as_it_was(hook):
    row(hook, "a", NOW - SECOND)
    take().give_back()
    assert ReceivedEvent.objects.values_list("due_at", "lease_token").get() == (NOW - SECOND, None)


def test_a_row_whose_holder_died_is_abandoned_until_somebody_works_on_it(hook):
    row(hook, "a")
    take()
    taken = take(NOW + leases.LEASE)
    taken.give_back()  # claimed, and not begun
    again = take(NOW + leases.LEASE)
    assert again.abandoned is True  # a call of the first may still be on its way (I3)
    again.finish(due_at=NOW + leases.LEASE)
    assert take(NOW + leases.LEASE).abandoned is False


def test_what_is_recorded_with_a_claim_is_taken_back_with_it(hook):
    for name in ("a", "b", "c"):
        row(hook, name)
    records = {"a": {"effect": "begun"}, "b": {}, "c": {"effect": "too"}}
    claims = leases.claim_some(
        ReceivedEvent.objects.all(), now=NOW, limit=3, record=lambda row: records[row.digest]
    )
    assert [one.row.effect for one in claims] == ["begun", "", "too"]
    rows = ReceivedEvent.objects.order_by("digest").values_list("effect", flat=True)
    assert list(rows) == ["begun", "", "too"]
    for one in claims:
        one.give_back()
    assert list(rows.all()) == ["", "", ""]


def test_a_claim_of_few_columns_reads_no_row_by_itself(hook, django_assert_num_queries):
    for name in ("a", "b", "c"):
        row(hook, name)
    # The rows, and one UPDATE; on SQLite in a transaction.
    with django_assert_num_queries(4 if connection.vendor == "sqlite" else 2):
        claims = leases.claim_some(
            ReceivedEvent.objects.all(), now=NOW, limit=3, columns=("digest",)
        )
        assert [(one.row.digest, one.abandoned) for one in claims] == [
            ("a", False),
            ("b", False),
            ("c", False),
        ]


def test_rows_that_were_abandoned_are_read_once_more_all_at_one_time(
    hook, django_assert_num_queries
):
    for n in range(20):
        row(hook, str(n))
    rows = ReceivedEvent.objects.all()
    assert len(leases.claim_some(rows, now=NOW, limit=20)) == 20  # and their worker dies
    writes = 3 if connection.vendor == "sqlite" else 1  # there in a transaction
    with django_assert_num_queries(writes + 2):
        claims = leases.claim_some(rows, now=NOW + leases.LEASE, limit=20, columns=("digest",))
    assert [one.abandoned for one in claims] == [True] * 20


def test_a_row_that_another_worker_takes_after_it_was_read_is_left_to_that_one(hook):
    row(hook, "a")
    row(hook, "b")
    others = []

    def record(found):
        if found.digest == "a" and not others:
            others.append(leases.claim(ReceivedEvent.objects.filter(digest="a"), now=NOW))
        return {"effect": "begun"}

    claims = leases.claim_some(ReceivedEvent.objects.all(), now=NOW, limit=2, record=record)
    assert [one.row.digest for one in claims] == ["b"]
    assert others[0].fenced.get().effect == ""


def test_what_an_abandoned_holder_writes_until_its_row_is_taken_is_known_to_the_next(hook):
    row(hook, "a")
    stalled = take()

    def record(found):
        assert found.effect == ""
        assert stalled.write({"effect": "late"})
        return {}

    (claim,) = leases.claim_some(
        ReceivedEvent.objects.all(), now=NOW + leases.LEASE, limit=1, record=record
    )
    assert (claim.row.effect, claim.row.due_at, claim.abandoned) == ("late", stalled.until, True)


@pytest.mark.rule("I3")
def test_who_lost_the_lease_writes_nothing(hook):
    row(hook, "a")
    late, holder = take(), take(NOW + leases.LEASE)
    assert late.fenced.update(effect="late") == 0
    late.give_back()
    with pytest.raises(leases.LeaseLost):
        late.finish(due_at=None, effect="late")
    held = ReceivedEvent.objects.get()
    assert (held.effect, held.lease_token) == ("", holder.token)
    holder.finish(due_at=None, effect="done")
    held.refresh_from_db()
    assert (held.effect, held.due_at, held.lease_token, held.lease_until) == (
        "done",
        None,
        None,
        None,
    )
    with pytest.raises(leases.LeaseLost):
        holder.finish(due_at=None, effect="twice")
    assert ReceivedEvent.objects.get().effect == "done"


@pytest.mark.parametrize("asked_for", [NOW - SECOND, NOW, NOW + 5 * SECOND])
def test_who_makes_a_row_due_while_it_is_held_is_not_forgotten(hook, asked_for):
    row(hook, "a")
    claim = take()
    ReceivedEvent.objects.update(due_at=asked_for)
    claim.finish(due_at=None, effect="done")
    ended = ReceivedEvent.objects.get()
    assert (ended.due_at, ended.effect, ended.lease_token) == (asked_for, "done", None)


def test_an_ending_holds_only_where_the_row_stands_as_it_was_read(hook):
    row(hook, "a")
    claim = take()
    assert not claim.finish_if({"due_at": None, "effect": "done"}, attempts=1)
    assert ReceivedEvent.objects.get().lease_token == claim.token
    assert claim.finish_if({"due_at": None, "effect": "done"}, attempts=0)
    assert ReceivedEvent.objects.values_list("effect", "due_at").get() == ("done", None)


def test_what_a_clock_that_went_ahead_put_off_is_due_now(hook):
    row(hook, "late", NOW + 100 * SECOND)
    rows = ReceivedEvent.objects.all()
    assert leases.claim_some(rows, now=NOW, limit=1, wait=100 * SECOND) == []
    assert len(leases.claim_some(rows, now=NOW, limit=1, wait=99 * SECOND)) == 1


def test_a_write_holds_as_long_as_the_row_is_ours_and_stands_as_it_was_read(hook):
    row(hook, "a")
    claim = take()
    assert claim.write({"attempts": 2}, attempts=0)
    assert not claim.write({"attempts": 3}, attempts=0)
    assert claim.write({}, attempts=2)  # nothing to write, and it is ours
    assert not claim.write({}, attempts=0)
    claim.finish(due_at=None)
    assert not claim.write({"attempts": 4})
    assert not claim.write({})
    assert ReceivedEvent.objects.get().attempts == 2


def test_a_claim_stays_within_its_queryset(hook):
    other = Workspace.objects.create(slug="other", base_url="http://x.test")
    row(other, "theirs", NOW - SECOND)
    mine = row(hook, "mine")
    claim = leases.claim(ReceivedEvent.objects.filter(workspace=hook), now=NOW)
    assert claim.row == mine
    assert leases.claim(ReceivedEvent.objects.filter(workspace=hook), now=NOW) is None
    assert ReceivedEvent.objects.filter(lease_token=None).get().digest == "theirs"


def test_the_number_of_rows_does_not_change_the_number_of_queries(hook, django_assert_num_queries):
    for n in range(100):
        row(hook, str(n))
    on_sqlite = 2 * (connection.vendor == "sqlite")  # a transaction around the UPDATE
    with django_assert_num_queries(2 + on_sqlite, connection=connection):
        take()


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_each_row_has_one():
    hook = Workspace.objects.create(slug="race", base_url="http://x.test")
    for n in range(12):
        row(hook, str(n), NOW - n * SECOND)
    taken: list[int] = []

    def work() -> None:
        empty = 0
        while empty < 3:  # eight rows are looked at, others may have taken all of them
            claim = take()
            if claim is None:
                empty += 1
            else:
                taken.append(claim.row.pk)

    together(work)
    assert sorted(taken) == sorted(ReceivedEvent.objects.values_list("pk", flat=True))


@settings(max_examples=300)
@given(st.integers(0, 10**6), st.floats(0, 1, exclude_max=True))
def test_the_wait_grows_and_is_bounded_and_never_nothing(attempts, chance):
    wait = due.backoff(attempts, rng=lambda: chance).total_seconds()
    assert 0.5 <= wait <= 15 * 60
    assert wait <= max(0.5, 2.0 ** (min(attempts, 20) + 1))
    assert wait == pytest.approx(max(0.5, chance * min(900.0, 2.0 * 2 ** min(attempts, 20))))


@pytest.mark.rule("I11")
def test_the_waits_of_many_rows_are_spread_over_the_whole_interval():
    waits = sorted(due.backoff(5).total_seconds() for _ in range(400))
    assert waits[40] < 16
    assert waits[-40] > 48


def test_a_lease_outlives_the_longest_call(settings):
    assert timedelta(seconds=1.5 * settings.CALL_DEADLINE) <= leases.LEASE


def test_what_waits_is_told_by_queue_and_workspace(hook):
    assert turn.waiting(NOW) == []
    row(hook, "a")
    assert turn.waiting(NOW) == [("received_events", hook.pk)]
    take()
    assert turn.waiting(NOW) == []
    assert turn.waiting(NOW + leases.LEASE) == [("received_events", hook.pk)]


def test_a_tally_counts_in_the_words_of_its_queue():
    tally = leases.Tally()
    for word in ("APPLIED", "FAILED", "APPLIED"):
        tally.add(word)
    assert (tally.counts, tally.total) == ({"APPLIED": 2, "FAILED": 1}, 3)


def test_a_lease_that_a_clock_ran_ahead_for_holds_nobody_up(hook):
    row(hook, "a")
    (claim,) = leases.claim_some(ReceivedEvent.objects.all(), now=NOW, limit=1)
    for ahead, is_leased in ((timedelta(minutes=9), True), (timedelta(hours=3), False)):
        ReceivedEvent.objects.update(due_at=NOW, lease_until=NOW + ahead)
        assert ReceivedEvent.objects.filter(due.leased(NOW)).exists() == is_leased
        assert ReceivedEvent.objects.filter(due.free(NOW)).exists() == (not is_leased)
    (again,) = leases.claim_some(ReceivedEvent.objects.all(), now=NOW, limit=1)
    assert (again.row.pk, again.abandoned) == (claim.row.pk, True)
