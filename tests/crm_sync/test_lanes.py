"""One worker at a time drains a queue of a workspace; one ring at a time waits for it."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from crm_sync.models import Lane, Workspace
from crm_sync.workers import lanes
from tests.together import together

QUEUE = "received_events"
SECOND = timedelta(seconds=1)


@pytest.fixture
def main(db) -> int:
    return Workspace.objects.create(slug="main", base_url="http://platform.test").pk


def test_of_two_workers_one_has_the_lane(main):
    with lanes.enter(QUEUE, main) as first, lanes.enter(QUEUE, main) as second:
        assert (first is not None, second) == (True, None)
    with lanes.enter(QUEUE, main) as later:
        assert later is not None


def test_each_queue_of_each_workspace_has_a_lane_of_its_own(main):
    other = Workspace.objects.create(slug="other", base_url="http://platform.test").pk
    with (
        lanes.enter(QUEUE, main) as one,
        lanes.enter("orders", main) as two,
        lanes.enter(QUEUE, other) as three,
    ):
        assert None not in (one, two, three)


def test_the_lane_of_a_dead_worker_is_free_after_its_lease(main):
    with lanes.enter(QUEUE, main) as dead:
        begun = dead.until - lanes.LEASE
        with time_machine.travel(begun + lanes.LEASE - SECOND, tick=False):
            assert lanes.busy(timezone.now()) == {(QUEUE, main)}
            with lanes.enter(QUEUE, main) as early:
                assert early is None
        with time_machine.travel(begun + lanes.LEASE, tick=False):
            assert lanes.busy(timezone.now()) == set()
            with lanes.enter(QUEUE, main) as late:
                assert late is not None
                assert not dead.keep(timezone.now())
                assert dead.leave()  # nothing to go on with
            assert Lane.objects.get().lease_token is None


def test_who_works_for_long_keeps_the_lane(main):
    with lanes.enter(QUEUE, main) as lane:
        for _ in range(5):
            with time_machine.travel(lane.until - SECOND, tick=False):
                assert lane.keep(timezone.now())
                with lanes.enter(QUEUE, main) as other:
                    assert other is None


def test_who_finds_the_lane_taken_is_not_forgotten(main):
    with lanes.enter(QUEUE, main) as lane:
        with lanes.enter(QUEUE, main):
            pass
        assert not lane.leave()  # look again
        assert lane.leave()
        with lanes.enter(QUEUE, main) as other:
            assert other is not None


def test_a_turn_is_remembered_for_a_minute_and_not_when_its_clock_went_ahead(main):
    with lanes.enter(QUEUE, main) as lane:
        begun = lane.until - lanes.LEASE
    assert lanes.turns(begun + lanes.REMEMBERED) == {(QUEUE, main): begun}
    assert lanes.turns(begun + lanes.REMEMBERED + SECOND) == {}
    assert lanes.turns(begun - lanes.REMEMBERED - SECOND) == {}


@pytest.mark.django_db(transaction=True)
def test_of_many_workers_at_one_moment_one_has_the_lane():
    main = Workspace.objects.create(slug="race", base_url="http://platform.test").pk
    entered = []

    def work() -> bool:
        lane = lanes.enter(QUEUE, main)
        entered.append(lane)
        return lane.__enter__() is not None

    assert sorted(together(work)) == [False, False, False, True]
    assert Lane.objects.count() == 1


def test_while_a_ring_waits_no_other_is_published(main):
    now = timezone.now()
    assert lanes.may_ring(QUEUE, main, now=now)
    assert not lanes.may_ring(QUEUE, main, now=now)
    assert not lanes.may_ring(QUEUE, main, now=now + lanes.RING_LASTS - SECOND)
    assert lanes.may_ring("orders", main, now=now)


def test_the_next_ring_follows_once_a_worker_has_taken_the_last(main):
    now = timezone.now()
    assert lanes.may_ring(QUEUE, main, now=now)
    lanes.ring_taken(QUEUE, main)
    assert lanes.may_ring(QUEUE, main, now=now)


@pytest.mark.parametrize("away", [lanes.RING_LASTS, -lanes.RING_LASTS])
def test_a_ring_that_was_lost_or_dated_by_a_wrong_clock_does_not_silence_the_bell(main, away):
    now = timezone.now()
    assert lanes.may_ring(QUEUE, main, now=now)
    assert lanes.may_ring(QUEUE, main, now=now + away)


@pytest.mark.django_db(transaction=True)
def test_of_many_who_ring_at_one_moment_one_is_heard():
    main = Workspace.objects.create(slug="race", base_url="http://platform.test").pk
    for _ in range(3):
        rang = together(lambda: lanes.may_ring(QUEUE, main, now=timezone.now()))
        assert sorted(rang) == [False, False, False, True]
        lanes.ring_taken(QUEUE, main)
