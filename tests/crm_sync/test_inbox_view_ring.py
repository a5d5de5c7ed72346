"""After a callback is stored the worker is rung for, and only then (I25)."""

import pytest
from django.test import Client
from django.utils import timezone

from crm_sync.inbox import auth, store
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.work.doorbell import doorbell
from crm_sync.work.rings import mark, taken, tick

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def hook(db, settings) -> Workspace:
    settings.ALLOWED_HOSTS = ["testserver"]
    return Workspace.objects.create(slug="ring", base_url="http://x.test", auth_secret="s")


def call(workspace: Workspace) -> int:
    address = f"/webhooks/{workspace.uuid}/"
    response = Client().post(address, b"{}", "application/json", headers={"X-API-Key": "s"})
    return response.status_code


@pytest.mark.rule("I25")
def test_the_ring_comes_when_the_callback_can_be_read_by_others(hook):
    seen = []
    doorbell.connect(lambda *ring: seen.append((*ring, ReceivedEvent.objects.count())))
    assert call(hook) == 200
    assert seen == [("received_events", hook.pk, 1)]
    assert call(hook) == 200  # a repetition is no work
    assert seen == [("received_events", hook.pk, 1)]


def test_while_a_message_waits_a_callback_is_one_statement_and_rings_for_nobody(
    hook, rings, django_assert_num_queries
):
    auth.read(hook.uuid)
    mark([("received_events", hook.pk)], timezone.now())
    with django_assert_num_queries(1):
        assert call(hook) == 200
    assert rings == []
    # A worker that took the message before this commit found nothing: the tick rings.
    taken("received_events", hook.pk)
    sent: list[tuple[str, int]] = []
    tick(timezone.now(), lambda *ring: sent.append(ring), messages=lambda: 0)
    assert sent == [("received_events", hook.pk)]


def test_a_broker_that_fails_does_not_reach_the_platform(hook):
    def broken(queue: str, workspace_id: int) -> None:
        raise ConnectionError("no broker")

    doorbell.connect(broken)
    assert call(hook) == 200
    assert ReceivedEvent.objects.count() == 1
    assert store.RECEIVED_EVENTS.workspaces(timezone.now()) == {hook.pk}  # the tick finds it


def test_a_refused_callback_rings_for_nobody(hook, rings):
    Workspace.objects.update(auth_secret="other")
    assert call(hook) == 401
    assert rings == []
