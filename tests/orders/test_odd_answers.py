"""What a platform says otherwise than expected, in events and answers, is read or left out."""

import json
from typing import Any

import pytest

from crm_sync import hooks
from crm_sync.hooks import Effect, Outcome
from crm_sync.inbox import store
from crm_sync.models import ReceivedEvent
from crm_sync.work import turn
from orders.models import Assignment, Material, Order, PlatformUser, StatusChange
from orders.platform_users import user_list
from tests.orders.conftest import at, calls, is_due, now, set_aside, tell

ANNA = {"id": "51", "name": "Anna", "email": "anna@example.com", "phone": "+41"}


def move(workspace, second: int, previous: str, new: str) -> Effect:
    return tell(
        workspace,
        "ORDER_STATUS_UPDATED",
        occurredAt=at(second),
        orderId="1",
        previousStatus=previous,
        newStatus=new,
    )


# --- events of a kind that we do not know
def test_an_event_of_a_newer_kind_has_its_order_read_and_waits_for_nobody(
    box, place, workspace, drain_all
):
    order = place()
    box.faults.set({"rules": [{"fault": "NEWER_EVENT", "times": 1}]})
    box.workspace.orders[order.platform_id]["status"] = "CANCELLED"  # what the event is about
    box.nudge(order.assignments.get().platform_id)
    box.deliver()
    drain_all()
    told = ReceivedEvent.objects.get(kind="ORDER_NOTE_ADDED")
    assert (told.state, told.due_at, told.order_platform_id) == ("APPLIED", None, order.platform_id)
    assert told.effect == f"{order}: ORDER_NOTE_ADDED is not known here, so the order is read"
    order.refresh_from_db()
    assert order.status == "CANCELLED"
    assert not ReceivedEvent.objects.filter(state="QUARANTINED").exists()


def test_an_order_that_only_a_newer_kind_names_becomes_known(workspace):
    effect = tell(workspace, "INVOICE_READY", orderId=77, realEstatePropertyId="201")
    assert effect.outcome == Outcome.APPLIED
    order = Order.objects.get()
    assert (order.platform_id, order.property_platform_id) == ("77", "201")
    assert is_due(order)
    assert StatusChange.objects.count() == 0


def test_a_newer_kind_that_is_dated_ahead_does_not_wait_for_its_day(workspace, drain_all):
    told = {"event": "INVOICE_READY", "orderId": "77", "occurredAt": "2099-01-01T00:00:00Z"}
    source = ReceivedEvent.Source.CALLBACK
    body = json.dumps(told).encode()
    store.store(workspace.pk, body, headers={}, method="POST", source=source, now=now())
    drain_all()
    assert ReceivedEvent.objects.get().state == "APPLIED"
    assert Order.objects.get().platform_id == "77"


# --- what is told of an event that changes nothing
def test_an_event_that_says_what_is_known_is_not_said_to_be_older_than_something(workspace):
    move(workspace, 1, "PLACED", "IN_PROGRESS")
    again = "order 1: Placed → In progress; that is known already"
    assert move(workspace, 1, "PLACED", "IN_PROGRESS") == Effect(Outcome.STALE, again)
    assert move(workspace, 0, "PLACED", "IN_PROGRESS") == Effect(Outcome.STALE, again)
    assert move(workspace, 0, "", "PLACED").text.endswith("; something newer is known")


def test_of_two_events_of_one_moment_none_is_said_to_be_newer(workspace):
    texts = {move(workspace, 1, "PLACED", new).text for new in ("IN_PROGRESS", "CANCELLED")}
    texts |= {move(workspace, 1, "PLACED", new).text for new in ("IN_PROGRESS", "CANCELLED")}
    assert not [text for text in texts if "newer" in text]
    assert [text for text in texts if text.endswith("another one of the same moment is known")]


# --- who takes the pictures, told in other ways
@pytest.fixture
def order(place) -> Order:
    placed = place()
    Assignment.objects.update(status="SCHEDULED", photographer=ANNA)
    set_aside(placed)
    return placed


