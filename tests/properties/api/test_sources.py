"""A sender pokes: its source is due at once, at most once a minute, and no poke is lost."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import time_machine

from crm_sync.models import Workspace
from properties.models import Sender, Source
from tests.api import error, program

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def clock():
    with time_machine.travel(NOON, tick=False):
        yield


@pytest.fixture
def source(main) -> Source:
    sender = Sender.objects.create(workspace=main, name="Agency")
    return Source.objects.create(
        workspace=main, sender=sender, address="https://feeds.test/a", due_at=LATER
    )


@pytest.fixture
def sender(main):
    return program(main, ["sources:fetch"])


def poke(sender, source) -> datetime:
    answer = sender.call("POST", f"/sources/{source.pk}/fetch")
    assert answer.status_code == 202
    source.refresh_from_db()
    said = answer.json()
    assert (said["id"], datetime.fromisoformat(said["dueAt"])) == (source.pk, source.due_at)
    return source.due_at


def test_a_source_is_due_at_once_and_a_second_call_changes_nothing(sender, source):
    assert poke(sender, source) == NOON
    with time_machine.travel(NOON + timedelta(seconds=5), tick=False):
        assert poke(sender, source) == NOON


def test_a_source_that_was_just_fetched_is_due_when_the_minute_is_over(sender, source):
    fetched_at = NOON - timedelta(seconds=20)
    Source.objects.update(fetched_at=fetched_at)
    assert poke(sender, source) == fetched_at + timedelta(minutes=1)


def test_a_source_that_is_fetched_just_now_is_fetched_again(sender, source):
    held = {"lease_token": uuid4(), "lease_until": NOON + timedelta(seconds=5)}
    Source.objects.update(due_at=NOON - timedelta(seconds=9), **held)
    assert poke(sender, source) == NOON


def test_a_source_whose_schedule_is_off_stays_off(sender, source):
    Source.objects.update(is_enabled=False, due_at=None)
    answer = sender.call("POST", f"/sources/{source.pk}/fetch")
    assert error(answer) == (409, "schedule_off", [])
    source.refresh_from_db()
    assert source.due_at is None


@pytest.mark.rule("S12")
def test_a_source_of_another_workspace_is_not_found(source):
    other = Workspace.objects.create(slug="other", base_url="http://other.invalid")
    stranger = program(other, ["sources:fetch"])
    for number in (source.pk, 10**30):
        assert error(stranger.call("POST", f"/sources/{number}/fetch"))[:2] == (404, "not_found")
    source.refresh_from_db()
    assert source.due_at == LATER
