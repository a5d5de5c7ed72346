"""The two health pages, which need no login and tell nothing about the data."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from crm_sync.models import Delivery, Workspace


def get(path: str) -> tuple[int, dict]:
    response = Client().get(path, headers={"Host": "localhost"})
    return response.status_code, response.json()


def due_since(seconds: int, **columns) -> None:
    workspace = Workspace.objects.create(slug="main", base_url="http://x.test")
    due_at = timezone.now() - timedelta(seconds=seconds)
    Delivery.objects.create(workspace=workspace, digest="1", body=b"?", due_at=due_at, **columns)


def test_a_process_that_answers_is_alive_even_without_a_database(db, settings):
    with connection.execute_wrapper(_broken):
        assert get("/healthz") == (200, {"status": "ok"})
        assert get("/readyz") == (503, {"status": "no database"})
    assert get("/readyz") == (200, {"status": "ok"})


def _broken(execute, sql, params, many, context):
    from django.db import OperationalError

    raise OperationalError("canary: the server closed the connection")


@pytest.mark.parametrize(("seconds", "late"), [(30, False), (90, True)])
def test_work_that_nobody_does_for_a_minute_is_told(db, seconds, late):
    due_since(seconds)
    told = {"status": "no worker keeps up", "queues": ["deliveries"]}
    assert get("/readyz") == ((503, told) if late else (200, {"status": "ok"}))


def test_work_that_somebody_does_just_now_is_not_late(db):
    due_since(90, lease_until=timezone.now() + timedelta(seconds=60))
    assert get("/readyz") == (200, {"status": "ok"})
