"""The books add up at every commit of a day's work, and after a stop right there (I31)."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils.timezone import now

from crm_sync import hooks
from crm_sync.hooks import Effect
from crm_sync.inbox import store as inbox_store
from crm_sync.integrity.audit import check_groups, read
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.webhook.sample_events import sample
from orders.models import Assignment, Order
from properties.domain.editing import create, due_now, edit
from properties.models import Property
from tests.conftest import PLATFORM
from tests.platforms import Between, lost

PARENT = "parentRealtyReferenceId"
WRITES = ("INSERT", "UPDATE", "DELETE")
# No law is about them: they say who works, and what the broker was sent.
WORK = re.compile('"crm_sync_(ring|heartbeat|callcount|platformcall)"')
# Every lease that was held is over then, so what stands is what a kill would leave behind.
LATER = timedelta(hours=1)


class Auditor:
    """Adds up the books before the statement that follows a commit."""

    def __init__(self) -> None:
        self.moments = 0
        self.wrong: dict[str, str] = {}
        self.is_looking = self.has_written = False

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, *rest: Any) -> Any:
        if self.has_written and not self.is_looking and not connection.in_atomic_block:
            self.look(sql)
        if not self.is_looking:
            self.has_written |= sql.lstrip().startswith(WRITES) and not WORK.search(sql)
        return execute(sql, params, *rest)

    def look(self, sql: str = "") -> None:
        self.is_looking, self.has_written = True, False
        self.moments += 1
        when = now() + LATER
        workspace = Workspace.objects.get()
        for group in check_groups(workspace, when):
            result = read(group, workspace, now=when)
            assert result.adds_up or result.broken
            for broken in result.broken:
                found = f"{group.title}: {broken.invariant}: {broken.rows}"
                self.wrong.setdefault(found, f"before {sql[:200]}")
        self.is_looking = False


@contextmanager
def audited() -> Iterator[Auditor]:
    auditor = Auditor()
    with connection.execute_wrapper(auditor):
        yield auditor
        auditor.look()


def store(workspace: Workspace, body: bytes) -> None:
    callback = ReceivedEvent.Source.CALLBACK
    inbox_store.store(workspace.pk, body, headers={}, method="POST", source=callback, now=now())


def broken_handler(*_: Any) -> Effect:
    raise RuntimeError("a bug of ours")


@pytest.mark.rule("I31")
@pytest.mark.once
@pytest.mark.django_db(transaction=True)
def test_every_commit_of_a_days_work_leaves_books_that_add_up(box, workspace, drain_all, app_hooks):
    between = Between(box, PLATFORM)
    Workspace.objects.update(conflict_policy="ask")
    workspace.refresh_from_db()
    with audited() as auditor:
        create(workspace, "H-1", {"title": "House"}, origin="API", now=now())
        create(workspace, "H-2", {PARENT: "H-1"}, origin="API", now=now())
        drain_all()
        row = Property.objects.get(object_reference_id="H-1")
        box.edit_property(row.platform_id, {"title": "Theirs"})
        edit(row, {"title": "Ours", "numberOfRooms": 3}, origin="API", now=now())
        drain_all()
        box.edit_property(row.platform_id, {"title": "Ours"})  # now both agree
        due_now(Property.objects.filter(pk=row.pk))
        drain_all()
        between.after = lost("PATCH")
        edit(row, {"numberOfRooms": 4}, origin="API", now=now())
        drain_all()
        words = ("--reference", "H-1", "--user", "AGENT-1", "--product", "GROUND_PHOTO")
        call_command("place_order", "main", *words, stdout=StringIO())
        drain_all()  # an answer with the id alone tells of no assignment yet
        assignment = Assignment.objects.get()
        for _ in range(4):
            box.advance(assignment.platform_id)
            box.deliver()
            drain_all()
        body = bytes(ReceivedEvent.objects.first().body)
        store(workspace, body)
        store(workspace, json.dumps(json.loads(body), indent=1).encode())
        store(workspace, b"no JSON")
        event = sample("MARKETING_MATERIALS_READY", at=now(), fields={})
        store(workspace, json.dumps(event).encode())
        app_hooks(event_handlers={**hooks.plugged().event_handlers, event["event"]: broken_handler})
        drain_all()
        assert ReceivedEvent.objects.filter(state="FAILED", due_at__isnull=False).exists()
        inbox_store.apply_again(ReceivedEvent.objects.all(), now=now())
        drain_all()
        inbox_store.set_aside(ReceivedEvent.objects.all(), now=now())
        Order.objects.update(due_at=now())
        box.workspace.orders.clear()
        drain_all()
    assert auditor.wrong == {}
    assert auditor.moments > 100
