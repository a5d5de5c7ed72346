"""The one loop ends, loses nothing, does nothing twice, and uses no processor while it waits."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crm_sync.jobs import due, runner
from crm_sync.jobs.due import Tally

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]

BUDGET = 100.0
PATIENCE = 60  # seconds of real time; longer is a loop without an end


@dataclass
class Rows:
    """A queue in memory, with a clock that moves only while there is work."""

    backlog: int
    cost: float = 0.0
    trouble: dict[int, BaseException] = field(default_factory=dict)
    now: float = 0.0
    asked: int = 0
    given_back: Counter[int] = field(default_factory=Counter)
    worked: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.waiting = list(range(self.backlog))
        self.leased: set[int] = set()
        self.at_work: set[int] = set()
        self.lock = threading.Lock()
        self.clock: Callable[[], float] = lambda: self.now

    def claim(self, limit: int) -> list[int]:
        with self.lock:
            assert limit > 0
            taken, self.waiting = self.waiting[:limit], self.waiting[limit:]
            self.leased |= set(taken)
            return taken

    def work(self, rows: Sequence[int]) -> list[str]:
        with self.lock:
            if self.now >= BUDGET:  # as each drain asks before it begins a row
                raise runner.Stop
            assert not self.at_work & set(rows), "worked on twice at one time"
            self.at_work |= set(rows)
            self.now += self.cost
        try:
            for row in rows:
                if row in self.trouble:
                    raise self.trouble[row]
            with self.lock:
                self.leased -= set(rows)
                self.worked.update(rows)
            return ["done"] * len(rows)
        finally:
            with self.lock:
                self.at_work -= set(rows)

    def give_back(self, row: int) -> None:
        with self.lock:
            self.leased.remove(row)
            self.given_back[row] += 1

    def failed(self, row: int, error: Exception) -> str:
        with self.lock:
            self.leased.remove(row)
        return "failed"

    def in_budget(self) -> bool:
        self.asked += 1
        return self.now < BUDGET

    def run(
        self, threads: int, *, batch_size: int = 1, goes_on: Callable[[], bool] | None = None
    ) -> Tally:
        """Run the loop, and fail when it does not end."""
        source = runner.Source(self.claim, self.work, self.give_back, self.failed, batch_size)
        ended: list[Tally | BaseException] = []

        def run() -> None:
            try:
                asked = goes_on or self.in_budget
                done = runner.run(source, goes_on=asked, threads=threads, clock=self.clock)
                ended.append(done)
            except BaseException as error:  # noqa: BLE001 - raised again below
                ended.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(PATIENCE)
        assert ended, "the loop has no end"
        if isinstance(ended[0], BaseException):
            raise ended[0]
        return ended[0]


SIZES = st.sampled_from([0, 1, 2, 47, 48, 49, 300, 10_000])
THREADS = st.sampled_from([1, 2, 3, 16, 32])
BATCH_SIZES = st.sampled_from([1, 7, 100])
law = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@law
@given(SIZES, THREADS, BATCH_SIZES)
def test_what_is_not_stopped_works_everything_once(backlog, threads, batch_size):
    rows = Rows(backlog)
    tally = rows.run(threads, batch_size=batch_size)
    assert tally.counts == ({"done": backlog} if backlog else {})
    assert rows.worked == Counter(range(backlog))
    assert (rows.leased, rows.given_back) == (set(), Counter())


@law
@given(SIZES, THREADS, BATCH_SIZES, st.sampled_from([0.5, 1.0, 7.0, 40.0, 250.0]))
def test_when_its_time_is_over_it_ends_within_what_one_batch_takes(
    backlog, threads, batch_size, cost
):
    rows = Rows(backlog, cost)
    tally = rows.run(threads, batch_size=batch_size)
    assert rows.now <= BUDGET + threads * cost  # each thread ends the batch that it works on
    assert rows.leased == set()
    assert max(rows.worked.values(), default=1) == 1
    assert tally.total + len(rows.given_back) + len(rows.waiting) == backlog
    if rows.waiting or rows.given_back:
        assert rows.now >= min(BUDGET, runner.PREFETCH_TIMEOUT)


@law
@given(SIZES, THREADS, BATCH_SIZES, st.integers(0, 20))
def test_a_no_at_any_time_ends_it_with_nothing_left_in_its_hands(
    backlog, threads, batch_size, asks
):
    rows = Rows(backlog)
    left = iter(range(asks))
    tally = rows.run(threads, batch_size=batch_size, goes_on=lambda: next(left, None) is not None)
    assert rows.leased == set()
    assert tally.total + len(rows.given_back) + len(rows.waiting) == backlog
    if asks == 0:
        assert len(rows.waiting) == backlog


@law
@given(SIZES, THREADS, BATCH_SIZES, st.integers(0, 400))
def test_what_stops_at_a_row_gives_back_that_row_and_the_rest(backlog, threads, batch_size, at):
    rows = Rows(backlog, trouble={at: runner.Stop()})
    rows.run(threads, batch_size=batch_size)
    assert rows.leased == set()
    if at < backlog:
        assert rows.given_back[at] == 1
        assert at not in rows.worked
    else:
        assert sum(rows.worked.values()) == backlog


@law
@given(SIZES, THREADS, st.integers(0, 400))
def test_a_row_that_fails_does_not_stop_those_behind_it(backlog, threads, at):
    rows = Rows(backlog, trouble={at: ValueError("poison")})
    tally = rows.run(threads)
    good = backlog - (at < backlog)
    assert tally.counts.get("failed", 0) == (at < backlog)
    assert tally.counts.get("done", 0) == good
    assert (rows.leased, sum(rows.worked.values())) == (set(), good)


@pytest.mark.parametrize("threads", [1, 4])
def test_a_row_that_another_worker_has_now_is_counted_as_that(threads):
    rows = Rows(10, trouble={3: due.LeaseLost()})
    assert rows.run(threads).counts == {"done": 9, runner.LOST: 1}
    assert rows.leased == {3}  # the other's


@pytest.mark.parametrize("threads", [1, 4, 32])
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_what_is_more_than_an_error_is_raised_after_the_others_have_ended(threads, error):
    rows = Rows(300, trouble={20: error()})
    with pytest.raises(error):
        rows.run(threads)
    assert rows.leased == {20}
    assert not rows.at_work


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("breaks", ["claim", "failed", "give_back", "goes_on"])
def test_a_database_that_goes_away_ends_it_with_its_own_error(threads, breaks):
    rows = Rows(300, trouble={20: runner.Stop() if breaks == "give_back" else ValueError()})
    calls = Counter()

    def broken(*_: object) -> list[int]:
        calls[breaks] += 1
        if breaks == "claim" and calls[breaks] < 3:
            return Rows.claim(rows, 1)
        raise ConnectionError("the server closed the connection")

    if breaks == "goes_on":
        with pytest.raises(ConnectionError):
            rows.run(threads, goes_on=broken)
    else:
        setattr(rows, breaks, broken)
        with pytest.raises(ConnectionError):
            rows.run(threads)
    assert not rows.at_work


def test_as_many_rows_are_worked_on_at_one_time_as_there_are_threads():
    rows, together = Rows(400), threading.Barrier(4)
    plain = rows.work

    def work(claims: Sequence[int]) -> list[str]:
        together.wait(PATIENCE)  # passes only while four are here
        return plain(claims)

    rows.work = work
    assert rows.run(4).counts == {"done": 400}


def test_what_becomes_due_while_others_are_worked_on_is_begun_beside_them():
    rows, late = Rows(1), threading.Event()
    plain = rows.work

    def work(claims: Sequence[int]) -> list[str]:
        if claims[0] == 0:
            rows.waiting.append(1)
            assert late.wait(PATIENCE)
        else:
            late.set()
        return plain(claims)

    rows.work, rows.clock = work, time.monotonic
    assert rows.run(2).counts == {"done": 2}


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("backlog", [1, 4, 500])
def test_while_it_waits_for_its_threads_it_claims_twice_a_second_and_no_more(stopped, backlog):
    rows, begun, asked = Rows(backlog), threading.Event(), []
    plain, first = rows.work, threading.Lock()

    def work(claims: Sequence[int]) -> list[str]:
        begun.set()
        with first:  # one after the other; the first takes a second and a half
            if not rows.worked:
                time.sleep(1.5)
        return plain(claims)

    def goes_on() -> bool:
        asked.append(rows.worked.total())
        return not (stopped and begun.is_set())

    rows.work = work
    rows.run(2, goes_on=goes_on)
    # Until the last is done, since whoever asks holds a lane and slots for it.
    assert 3 <= asked.count(0) <= 6
    assert rows.leased == set()


def test_who_fails_to_ask_once_goes_on_to_hold_what_it_holds_for_the_rows_in_progress():
    rows, begun, asked = Rows(4), threading.Event(), []
    plain = rows.work

    def work(claims: Sequence[int]) -> list[str]:
        begun.set()
        time.sleep(1.5)
        return plain(claims)

    def goes_on() -> bool:
        asked.append(begun.is_set())
        if asked.count(True) == 1:
            raise ConnectionError("the server closed the connection")
        return True

    rows.work = work
    with pytest.raises(ConnectionError):
        rows.run(2, goes_on=goes_on)
    assert asked.count(True) >= 3
    assert (rows.leased, not rows.at_work) == (set(), True)


def test_what_has_waited_for_a_thread_for_long_is_given_back():
    rows = Rows(5, cost=runner.PREFETCH_TIMEOUT + 1)
    rows.run(2)
    assert rows.leased == set()
    assert rows.given_back
