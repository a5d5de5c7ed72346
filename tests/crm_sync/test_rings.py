"""At most one message waits for each queue of a workspace, and what is lost is sent again (I12)."""

import random
from datetime import timedelta

import pytest
from django.utils import timezone

from crm_sync.models import ReceivedEvent, Ring, WebhookMonitor, Workspace
from crm_sync.work import rings
from tests.together import together

NOW = timezone.now()
SECOND = timedelta(seconds=1)


class Broker:
    """Takes messages, and delivers none by itself."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, int]] = []
        self.waiting = 0

    def publish(self, queue: str, workspace_id: int) -> None:
        self.sent.append((queue, workspace_id))
        self.waiting += 1

    def lose(self) -> None:
        self.waiting = 0

    def tick(self, seconds: float) -> list[tuple[str, int]]:
        return rings.tick(NOW + seconds * SECOND, self.publish, messages=lambda: self.waiting)


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def event(main: Workspace) -> tuple[str, int]:
    """Let a received event be due; return its queue and workspace."""
    ReceivedEvent.objects.create(workspace=main, digest="a", body=b"?", due_at=NOW)
    return ("received_events", main.pk)


def test_what_is_due_is_rung_for_once_and_again_when_a_worker_has_taken_it(broker, event):
    assert broker.tick(0) == [event]
    assert [broker.tick(n) for n in (1, 2)] == [[], []]
    rings.taken(*event)
    assert broker.tick(3) == [event]
    assert broker.sent == [event, event]


def test_what_is_not_due_is_not_rung_for(broker, main):
    ReceivedEvent.objects.create(workspace=main, digest="a", body=b"?", due_at=NOW + 9 * SECOND)
    assert broker.tick(8) == []
    assert not Ring.objects.exists()
    assert broker.tick(9) == [("received_events", main.pk)]


@pytest.mark.rule("I12")
def test_a_message_that_the_broker_lost_is_sent_again_after_three_seconds(broker, event):
    broker.tick(0)
    broker.lose()
    assert [broker.tick(n) for n in (1, 2, 3)] == [[], [], []]
    assert broker.tick(3.1) == [event]


@pytest.mark.rule("I12")
def test_under_a_backlog_of_messages_none_is_sent_twice_however_long_it_waits(broker, event):
    broker.tick(0)
    assert [broker.tick(n) for n in (4, 60, 3600)] == [[], [], []]


def test_a_mark_from_a_clock_that_was_wrong_holds_nothing_up(broker, event):
    rings.mark([event], NOW + timedelta(days=1))
    assert broker.tick(0) == [event]


def test_who_rings_sees_whether_a_message_waits_already(event):
    assert not rings.waits(*event)
    assert rings.mark([event], NOW) == [event]
    assert rings.waits(*event)
    assert rings.mark([event], NOW) == []
    rings.taken(*event)
    assert not rings.waits(*event)


def test_a_tick_with_nothing_due_asks_one_question(broker, main, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert broker.tick(0) == []


def test_a_tick_marks_all_that_is_due_in_one_statement(broker, main, django_assert_num_queries):
    Workspace.objects.bulk_create(
        Workspace(slug=f"w{n}", base_url="http://platform.test") for n in range(30)
    )
    ReceivedEvent.objects.bulk_create(
        ReceivedEvent(workspace=one, digest="a", body=b"?", due_at=NOW)
        for one in Workspace.objects.all()
    )
    with django_assert_num_queries(3):
        assert len(broker.tick(0)) == 31


def test_of_two_queues_that_share_a_limit_none_is_first_each_time(main):
    firsts = set()
    for seed in range(8):
        ReceivedEvent.objects.get_or_create(workspace=main, digest="a", body=b"?", due_at=NOW)
        WebhookMonitor.objects.get_or_create(workspace=main, defaults={"due_at": NOW})
        Ring.objects.all().delete()
        found = rings.tick(
            NOW,
            lambda *_: None,
            messages=lambda: 0,
            shuffle=random.Random(seed).shuffle,
        )
        firsts.add(found[0][0])
    assert firsts == {"received_events", "webhooks"}


@pytest.mark.django_db(transaction=True)
def test_of_many_that_ring_at_one_moment_one_sends_a_message():
    main = Workspace.objects.create(slug="main", base_url="http://platform.test")
    pair = ("orders", main.pk)
    found = together(lambda: rings.mark([pair], timezone.now()), workers=6)
    assert sorted(found) == [[]] * 5 + [[pair]]


def test_a_message_lost_under_a_backlog_is_sent_again_and_the_others_once_at_most(broker, main):
    for n in range(3):
        one = Workspace.objects.create(slug=f"w{n}", base_url="http://platform.test")
        ReceivedEvent.objects.create(workspace=one, digest="a", body=b"?", due_at=NOW)
    assert len(broker.tick(0)) == 3
    broker.waiting -= 1
    # Which of them it was nobody knows; and now as many wait as there are marks.
    assert len(broker.tick(4)) == 3
    assert [broker.tick(n) for n in (8, 60, 3600)] == [[], [], []]


def test_what_the_broker_did_not_take_is_sent_by_the_next_tick(broker, main):
    for n in range(3):
        one = Workspace.objects.create(slug=f"w{n}", base_url="http://platform.test")
        ReceivedEvent.objects.create(workspace=one, digest="a", body=b"?", due_at=NOW)

    def publish(queue: str, workspace_id: int) -> None:
        if broker.sent:
            raise ConnectionError("gone")
        broker.publish(queue, workspace_id)

    with pytest.raises(ConnectionError):
        rings.tick(NOW, publish, messages=lambda: 99)
    assert len(broker.tick(1)) == 2
    assert len(set(broker.sent)) == 3


def test_more_marks_than_a_database_takes_in_one_statement_are_made_all_the_same(main, monkeypatch):
    monkeypatch.setattr(rings, "TOGETHER", 2)
    pairs = [(f"queue {n}", main.pk) for n in range(5)]
    assert sorted(rings.mark(pairs, NOW)) == pairs
    assert rings.mark(pairs, NOW) == []
