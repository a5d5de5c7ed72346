"""The limit of requests under way in a workspace, for all processes together (A8)."""

import threading
import uuid
from contextlib import ExitStack
from datetime import timedelta

import pytest
from django.utils import timezone

from crm_sync.models import Slot, Workspace
from crm_sync.work import rings, slots
from tests.together import together


@pytest.fixture
def main(db) -> Workspace:
    return Workspace.objects.create(slug="main", base_url="http://platform.test", max_under_way=5)


@pytest.fixture
def stack():
    with ExitStack() as entered:
        yield entered


def hold(stack: ExitStack, workspace: Workspace, count: int, **options) -> list[bool]:
    """Hold so many, one after the other; which of them there were."""
    return [stack.enter_context(slots.hold(workspace, **options)) is not None for _ in range(count)]


def test_no_more_are_held_than_the_limit_and_what_is_given_back_is_free(main, stack):
    assert hold(stack, main, 7) == [True] * 5 + [False] * 2
    stack.close()
    assert not Slot.objects.filter(lease_token__isnull=False).exists()
    assert hold(stack, main, 6) == [True] * 5 + [False]


def test_each_workspace_has_slots_of_its_own(main, stack):
    other = Workspace.objects.create(slug="other", base_url="http://platform.test", max_under_way=2)
    assert hold(stack, main, 5) == [True] * 5
    assert hold(stack, other, 3) == [True, True, False]


def test_a_queue_without_calls_has_slots_of_its_own_that_no_call_uses(main, stack):
    assert hold(stack, main, 5) == [True] * 5
    mine = [stack.enter_context(slots.hold_own("files", main.pk, 2)) for _ in range(3)]
    assert [one is not None for one in mine] == [True, True, False]
    assert slots.worked_on(timezone.now(), timezone.now()) == {("", main.pk), ("files", main.pk)}


def test_a_limit_that_is_changed_counts_for_the_next(main, stack):
    assert hold(stack, main, 3) == [True] * 3
    main.max_under_way = 3
    assert hold(stack, main, 1) == [False]
    main.max_under_way = 7
    assert hold(stack, main, 9) == [True] * 4 + [False] * 5


@pytest.mark.parametrize(
    ("limit", "leave", "held"), [(8, 2, 6), (8, 1, 7), (3, 2, 1), (2, 2, 1), (2, 1, 2), (1, 2, 1)]
)
def test_a_long_backlog_leaves_some_to_others(main, stack, limit, leave, held):
    main.max_under_way = limit
    assert sum(hold(stack, main, limit + 1, leave=leave)) == held
    # What is left is for others, and no more than that.
    assert sum(hold(stack, main, limit + 1)) == limit - held


def test_only_one_call_of_a_workspace_tries_whether_its_platform_is_back(main, stack):
    assert hold(stack, main, 2, first_alone=True) == [True, False]


@pytest.mark.rule("I12")
def test_what_a_dead_process_held_is_free_after_five_seconds(main, stack):
    hold(stack, main, 5)
    Slot.objects.update(lease_until=timezone.now() + timedelta(seconds=0.05))
    assert hold(stack, main, 1) == [False]
    Slot.objects.update(lease_until=timezone.now() - timedelta(seconds=0.05))
    assert hold(stack, main, 6) == [True] * 5 + [False]
    assert timedelta(seconds=5) == slots.LEASE


def test_what_a_clock_that_ran_ahead_has_leased_is_free_and_who_holds_it_says_so_anew(main, stack):
    (mine,) = (stack.enter_context(slots.hold(main)),)
    ahead = timezone.now() + timedelta(hours=3)
    Slot.objects.update(lease_token=uuid.uuid4(), lease_until=ahead)
    Slot.objects.filter(pk=mine.pk).update(lease_token=mine.token)
    mine.until = ahead
    slots._renew(timezone.now())
    assert mine.until < timezone.now() + slots.LEASE
    # Of the four others, and no fifth: that one is held.
    assert hold(stack, main, 5) == [True] * 4 + [False]


def test_who_lives_keeps_its_slots_and_who_lost_one_knows(main, stack):
    mine = [stack.enter_context(slots.hold(main)) for _ in range(2)]
    before, later = mine[0].until, timezone.now() + timedelta(seconds=3)
    Slot.objects.filter(pk=mine[0].pk).update(lease_token="12345678-1234-5678-1234-567812345678")
    assert slots._renew(later)
    assert [one.until for one in mine] == [before, later + slots.LEASE]
    assert Slot.objects.get(pk=mine[1].pk).lease_until == later + slots.LEASE
    stack.close()
    # It gave back what was its own, and nothing of another process.
    assert Slot.objects.filter(lease_token__isnull=False).count() == 1
    assert not slots._renew(later)


def test_a_slot_that_was_lost_and_is_held_by_another_turn_here_is_not_given_back_for_it(main):
    main.max_under_way = 1
    with ExitStack() as first, ExitStack() as second:
        assert hold(first, main, 1) == [True]
        Slot.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert hold(second, main, 1) == [True]
        first.close()
        assert Slot.objects.filter(lease_token__isnull=False).count() == 1
    assert not Slot.objects.filter(lease_token__isnull=False).exists()


def test_slots_that_a_restored_backup_does_not_have_are_made_again(main, stack):
    assert hold(stack, main, 5) == [True] * 5
    stack.close()
    Slot.objects.all().delete()
    assert hold(stack, main, 6) == [True] * 5 + [False]


def test_who_waits_longest_for_a_slot_is_the_first_to_get_one(main):
    now = timezone.now()
    for queue in ("orders", "webhooks", "properties"):
        rings.mark([(queue, main.pk)], now)
    slots.note_refused("webhooks", main.pk, now)
    slots.note_refused("orders", main.pk, now + timedelta(seconds=1))
    slots.note_refused("webhooks", main.pk, now + timedelta(seconds=2))  # it keeps its place
    other = Workspace.objects.create(slug="other", base_url="http://platform.test")
    assert slots.take_refused(other.pk) is None
    slots.note_refused("users", main.pk, now + timedelta(seconds=3))  # without a message before
    taken = [slots.take_refused(main.pk) for _ in range(4)]
    assert taken == ["webhooks", "orders", "users", None]


@pytest.mark.django_db(transaction=True)
def test_of_many_threads_at_one_moment_each_has_a_slot_of_its_own():
    main = Workspace.objects.create(slug="main", base_url="http://platform.test", max_under_way=4)
    found, lock, all_tried = [], threading.Lock(), threading.Barrier(8)

    def take() -> None:
        with slots.hold(main) as one:
            with lock:
                found.append(one and one.pk)
            all_tried.wait(20)

    together(take, workers=8)
    taken = [pk for pk in found if pk is not None]
    assert (len(found), len(taken), len(set(taken))) == (8, 4, 4)
