"""Rules of resources and endpoints (§1 to §4) that stand in no other file here."""

from __future__ import annotations

import pytest

from sandbox.interface.fields import PROPERTY, Field
from tests.sandbox.conftest import HOOK, finished, refusal

NOW = "2026-03-02T08:30:00.000000Z"
ONE = "/v1/real-estate-properties/201"


# §1, §2


def test_1_an_order_holds_one_assignment_for_each_product(client):
    order = client.order("11", "13", "17")
    assert [one["products"] for one in order["assignments"]] == [
        *(["GROUND_PHOTO"], ["FLOOR_PLAN"], ["ENERGY_CERTIFICATE"]),
    ]


def test_2_optional_fields_are_left_out_and_one_alone_is_null(box, hooked):
    order = hooked.order("11", "15", "17", "18")
    box.step()
    box.step()
    hooked.put(f"/v1/orders/{order['id']}/reschedule", json={"userId": "101"})
    while box.step():
        pass
    nulls = {(one["event"], name) for one in box.pending for name in one if one[name] is None}
    assert nulls == {("APPOINTMENT_DATE_UPDATED", "scheduledAt")}
    answers = [hooked.get(f"/v1/orders/{order['id']}").json(), hooked.get(ONE).json()]
    assert [name for one in answers for name in one if one[name] is None] == []


# §2.1, §2.2


def test_2_1_the_configuration_field_by_field(box, client, clock):
    sent = {
        "url": HOOK,
        "method": "POST",
        "enabled": True,
        "authType": "QUERY_PARAMETER",
        "authHeaderName": "X-Hook",
        "authParameterName": "key",
    }
    created = client.put("/v1/webhooks", json=sent | {"authSecret": "s3cret"}).json()
    box.marketing_ready("201", "LINKEDIN")
    clock.move(minutes=1)
    box.deliver()
    shown = client.get("/v1/webhooks").json()
    assert shown == {
        "id": created["id"],
        **sent,
        "hasAuthSecret": True,
        "createdAt": NOW,
        "updatedAt": NOW,
        "lastTriggeredAt": "2026-03-02T08:31:00.000000Z",
    }


@pytest.mark.parametrize("secret", [None, "s3cret"])
def test_2_1_has_auth_secret_tells_whether_one_is_stored(client, secret):
    shown = client.put("/v1/webhooks", json={"url": HOOK, "authSecret": secret}).json()
    assert (shown["hasAuthSecret"], "authSecret" in shown) == (secret is not None, False)


@pytest.mark.parametrize("status", [200, 500])
def test_2_2_a_record_field_by_field(box, hooked, callback, status):
    callback.status, callback.body = status, b"boom"
    box.marketing_ready("201", "LINKEDIN")
    box.deliver()
    (record,) = hooked.get("/v1/webhooks/triggers").json()
    assert isinstance(record.pop("id"), str)
    failed = {"responseBody": "boom", "errorMessage": "The callback answered 500"}
    assert record == {
        "triggeredAt": NOW,
        "payload": callback.events[0],
        "headers": {"X-Event-Type": "MARKETING_MATERIALS_READY"},
        "statusCode": status,
        "success": status == 200,
        **({} if status == 200 else failed),
    }


# §2.4

SAMPLES = {
    "text": "text",
    "decimal": 12.5,
    "integer": 3,
    "boolean": True,
    "date": "2026-05-01",
    "datetime": "2026-05-01T10:00:00Z",
    "map": {"key": "value"},
}
PRINTED = {
    "References": "displayReferenceId projectReferenceId houseReferenceId is24Id swissReferences"
    " parentRealtyReferenceId objectReferenceId",
    "Availability": "availabilityState availabilityStartAt availabilityExpiresAt",
    "Classification": "propertyCategories developmentState buildingZones conditions"
    " constructionMethod",
    "Areas and counts": "numberOfRooms",
    "Heating and energy": "heatingType heatingDistribution energyCertificate",
    "Prices": "prices commissions",
    "Amenities": "characteristics",
    "Listing": "localizations publishers parkingLots virtualTourLinks videoLinks customFields",
    "Read-only": "rooms",
    "Rules": "isHydraulicBalancingDone isMultiStoryPlan isFurnished",
}


def sample(known: Field) -> object:
    """A value that fits a field, with every member that it has."""
    match known.kind:
        case "enum":
            return min(known.values - {"UNKNOWN"})
        case "enums":
            return sorted(known.values)[:2]
        case "list":
            return [{name: sample(one) for name, one in known.members.items()}]
        case "object" | "merged":
            return {name: sample(one) for name, one in known.members.items()}
    return "x" * known.limit if known.kind == "text" and known.limit else SAMPLES[known.kind]


