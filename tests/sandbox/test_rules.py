"""Rules of resources and endpoints (§1 to §4) that stand in no other file here."""

import uuid

import pytest

from sandbox.interface.property_fields import PROPERTY, Field
from tests.sandbox.conftest import finished, refusal

NOW = "2026-03-02T08:30:00.000000Z"
ONE = "/v1/real-estate-properties/201"


# §1, §2


@pytest.mark.rule("2 optional")
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


@pytest.mark.rule(
    "2.2 id; triggeredAt; payload; headers; statusCode; responseBody; errorMessage",
    "2.2 success",
    "6.1 rule 3; rule 4",
    "7 non-2xx",
    "8 response body; error message",
)
@pytest.mark.parametrize("status", [200, 201, 204, 302, 400, 401, 500])
def test_2_2_a_record_field_by_field_and_only_a_failure_keeps_the_answer(
    box, hooked, callback, status
):
    callback.status, callback.body = status, "bööm".encode()
    box.marketing_ready("201", "LINKEDIN")
    box.deliver()
    (record,) = hooked.get("/v1/webhooks/triggers").json()
    assert uuid.UUID(record.pop("id"))
    failed = {"responseBody": "bööm", "errorMessage": f"The callback answered {status}"}
    assert record == {
        "triggeredAt": NOW,
        "payload": callback.events[0],
        "headers": {"X-Event-Type": "MARKETING_MATERIALS_READY"},
        "statusCode": status,
        "success": status < 300,
        **({} if status < 300 else failed),
    }
    assert (box.deliver(), len(callback.requests)) == (0, 1)  # nothing is retried (§6.1 rule 4)


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


@pytest.mark.rule(
    "2.4 all; References; Availability; Classification; Areas and counts",
    "2.4 Heating and energy; Prices; Listing",
    "4.6 POST; PATCH",
    "9 rule 5",
)
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


@pytest.mark.rule(
    "2.4 References; Availability; Classification; Areas and counts; Heating and energy",
    "2.4 Prices; Amenities; Listing; Read-only; rule is",
)
@pytest.mark.parametrize("group", PRINTED)
def test_2_4_every_name_that_the_document_prints_is_a_field(group):
    assert [name for name in PRINTED[group].split() if name not in PROPERTY] == []


def booleans(members: dict[str, Field]) -> list[str]:
    below = [name for one in members.values() for name in booleans(one.members)]
    return [name for name, one in members.items() if one.kind == "boolean"] + below


@pytest.mark.rule("2.4 rule is", "9 rule 5")
def test_2_4_booleans_begin_with_is():
    assert len(booleans(PROPERTY)) >= 6
    assert [name for name in booleans(PROPERTY) if not name.startswith("is")] == []


@pytest.mark.rule("2.4 Amenities")
@pytest.mark.parametrize("value", ["APPLIES", "DOES_NOT_APPLY", "UNKNOWN"])
def test_2_4_a_characteristic_has_one_of_three_values(box, client, value):
    for name in PROPERTY["characteristics"].members:
        changed = client.patch(ONE, json={"characteristics": {name: value}}).json()
        assert changed["characteristics"][name] == value
    answer = client.patch(ONE, json={"characteristics": {"hasElevator": "YES"}})
    assert refusal(answer) == (400, ["characteristics.hasElevator"])


@pytest.mark.rule("2.4 rule UNKNOWN")
def test_2_4_an_enum_reads_as_unknown_when_what_is_stored_is_newer(box, client):
    box.workspace.properties["201"] |= {"heatingType": "UNKNOWN"}
    assert client.get(ONE).json()["heatingType"] == "UNKNOWN"
    assert client.patch(ONE, json={"title": "Other"}).json()["heatingType"] == "UNKNOWN"


# §4


@pytest.mark.rule("4 all")
def test_4_addresses_begin_with_the_base_address(box, client):
    (assignment,) = finished(box, client, "11")["assignments"]
    path = f"/v1/orders/{assignment['orderId']}/assignments/{assignment['id']}/materials"
    (found,) = client.get(path).json()["materials"]
    assert found["url"].startswith("http://sandbox.test/files/")
    assert found["thumbnailUrl"].startswith("http://sandbox.test/files/")


@pytest.mark.rule("2.4 rule list", "4.6 GET properties")
def test_2_4_a_list_item_has_five_fields(client):
    page = client.get("/v1/real-estate-properties").json()
    assert [set(one) for one in page["content"]] == [
        {"id", "title", "propertyType", "address", "objectReferenceId"}
    ] * 2


@pytest.mark.rule(
    "1 properties, users",
    "2.6 totalElements; totalPages; first; last; items",
    "4.6 GET properties; page",
    "8 page index",
)
def test_2_6_pages_are_zero_based(box, client):
    for number in range(5):
        box.workspace.properties[f"p{number}"] = {"id": f"p{number}"}
    page = client.get("/v1/real-estate-properties", params={"page": 2, "size": 3}).json()
    assert page == {
        "content": [{"id": "p4"}],
        "totalElements": 7,
        "totalPages": 3,
        "first": False,
        "last": True,
    }
    page = client.get("/v1/real-estate-properties", params={"size": 3}).json()
    assert (len(page["content"]), page["first"], page["last"]) == (3, True, False)


@pytest.mark.rule("4.6 size", "8 page size")
def test_8_a_page_has_50_entries_by_default_and_100_at_most(box, client):
    for number in range(120):
        box.workspace.properties[f"p{number}"] = {"id": f"p{number}"}
    assert len(client.get("/v1/real-estate-properties").json()["content"]) == 50
    assert len(client.get("/v1/real-estate-properties?size=100").json()["content"]) == 100
    assert refusal(client.get("/v1/real-estate-properties?size=101")) == (400, ["size"])


def test_the_field_table_holds_76_fields_at_top_level():
    assert len(PROPERTY) == 76
    assert PROPERTY["seller"].members["organization"].members["address"].members["geo"].members
    assert len(PROPERTY["propertyCategories"].values) == 98


def test_every_field_of_the_seeded_properties_is_in_the_table(box):
    unknown = [
        name for one in box.workspace.properties.values() for name in one if name not in PROPERTY
    ]
    assert unknown == []


def test_a_document_written_into_the_state_is_served(box, client):
    box.workspace.properties["7"] = {"id": "7", "objectReferenceId": "R7"}
    box.workspace.properties["201"].update(heatingType="UNKNOWN", objectReferenceId="R1")
    assert client.get("/v1/real-estate-properties/by-reference/R1").json()["id"] == "201"
    assert client.get("/v1/real-estate-properties/by-reference/SEED-1").status_code == 404
    assert client.get("/v1/real-estate-properties/by-reference/R7").json()["id"] == "7"
    assert client.get(ONE).json()["heatingType"] == "UNKNOWN"


@pytest.mark.rule("7 255", "8 texts")
@pytest.mark.parametrize("name", ["title", "displayReferenceId", "author"])
def test_7_a_text_longer_than_255_characters_is_refused_by_name(box, client, name):
    before = box.workspace.to_json()
    assert refusal(client.patch(ONE, json={"areaUsable": 1, name: "x" * 256})) == (400, [name])
    assert box.workspace.to_json() == before


@pytest.mark.rule("8 texts")
def test_8_a_text_of_255_characters_is_taken_and_long_texts_have_no_limit(client):
    long = {
        "title": "ä" * 255,
        "localizations": [{"languageCode": "de", "description": "ä" * 5_000}],
    }
    shown = client.patch(ONE, json=long).json()
    assert shown == shown | long == client.get(ONE).json()
