"""The tick: what is due is done within seconds, whatever the broker or a neighbour does (I12)."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from django.db import DatabaseError, InterfaceError
from django.utils import timezone

from crm_sync.jobs.due import Tally
from crm_sync.models import Lane, Workspace
from crm_sync.workers import lanes, queues, ticker
from crm_sync.workers.ticker import Ticker

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE = 20


@dataclass
class Slow:
    """A queue whose drains last until the test ends them."""

    name: str
    due: set[int] = field(default_factory=set)
    begun: list[int] = field(default_factory=list)
    asked_for: list[datetime] = field(default_factory=list)
    end: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None
    more: int = 0  # drains whose time is over before the work is

    def workspaces(self, now: datetime) -> set[int]:
        self.asked_for.append(now)
        if self.error is not None:
            raise self.error
        return self.due - set(self.begun)

    def drain(self, workspace_id: int, budget: float) -> Tally:
        assert budget == ticker.BUDGET
        self.begun.append(workspace_id)
        assert self.end.wait(PATIENCE)
        self.more -= 1
        return Tally({"done": 1}, more=self.more >= 0)


@pytest.fixture
def others(app_hooks) -> dict[str, Slow]:
    """Put queues of the test in the place of all others."""
    names = ("one", "two", "three", "four", "five", "six", "seven")
    slow = {name: Slow(name) for name in names}
    app_hooks(queues=list(slow.values()))
    return slow


@pytest.fixture
def tick(monkeypatch, others) -> Iterator[Ticker]:
    monkeypatch.setattr(queues, "ending", threading.Event())
    monkeypatch.setattr(queues, "crowded", threading.Event())
    one = Ticker(every=0.05)
    yield one
    for queue in others.values():
        queue.end.set()
    one.stop()


def wait_for(done) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, "not within 20 seconds"
        time.sleep(0.01)


def leave_one_place(tick: Ticker, others: dict[str, Slow]) -> None:
    """Have drains of another queue take all places but one until the test ends."""
    others["five"].due = set(range(1_000, 1_000 + ticker.THREADS - 1))
    tick.tick(timezone.now())
    wait_for(lambda: len(others["five"].begun) == ticker.THREADS - 1)


def test_what_is_due_is_left_to_its_ring_for_a_second(tick, others):
    now = timezone.now()
    tick.tick(now)
    assert others["one"].asked_for == [now - timedelta(seconds=1)]


def test_a_workspace_with_work_in_every_queue_leaves_places_to_others(tick, others):
    for queue in others.values():
        queue.due = {1}
    others["five"].due = {1, 2}
    assert tick.tick(timezone.now()) == 8
    wait_for(lambda: sum(len(queue.begun) for queue in others.values()) == ticker.OF_ONE + 1)
    assert 2 in others["five"].begun
    tick.tick(timezone.now())  # the six of the first are not over
    assert sum(len(queue.begun) for queue in others.values()) == ticker.OF_ONE + 1


def test_more_workspaces_than_threads_take_turns(tick, others):
    queue = others["one"]
    queue.due = set(range(3 * ticker.THREADS))
    tick.tick(timezone.now())
    wait_for(lambda: len(queue.begun) == ticker.THREADS)
    tick.tick(timezone.now())
    assert len(queue.begun) == ticker.THREADS
    assert queues.crowded.is_set()
    queue.end.set()
    tick.start()
    wait_for(lambda: set(queue.begun) == queue.due)


def test_what_found_no_place_is_begun_where_one_becomes_free_without_another_look(tick, others):
    queue = others["one"]
    queue.due = set(range(3 * ticker.THREADS))
    queue.end.set()
    tick.tick(timezone.now())
    wait_for(lambda: set(queue.begun) == queue.due)
    assert not queues.crowded.is_set()


def test_where_each_has_a_place_nobody_is_in_a_hurry(tick, others):
    others["one"].due = set(range(ticker.THREADS))
    tick.tick(timezone.now())
    assert not queues.crowded.is_set()


def test_whose_turn_was_longest_ago_is_the_first_whichever_worker_gave_it(tick, others):
    queue, now = others["one"], timezone.now()
    queue.end.set()
    workspaces = Workspace.objects.bulk_create(
        Workspace(slug=f"w{number}", base_url="http://platform.test") for number in range(40)
    )
    order = [one.pk for one in reversed(workspaces)]
    Lane.objects.bulk_create(
        Lane(workspace_id=pk, queue="one", begun_at=now - timedelta(seconds=59 - place))
        for place, pk in enumerate(order)
    )
    leave_one_place(tick, others)
    queue.due = set(order)
    tick.tick(now)
    wait_for(lambda: len(queue.begun) == len(order))
    assert queue.begun == order


def test_whose_time_is_over_goes_behind_those_that_wait_without_another_look(tick, others):
    queue = others["one"]
    queue.end.set()
    leave_one_place(tick, others)
    queue.due, queue.more = {1, 2, 3}, 1
    tick.tick(timezone.now())
    wait_for(lambda: len(queue.begun) == 4)
    assert queue.begun[3] == queue.begun[0]


def test_what_another_worker_is_at_is_left_to_it(tick, others):
    main = Workspace.objects.create(slug="main", base_url="http://platform.test").pk
    others["one"].due = {main}
    with lanes.enter("one", main):
        assert tick.tick(timezone.now()) == 0
    assert tick.tick(timezone.now()) == 1
    wait_for(lambda: others["one"].begun == [main])


def test_a_database_that_is_away_is_told_once_and_asked_again(tick, others, caplog):
    others["one"].error = DatabaseError("gone away")
    tick.start()
    wait_for(lambda: len(others["one"].asked_for) > 3)
    others["one"].due, others["one"].error = {7}, None
    wait_for(lambda: others["one"].begun == [7])
    messages = [one.getMessage() for one in caplog.records]
    assert messages == ["the database does not answer (gone away); asking again"]


@pytest.mark.parametrize("error", [InterfaceError("connection closed"), RuntimeError("no thread")])
def test_whatever_fails_in_a_tick_the_next_one_comes(tick, others, caplog, error):
    others["one"].error = error
    tick.start()
    wait_for(lambda: len(others["one"].asked_for) > 2)
    others["one"].due, others["one"].error = {7}, None
    wait_for(lambda: others["one"].begun == [7])
    assert {one.getMessage() for one in caplog.records} == {
        "a tick failed; the next one comes all the same"
    }


def test_a_drain_that_fails_is_told_and_its_place_is_free_again(tick, others, caplog, monkeypatch):
    def broken(workspace_id: int, budget: float) -> Tally:
        raise ValueError("a bug")

    monkeypatch.setattr(others["one"], "drain", broken)
    others["one"].due = {1}
    tick.start()
    wait_for(lambda: len(caplog.records) > 2)
    assert caplog.records[0].getMessage() == "one of workspace 1 could not be drained"


def test_a_worker_that_is_to_end_begins_nothing_and_waits_for_what_it_has_begun(tick, others):
    queue = others["one"]
    queue.due = {1}
    tick.start()
    wait_for(lambda: queue.begun == [1])
    threading.Timer(0.3, queue.end.set).start()
    tick.stop()
    assert queue.end.is_set()
    queue.due = {1, 2}
    assert queue.begun == [1]
