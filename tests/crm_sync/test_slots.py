"""The limit of requests under way in a workspace, for all workers together (A8)."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from crm_sync.models import Slot, Workspace
from crm_sync.workers import slots


@pytest.fixture
def main(db) -> Workspace:
    return Workspace.objects.create(slug="main", base_url="http://platform.test", max_under_way=5)


def expire(held: slots.HeldSlots) -> None:
    past = timezone.now() - timedelta(seconds=1)
    Slot.objects.filter(lease_token__isnull=False).update(lease_until=past)
    held.until = past


def test_all_workers_together_hold_no_more_slots_than_the_limit(main):
    with (
        slots.hold(main, 3) as first,
        slots.hold(main, 3) as second,
        slots.hold(main, 3) as third,
    ):
        assert [held.count for held in (first, second, third)] == [3, 2, 0]


def test_slots_that_were_given_back_are_free(main):
    with slots.hold(main, 5) as held:
        assert held.count == 5
    with slots.hold(main, 9) as held:
        assert held.count == 5
    assert not Slot.objects.filter(lease_token__isnull=False).exists()


def test_each_workspace_has_slots_of_its_own(main):
    other = Workspace.objects.create(slug="other", base_url="http://platform.test", max_under_way=2)
    with slots.hold(main, 5) as first, slots.hold(other, 5) as second:
        assert (first.count, second.count) == (5, 2)


def test_a_limit_that_is_changed_counts_for_the_next_worker(main):
    with slots.hold(main, 2):
        main.max_under_way = 2
        with slots.hold(main, 2) as held:
            assert held.count == 0
    main.max_under_way = 7
    with slots.hold(main, 9) as held:
        assert held.count == 7


def test_what_a_dead_worker_held_comes_free_when_its_last_call_is_over(main):
    with slots.hold(main, 5) as dead:
        expire(dead)
        with slots.hold(main, 5) as held:
            assert held.count == 5
            assert not dead.keep(timezone.now())
        # What the dead one gives back now is not its own any more.
    assert not Slot.objects.filter(lease_token__isnull=False).exists()


@pytest.mark.parametrize(("count", "lease"), [(1, slots.LEASE), (2, slots.SEVERAL_LEASE)])
def test_a_worker_keeps_its_slots_as_long_as_it_works(main, count, lease):
    with slots.hold(main, count) as held:
        until = held.until
        assert held.keep(until - lease)
        assert held.until == until
        later = until - timedelta(seconds=1)
        assert held.keep(later)
        assert set(
            Slot.objects.filter(lease_token__isnull=False).values_list("lease_until", flat=True)
        ) == {later + lease}


def test_a_worker_that_is_killed_amid_many_calls_keeps_the_others_waiting_for_seconds(main):
    """Its drain renews several slots while it calls, so their lease need not last for a call."""
    begun = timezone.now()
    dead = slots.hold(main, 5)
    assert dead.__enter__().count == 5
    with time_machine.travel(begun + timedelta(seconds=6), tick=False), slots.hold(main, 5) as held:
        assert held.count == 5


def test_one_slot_is_held_for_longer_than_a_call_that_nobody_renews_it_in(main, settings):
    call_ends = timezone.now() + timedelta(seconds=settings.CALL_DEADLINE)
    with (
        slots.hold(main) as one,
        time_machine.travel(call_ends, tick=False),
        slots.hold(main, 5) as held,
    ):
        assert one.until > call_ends
        assert held.count == 4


def test_giving_back_late_takes_nothing_from_who_holds_them_now(main):
    dead = slots.hold(main, 5)
    expire(dead.__enter__())
    with slots.hold(main, 5) as held:
        dead.__exit__(None, None, None)
        assert Slot.objects.filter(lease_token__isnull=False).count() == held.count == 5


def test_a_long_drain_leaves_room_for_a_short_read(main):
    with slots.hold(main, 9, leave=1) as drain, slots.hold(main) as read, slots.hold(main) as late:
        assert [held.count for held in (drain, read, late)] == [4, 1, 0]


def test_a_workspace_with_one_slot_gives_it_to_whoever_comes_first(main):
    main.max_under_way = 1
    with slots.hold(main, 9, leave=1) as drain, slots.hold(main) as read:
        assert (drain.count, read.count) == (1, 0)


def test_a_short_read_takes_none_of_what_a_long_drain_may_have(main):
    with slots.hold(main), slots.hold(main, 9, leave=1) as drain:
        assert drain.count == 4


@pytest.mark.parametrize("limit", range(3, 10))
def test_of_three_slots_or_more_a_long_push_leaves_one_to_orders_and_these_one_to_reads(
    main, limit
):
    main.max_under_way = limit
    with (
        slots.hold(main, 9, leave=2) as push,
        slots.hold(main, 9, leave=1) as placing,
        slots.hold(main, 9) as reads,
    ):
        assert [held.count for held in (push, placing, reads)] == [limit - 2, 1, 1]


def test_of_two_slots_a_long_push_leaves_one_to_orders_and_reads(main):
    main.max_under_way = 2
    with slots.hold(main, 9, leave=2) as push, slots.hold(main, 9, leave=1) as placing:
        assert [push.count, placing.count] == [1, 1]
