"""Those who judge a run under load see what is wrong."""

import time
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from crm_sync.models import ReceivedEvent, Slot, Workspace
from lab.scale import judge, watcher
from properties.models import Import, Property
from tests.journeys.rows import ask

pytestmark = pytest.mark.once
LONG = 0.5  # seconds: seen more than once
DOCUMENT = {"id": "7", "objectReferenceId": "P-1", "title": "New"}


@pytest.fixture
def url(transactional_db) -> str:
    if connection.vendor != "sqlite":
        pytest.skip("it asks a file")
    return f"sqlite:///{connection.settings_dict['NAME']}"


@pytest.fixture
def main(url) -> Workspace:
    return Workspace.objects.create(slug="main", base_url="http://platform.test")


def received_event(main: Workspace, number: int, **columns) -> ReceivedEvent:
    if "state" not in columns:
        columns.setdefault("due_at", timezone.now())
    return ReceivedEvent.objects.create(workspace=main, digest=str(number), body=b"?", **columns)


def held(until: datetime) -> dict[str, Any]:
    return {"lease_token": uuid.uuid4(), "lease_until": until}


@pytest.fixture
def looks(url) -> Callable[[], list[str]]:
    """Return which queues stand still in five looks, as the watcher's thread takes them."""
    one = watcher.Watcher(None, url)

    def look() -> list[str]:
        one.seen.stills.clear()
        for _ in range(5):
            for queue, (table, calls) in watcher.QUEUES.items():
                one._compare(queue, ask(url, one._query(table, calls)), time.monotonic())
            time.sleep(0.25)
        return sorted(key[0] for key, still in one.seen.stills.items() if still.seconds > LONG)

    return look


def test_a_field_that_differs_a_copy_and_a_lost_one_are_named(main, url):
    row = {"workspace": main, "object_reference_id": "P-1", "platform_id": "7"}
    Property.objects.create(**row, desired=DOCUMENT)
    there = {"7": DOCUMENT}
    assert judge.properties(url, main.pk, there) == []
    assert judge.properties(url, main.pk, {"7": DOCUMENT | {"title": "Other"}}) == [
        "P-1: title: 'New' here, 'Other' there"
    ]
    assert judge.properties(url, main.pk, there | {"8": DOCUMENT | {"id": "8"}}) == [
        "P-1 is there 2 times",
        "8 is there and not here",
    ]
    assert judge.properties(url, main.pk, {}) != []


def test_an_event_that_was_lost_or_applied_twice_is_told(main, url):
    for number, digest in enumerate(["a", "b"]):
        received_event(main, number, kind="KIND", state="APPLIED", canonical_digest=digest)
    assert judge.events(url, main.pk, "KIND", 2) == []
    assert judge.events(url, main.pk, "KIND", 3) == ["3 events KIND were sent, 2 were applied"]
    received_event(main, 9, kind="KIND", state="APPLIED", canonical_digest="b")
    assert judge.events(url, main.pk, "KIND", 2) == ["1 events KIND were applied twice"]


def test_an_import_that_refused_what_it_should_have_taken_is_told(main, url):
    unseen = "title: Platform changed it after the preview: it is “A” now"
    whole = {"workspace": main, "name": "New.csv", "size": 1, "ended_at": timezone.now()}
    Import.objects.create(**whole | {"state": "DONE", "stored_as": "1"})
    partly = Import.objects.create(**whole | {"state": "PARTLY", "stored_as": "2"})
    partly.report = {"refused": [["line 2", "P-1", [unseen]]]}
    partly.save()
    assert judge.imports(url, main.pk) == []
    partly.report["refused"] += [["line 3", "P-2", [unseen, "rent: no number"]]]
    partly.save()
    assert judge.imports(url, main.pk) == ["New.csv ended PARTLY: P-2: rent: no number"]
    Import.objects.create(**whole | {"state": "FAILED", "stored_as": "3"})
    assert judge.imports(url, main.pk)[1:] == ["New.csv ended FAILED: it refused no record"]


def test_what_a_worker_still_held_when_it_was_asked_to_end_is_told(main, url):
    asked_at = timezone.now()
    Slot.objects.create(workspace=main, number=0, **held(asked_at - timedelta(seconds=1)))
    assert judge.held(url, asked_at) == []
    Slot.objects.create(workspace=main, number=1, **held(asked_at + timedelta(seconds=1)))
    received_event(main, 1, **held(asked_at + timedelta(seconds=1)))
    assert judge.held(url, asked_at) == [
        "1 rows of crm_sync_receivedevent are held",
        "1 rows of crm_sync_slot are held",
    ]


def test_what_is_due_and_no_worker_takes_is_stalled(main, looks):
    past = timezone.now() - timedelta(seconds=5)
    received_event(main, 1, due_at=past)
    Property.objects.create(workspace=main, object_reference_id="P-1", due_at=past)
    assert looks() == ["properties", "received_events"]
    Workspace.objects.update(paused_until=timezone.now() + timedelta(minutes=1))
    assert looks() == ["received_events"]  # a property waits for the platform
    ReceivedEvent.objects.update(**held(timezone.now() + timedelta(minutes=1)))
    assert looks() == []  # somebody is at it