@pytest.mark.parametrize("name", [one for one in PROPERTY if PROPERTY[one].kind != "read-only"])
def test_2_4_every_field_is_taken_and_returned_by_both_reads(client, name):
    value = sample(PROPERTY[name])
    body = {"objectReferenceId": "NEW-1", name: value}
    created = client.post("/v1/real-estate-properties", json=body)
    reference = created.json()["objectReferenceId"]
    assert (created.status_code, created.json()[name]) == (201, value)
    assert client.patch(ONE, json={name: value} if name != "objectReferenceId" else {}).ok
    by_id = client.get(f"/v1/real-estate-properties/{created.json()['id']}").json()
    assert by_id == client.get(f"/v1/real-estate-properties/by-reference/{reference}").json()
    assert by_id == created.json()


@pytest.mark.parametrize("group", PRINTED)
def test_2_4_every_name_that_the_document_prints_is_a_field(group):
    assert [name for name in PRINTED[group].split() if name not in PROPERTY] == []


def booleans(members: dict[str, Field]) -> list[str]:
    below = [name for one in members.values() for name in booleans(one.members)]
    return [name for name, one in members.items() if one.kind == "boolean"] + below


def test_2_4_booleans_begin_with_is():
    assert len(booleans(PROPERTY)) >= 6
    assert [name for name in booleans(PROPERTY) if not name.startswith("is")] == []


@pytest.mark.parametrize("value", ["APPLIES", "DOES_NOT_APPLY", "UNKNOWN"])
def test_2_4_a_characteristic_has_one_of_three_values(box, client, value):
    for name in PROPERTY["characteristics"].members:
        changed = client.patch(ONE, json={"characteristics": {name: value}}).json()
        assert changed["characteristics"][name] == value
    answer = client.patch(ONE, json={"characteristics": {"hasElevator": "YES"}})
    assert refusal(answer) == (400, ["characteristics.hasElevator"])


def test_2_4_an_enum_reads_as_unknown_when_what_is_stored_is_newer(box, client):
    box.workspace.properties["201"] |= {"heatingType": "UNKNOWN"}
    assert client.get(ONE).json()["heatingType"] == "UNKNOWN"
    assert client.patch(ONE, json={"title": "Other"}).json()["heatingType"] == "UNKNOWN"


# §4


def test_4_addresses_begin_with_the_base_address(box, client):
    (assignment,) = finished(box, client, "11")["assignments"]
    path = f"/v1/orders/{assignment['orderId']}/assignments/{assignment['id']}/materials"
    (found,) = client.get(path).json()["materials"]
    assert found["url"].startswith("http://sandbox.test/files/")
    assert found["thumbnailUrl"].startswith("http://sandbox.test/files/")


@pytest.mark.parametrize("action", ["reschedule", "cancel"])
@pytest.mark.parametrize("user", [{"userId": "102"}, {"userReferenceId": "AGENT-2"}])
def test_4_4_the_acting_user_is_named_by_either_id(box, client, action, user):
    order = client.order("11")
    box.advance(order["assignments"][0]["id"])
    answer = client.put(f"/v1/orders/{order['id']}/{action}", json=user)
    status = {"reschedule": "RESCHEDULE_IN_PROCESS", "cancel": "CANCELLED"}[action]
    assert [one["status"] for one in answer.json()["assignments"]] == [status]


def test_4_5_an_order_is_read_as_it_is_now(box, client):
    order = client.order("11")
    assert client.get(f"/v1/orders/{order['id']}").json() == order
    box.advance(order["assignments"][0]["id"])
    shown = client.get(f"/v1/orders/{order['id']}").json()
    assert (shown["status"], shown["assignments"][0]["status"]) == (
        *("IN_PROGRESS", "PHOTOGRAPHER_ASSIGNED"),
    )
    assert shown["assignments"] == [client.get("/v1/assignments/1002").json()]


@pytest.mark.parametrize("path", ["/v1/real-estate-properties", "/v1/users"])
@pytest.mark.parametrize("query", ["sort=title,desc", "title=House", "filter=x", "q=House"])
def test_4_6_lists_are_neither_filtered_nor_sorted(client, path, query):
    assert client.get(f"{path}?{query}").json() == client.get(path).json()
