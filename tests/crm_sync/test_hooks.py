"""What an app plugs in is registered once, and a name has one owner."""

from datetime import datetime

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured

from crm_sync import hooks
from crm_sync.hooks import AppHooks, Effect, MessageKind, Outcome, register
from crm_sync.work.leases import Tally


class Queue:
    """A queue with nothing in it."""

    name = "reports"

    def workspaces(self, now: datetime) -> set[int]:
        return set()

    def drain(self, workspace_id: int, budget: float) -> Tally:
        return Tally()


def handler(batch, event, received_event_id) -> Effect:
    return Effect(Outcome.IGNORED, "")


@pytest.fixture(autouse=True)
def _as_before():
    with hooks.replaced():
        yield


def test_what_an_app_brings_comes_behind_that_of_the_apps_before_it():
    before, queue = hooks.plugged(), Queue()
    register(AppHooks("reports", queues=[queue], event_handlers={"ONE": handler, "TWO": handler}))
    after = hooks.plugged()
    assert after.queues == (*before.queues, queue)
    assert list(after.event_handlers) == [*before.event_handlers, "ONE", "TWO"]
    assert hooks.queue("reports") is queue
    assert after.tiles == before.tiles


@pytest.mark.parametrize("label", ["crm_sync", "properties", "orders"])
def test_an_app_that_registers_twice_is_named(label):
    with pytest.raises(ImproperlyConfigured, match=f"^the app '{label}' registers twice$"):
        apps.get_app_config(label).ready()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"queues": [Queue(), Queue()]},
            "the app 'reports' brings the queue 'reports', which is taken",
        ),
        (
            {"event_handlers": {"VISUALS_READY": handler}},
            "the app 'reports' brings the event 'VISUALS_READY', which is taken",
        ),
        (
            {"message_kinds": [MessageKind("order.status_changed", "")]},
            "the app 'reports' brings the message 'order.status_changed', which is taken",
        ),
    ],
)
def test_a_name_that_is_taken_is_named_and_nothing_is_registered(parts, message):
    before = hooks.plugged()
    with pytest.raises(ImproperlyConfigured, match=f"^{message}$"):
        register(AppHooks("reports", **parts))
    assert hooks.plugged() is before
    register(AppHooks("reports"))  # the app itself is not


def test_a_test_may_replace_a_part_for_a_while():
    before = hooks.plugged()
    with hooks.replaced(event_handlers={"ONE": handler}, queues=[]):
        assert hooks.plugged().event_handlers == {"ONE": handler}
        assert (hooks.plugged().queues, hooks.plugged().tiles) == ([], before.tiles)
    assert hooks.plugged() is before
