"""What other systems are told, from the sandbox to a receiver, and as docs/outgoing.md says it."""

import json
import re
from contextlib import suppress
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from crm_sync import hooks
from crm_sync.models import OutgoingMessage, Subscription, Workspace
from crm_sync.work import turn
from examples.receiver import verified
from orders.models import MaterialSet
from properties.domain.editing import create, edit
from properties.models import Property
from tests.conftest import PLATFORM
from tests.crm_sync.receivers import receiving, subscribe
from tests.orders.conftest import at, tell
from tests.platforms import Between
from tests.processes import ROOT

PAGE = ROOT / "docs" / "outgoing.md"


@pytest.fixture
def receiver(settings):
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    with receiving() as one:
        yield one


@pytest.fixture
def row(workspace, receiver) -> Subscription:
    return subscribe(workspace, receiver.url)


def documented() -> dict[str, dict[str, Any]]:
    """The example of each kind on the page."""
    found = [json.loads(one) for one in re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.S)]
    return {one["type"]: one for one in found}


def told(kind: str = "") -> list[dict[str, Any]]:
    rows = OutgoingMessage.objects.order_by("pk")
    found = [json.loads(text) for text in rows.values_list("payload", flat=True)]
    return [one for one in found if not kind or one["type"] == kind]


def shown(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what differs each time: moments, and ids that the platform gives."""
    data = {
        name: type(value).__name__ if name.endswith("Id") or name == "materials" else value
        for name, value in message["data"].items()
    }
    return message | {"timestamp": len(message["timestamp"]), "data": data}


def as_documented(message: dict[str, Any]) -> bool:
    return shown(message) == shown(documented()[message["type"]])


def remote(box) -> dict[str, Any]:
    found = box.workspace.properties.values()
    return next(one for one in found if one.get("objectReferenceId") == "MH-1001")


def test_a_property_in_sync_reaches_the_receiver_signed(workspace, row, receiver, drain_all):
    create(workspace, "MH-1001", {"title": "Flat"}, origin="ADMIN", now=now())
    assert drain_all()["outgoing"] == {"sent": 1}
    (message,) = receiver.messages(row.secret)
    assert as_documented(message)
    assert message["data"]["platformId"] == Property.objects.get().platform_id
    assert message["data"]["revision"] == Property.objects.get().revision
    (_, headers, body) = receiver.came[0]
    assert verified(headers, body, row.secret) == message
    with pytest.raises(ValueError, match="signature"):
        verified(headers, body + b" ", row.secret)
    with pytest.raises(ValueError, match="signature"):
        verified({**headers, "webhook-signature": None}, body, row.secret)
    # The same state again, however often it is read, is no news.
    Property.objects.update(due_at=now())
    drain_all()
    assert len(told()) == 1
    edit(Property.objects.get(), {"title": "House"}, origin="ADMIN", now=now())
    drain_all()
    first, second = (one["data"]["revision"] for one in told())
    assert first < second


def test_a_push_has_not_ended_before_its_message_is_written(workspace, row, drain_all):
    def full(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith('INSERT INTO "crm_sync_outgoingmessage"'):
            raise OperationalError("the disk is full")
        return execute(sql, *rest)

    mine = create(workspace, "MH-1001", {"title": "Flat"}, origin="ADMIN", now=now())
    with connection.execute_wrapper(full), suppress(OperationalError):
        drain_all()
    mine.refresh_from_db()
    assert (mine.due_at is None, mine.told, told()) == (False, "", [])
    Property.objects.update(due_at=now(), lease_token=None, lease_until=None)
    drain_all()
    assert [one["data"]["reference"] for one in told("property.in_sync")] == ["MH-1001"]


def test_a_refusal_names_each_field(box, workspace, row, drain_all):
    mine = create(workspace, "MH-1001", {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()
    refusal = b'{"errors": [{"field": "title", "message": "is too loud"}]}'
    between = Between(box, PLATFORM)
    between.before = lambda environ: (
        ("400 Bad Request", [], refusal) if environ["REQUEST_METHOD"] == "PATCH" else None
    )
    edit(mine, {"title": "FLAT!"}, origin="ADMIN", now=now())
    drain_all()
    (message,) = told("property.refused")
    assert as_documented(message)


def test_a_conflict_that_a_person_decides_is_told_and_then_what_came_of_it(
    box, workspace, row, drain_all
):
    Workspace.objects.update(conflict_policy="ask")
    mine = create(workspace, "MH-1001", {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()
    box.edit_property(remote(box)["id"], {"title": "Theirs"})
    edit(mine, {"title": "Ours", "numberOfRooms": 4}, origin="ADMIN", now=now())
    drain_all()
    (message,) = told("property.conflict")
    assert as_documented(message)
    edit(Property.objects.get(), {"title": "Agreed"}, origin="ADMIN", now=now())
    drain_all()
    assert [one["type"] for one in told()][-1] == "property.in_sync"


def test_a_status_is_told_once_however_it_is_learned_and_a_late_event_is_not(
    workspace, row, place, box, drain_all
):
    order = place("GROUND_PHOTO")
    for _ in range(2):
        box.step()
        box.deliver()
    drain_all()
    messages = told("order.status_changed")
    assert messages
    assert all(message["data"]["orderId"] == order.platform_id for message in messages)
    example = documented()["order.status_changed"]
    assert [one for one in messages if shown(one) == shown(example)]
    seen = [(one["data"]["assignmentId"], one["data"]["newStatus"]) for one in messages]
    assert len(set(seen)) == len(seen)
    tell(
        workspace,
        "ORDER_STATUS_UPDATED",
        orderId=order.platform_id,
        objectReferenceId="SEED-1",
        realEstatePropertyId="201",
        previousStatus="PLACED",
        newStatus="CANCELLED",
        occurredAt=at(0),
    )
    assert len(told("order.status_changed")) == len(messages)


def test_materials_are_told_when_they_can_be_had_and_once(workspace, row, place, box, drain_all):
    order = place("GROUND_PHOTO")
    box.set_status(order.assignments.get().platform_id, "DELIVERED")
    box.deliver()
    drain_all()
    messages = told("material.ready")
    example = documented()["material.ready"]
    assert [one for one in messages if shown(one) == shown(example)]
    MaterialSet.objects.update(due_at=now())
    drain_all()
    assert told("material.ready") == messages


def test_without_interest_in_it_a_push_asks_for_nothing(workspace, receiver, drain_all):
    create(workspace, "MH-1001", {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()
    subscribe(workspace, receiver.url, "material.ready")
    edit(Property.objects.get(), {"title": "A"}, origin="ADMIN", now=now())
    with CaptureQueriesContext(connection) as queries:
        assert turn.take(hooks.queue("properties"), workspace.pk, seconds=20.0).counts == {
            "pushed": 1
        }
    assert not [one for one in queries if "crm_sync_subscription" in one["sql"]]


def in_slack(receiver) -> list[str]:
    """The lines of all messages that Slack got."""
    found = [json.loads(body) for _, _, body in receiver.came]
    return [one["text"]["text"] for each in found for one in each["blocks"]]


def test_people_read_of_a_property_its_address_its_state_and_a_link_to_its_page(
    workspace, receiver, drain_all, settings
):
    settings.PUBLIC_BASE_URL = "https://crm.example.com"
    subscribe(workspace, receiver.url, format="SLACK", language="de")
    where = {"street": "Hauptstrasse <b>", "streetNumber": "1", "locality": "*Zug*"}
    row = create(workspace, "MH-1001", {"address": where}, origin="ADMIN", now=now())
    drain_all()
    page = f"https://crm.example.com/admin/properties/property/{row.pk}/change/"
    (line,) = in_slack(receiver)
    address = "Hauptstrasse &lt;b&gt; 1, \u2217Zug\u2217"
    assert line == f"{address}: Synchron · <{page}|Öffnen>"


def test_people_read_of_an_order_its_status_in_words_and_of_materials_their_number(
    workspace, place, box, receiver, drain_all, settings
):
    settings.PUBLIC_BASE_URL = "https://crm.example.com"
    kinds = ("order.status_changed", "material.ready")
    subscribe(workspace, receiver.url, *kinds, format="SLACK", template="{reference}: {status}")
    order = place("GROUND_PHOTO")
    box.set_status(order.assignments.get().platform_id, "DELIVERED")
    box.deliver()
    for _ in range(3):
        drain_all()
        Subscription.objects.update(due_at=now())
    found = in_slack(receiver)
    assert "SEED-1: Photo: Delivered (not confirmed)" in found
    assert "SEED-1: 1 new material" in found
    assert {line.partition(":")[0] for line in found} == {"SEED-1"}


def test_every_kind_that_there_is_stands_on_the_page_with_an_example():
    names = {one.name for one in hooks.plugged().message_kinds}
    assert set(documented()) == names
    text = PAGE.read_text()
    assert all(f"| `{one.name}` | {one.text}" in text for one in hooks.plugged().message_kinds)