def read_assignment(wire, order: Order, **members: Any) -> Assignment:
    row = order.assignments.get()
    told = {"id": row.platform_id, "status": "SCHEDULED", "products": ["GROUND_PHOTO"], **members}
    wire.answers[f"/v1/assignments/{row.platform_id}"] = ("200 OK", json.dumps(told).encode())
    Assignment.objects.update(due_at=now())
    assert turn.take(hooks.queue("assignments"), order.workspace_id, seconds=20.0).counts == {
        "read": 1
    }
    row.refresh_from_db()
    return row


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("Bruno", {"name": "Bruno"}),
        ("Anna", ANNA),
        ("51", ANNA),
        (51, ANNA),
        (52, {"id": "52"}),
        ({"name": "Anna"}, ANNA),
        ({"id": 52, "name": "Bruno", "phone": 41}, {"id": "52", "name": "Bruno", "phone": "41"}),
        ({"id": "52", "name": {"first": "Bruno"}, "email": None}, {"id": "52"}),
        ({"id": "52", "agency": {"id": 7}}, {"id": "52", "agency": {"id": 7}}),
        (["Anna", "Bruno"], ANNA),
        (None, {}),
    ],
)
def test_a_photographer_may_be_told_as_a_text_an_id_or_an_object(order, wire, told, kept):
    assert read_assignment(wire, order, photographer=told).photographer == kept


def test_a_photographer_who_is_told_as_a_text_stands_in_the_timeline_and_on_the_page(
    order, wire, boss
):
    read_assignment(wire, order, photographer="Bruno Müller")
    told = StatusChange.objects.filter(fact="PHOTOGRAPHER")
    assert list(told.values_list("previous", "previous_name", "new", "new_name")) == [
        ("51", "Anna", "", "Bruno Müller")
    ]
    assert "Bruno Müller" in boss.get(f"/admin/orders/order/{order.pk}/change/").content.decode()


# --- objects where texts belong
ODD: list[Any] = [{"value": "X"}, ["X"], True]


@pytest.mark.parametrize("odd", ODD, ids=str)
@pytest.mark.parametrize("name", ["status", "assignmentType", "actionRequired", "scheduledAt"])
def test_what_is_no_text_of_an_assignment_is_never_stored_as_one(order, wire, name, odd):
    row = read_assignment(wire, order, photographer=ANNA, **{name: odd})
    stored = [row.status, row.assignment_type, row.action_required, str(row.scheduled_at)]
    assert not [text for text in stored if "{" in text or "[" in text or text == "True"]


def test_products_may_be_objects_as_those_of_a_session_are(order, wire):
    products = [{"id": 11, "product": "GROUND_PHOTO"}, "FLOOR_PLAN", {"x": 1}, None, ["X"], 7]
    row = read_assignment(wire, order, products=products)
    assert row.products == ["GROUND_PHOTO", "FLOOR_PLAN", "7"]


def test_what_is_no_text_of_an_order_is_never_stored_as_one(order, wire, box):
    odd = {"id": order.platform_id, "status": {"value": "PLACED"}, "userId": {"id": "101"}}
    odd |= {"objectReferenceId": ["SEED-1"], "assignments": [{"id": {"a": 1}}]}
    wire.answers[f"/v1/orders/{order.platform_id}"] = ("200 OK", json.dumps(odd).encode())
    Order.objects.update(due_at=now(), user_platform_id="", object_reference_id="")
    turn.take(hooks.queue("orders"), order.workspace_id, seconds=20.0)
    order.refresh_from_db()
    assert (order.status, order.user_platform_id, order.object_reference_id) == ("PLACED", "", "")
    assert Assignment.objects.count() == 1


def test_what_is_no_text_of_a_user_is_never_stored_as_one(box, workspace, drain_all):
    box.workspace.users["101"] |= {"name": {"first": "Anna"}, "phone": 41, "language": ["de"]}
    box.workspace.users["102"] |= {"id": {"a": 1}}
    user_list.ask(workspace.pk, now())
    drain_all()
    user = PlatformUser.objects.get(platform_id="101")
    assert (user.name, user.phone, user.language) == ("", "41", "")
    assert not PlatformUser.objects.filter(platform_id__contains="{").exists()
    assert calls(box, "GET")


def test_what_is_no_text_of_a_material_is_never_stored_as_one(box, workspace, home, drain_all):
    box.marketing_ready("201", "INSTAGRAM")
    (told,) = box.workspace.marketing["201"]
    told |= {"fileName": {"de": "bild.png"}, "mimeType": ["image/png"], "id": {"a": 1}}
    box.workspace.marketing["201"].append(told | {"id": "7" * 256, "url": told["url"] + "?2"})
    box.deliver()
    drain_all()
    kept = Material.objects.order_by("pk")
    assert [(one.file_name, one.mime_type) for one in kept] == [("", ""), ("", "")]
    assert [one.platform_id.partition("/files/")[0] for one in kept] == ["http://sandbox.test"] * 2
