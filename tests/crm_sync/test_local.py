"""The turns of `manage.py work --loop`, without a broker (I12, I14)."""

import threading

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.work import queues
from crm_sync.work.leases import Tally
from crm_sync.work.local import Local

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.rule("I14")
def test_a_database_that_is_away_is_told_once_and_asked_again(monkeypatch, caplog):
    monkeypatch.setattr(queues, "ending", threading.Event())
    monkeypatch.setattr("crm_sync.work.local.EVERY", 0.05)
    main = Workspace.objects.create(slug="main", base_url="http://platform.test")
    ReceivedEvent.objects.create(workspace=main, digest="a", body=b"?", due_at=timezone.now())
    looks, done = [], []

    def gone(execute, sql, parameters, many, context):
        looks.append(sql)
        if len(looks) <= 6:
            raise OperationalError("gone away")
        return execute(sql, parameters, many, context)

    def report(queue: str, tally: Tally) -> None:
        done.append((queue, tally.counts))
        queues.ending.set()
        connection.close()

    with connection.execute_wrapper(gone):
        Local(report=report).run()
    assert done == [("received_events", {"QUARANTINED": 1})]
    told = [one.getMessage() for one in caplog.records if one.name == "crm_sync.work.local"]
    assert told == ["the database does not answer (gone away); asking again"]
