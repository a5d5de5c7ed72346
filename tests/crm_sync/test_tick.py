"""The tick of a worker, and the messages by which beat has it taken (I12)."""

import pytest
from django.utils import timezone

from crm_sync import tasks
from crm_sync.models import Heartbeat, ReceivedEvent, Ring, Workspace


@pytest.fixture
def due(main: Workspace) -> None:
    ReceivedEvent.objects.create(workspace=main, digest="a", body=b"?", due_at=timezone.now())


def test_one_tick_of_a_process_at_a_time_looks_at_what_is_due(due):
    with tasks._ticking:
        assert tasks.tick() == 0
    assert not Ring.objects.exists()
    assert not Heartbeat.objects.exists()


def test_a_tick_is_not_sent_while_one_waits():
    waiting = []
    with tasks.current_app.connection_for_write() as broker, broker.channel() as channel:
        channel.queue_declare(tasks.TICKS)
        channel.queue_purge(tasks.TICKS)
        try:
            for _ in range(3):
                tasks.send_tick()
                waiting.append(tasks.messages(tasks.TICKS))
        finally:
            channel.queue_purge(tasks.TICKS)
    assert waiting == [1, 1, 1]
