"""Properties (§2.4, §4.6) and lists."""

from __future__ import annotations

import copy

import pytest

from sandbox.app import Sandbox
from tests.sandbox.conftest import Client, refusal

ONE = "/v1/real-estate-properties/201"


def patched(client, changes: dict) -> dict:
    answer = client.patch(ONE, json=changes)
    assert answer.status_code == 200, answer.text
    assert client.get(ONE).json() == answer.json()
    return answer.json()


def refused(box, client, changes: dict) -> list[str]:
    """The fields that a 400 names; the property is as it was."""
    before = copy.deepcopy(box.workspace.properties["201"])
    status, fields = refusal(client.patch(ONE, json=changes))
    assert status == 400
    assert box.workspace.properties["201"] == before
    return fields


def test_4_6_rule_1_a_field_left_out_or_null_keeps_its_value(client):
    before = client.get(ONE).json()
    assert patched(client, {"title": None, "numberOfRooms": 4.5}) == before | {"numberOfRooms": 4.5}


def test_4_6_rule_1_null_inside_a_merged_object_keeps_too(client):
    prices = client.get(ONE).json()["prices"]
    assert patched(client, {"prices": {"currency": None, "rent": None}})["prices"] == prices


def test_4_6_rule_2_lists_are_replaced_as_a_whole(client):
    patched(client, {"propertyCategories": ["LOFT", "ATELIER"]})
    assert patched(client, {"propertyCategories": ["VILLA"]})["propertyCategories"] == ["VILLA"]


def test_4_6_rule_2_an_empty_list_empties(client):
    assert patched(client, {"localizations": []})["localizations"] == []


def test_4_6_rule_2_maps_are_replaced_as_a_whole_and_an_empty_one_empties(client):
    patched(client, {"customFields": {"a": "1", "b": "2"}})
    assert patched(client, {"customFields": {"c": "3"}})["customFields"] == {"c": "3"}
    assert patched(client, {"customFields": {}})["customFields"] == {}


def test_a11_an_address_is_replaced_as_a_whole(client):
    assert patched(client, {"address": {"street": "New"}})["address"] == {"street": "New"}


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("characteristics", {"hasElevator": "APPLIES"}, {"hasSauna": "DOES_NOT_APPLY"}),
        ("energyCertificate", {"type": "ENERGY_REQUIRED"}, {"co2Emissions": 12.5}),
        ("prices", {"currency": "CHF"}, {"deposit": {"amount": 900}}),
        ("swissReferences", {"egid": "1"}, {"ewid": "2"}),
    ],
)
def test_4_6_rule_3_four_objects_are_merged_field_by_field(box, client, name, first, second):
    box.workspace.properties["201"] = {"id": "201"}
    patched(client, {name: first})
    assert patched(client, {name: second}) == {"id": "201", name: first | second}


def test_a10_prices_merge_deep_and_lists_inside_are_replaced(client):
    offer = {"type": "PARKING_CARPORT", "price": 50}
    patched(client, {"prices": {"additionalOffers": [offer, offer]}})
    after = patched(client, {"prices": {"rent": {"net": 1450}, "additionalOffers": [offer]}})
    assert after["prices"] == {
        "currency": "EUR",
        "rent": {"gross": 1650, "net": 1450, "interval": "MONTH"},
        "additionalOffers": [offer],
    }


def test_4_6_rule_3_an_empty_merged_object_changes_nothing(client):
    before = client.get(ONE).json()
    assert patched(client, {"characteristics": {}, "prices": {"rent": {}}}) == before


def test_4_6_rule_3_an_empty_merged_object_brings_none_where_there_was_none(box, client):
    box.workspace.properties["201"] = {"id": "201"}
    empty = {"characteristics": {}, "prices": {"rent": {}, "buy": {"price": None}}}
    assert patched(client, empty) == {"id": "201"}
    answer = client.post("/v1/real-estate-properties", json=empty)
    assert answer.json() == {"id": "1001"}


def test_a12_an_empty_text_keeps_what_is_there_as_null_does(box, client):
    address = {"street": "New", "region": "", "geo": {"latitude": None}}
    patched(client, {"address": {"street": "Old", "region": "ZH"}})
    before = client.get(ONE).json()
    changes = {"title": "", "swissReferences": {"egid": ""}, "objectReferenceId": ""}
    assert patched(client, {**changes, "numberOfRooms": 5}) == before | {"numberOfRooms": 5}
    # What is replaced as a whole holds only what was sent (A11), a map also what is empty.
    after = patched(client, {"address": address, "customFields": {"a": ""}})
    assert (after["address"], after["customFields"]) == ({"street": "New"}, {"a": ""})
    after = patched(client, {"localizations": [{"languageCode": "de", "description": ""}]})
    assert after["localizations"] == [{"languageCode": "de"}]
    assert refused(box, client, {"heatingType": "", "availabilityStartAt": ""}) == [
        "heatingType",
        "availabilityStartAt",
    ]
    answer = client.post("/v1/real-estate-properties", json={"title": "", "author": "A"})
    assert answer.json() == {"id": "1001", "author": "A"}


def test_4_6_rule_2_an_empty_object_empties_what_is_replaced_as_a_whole(client):
    assert patched(client, {"address": {}})["address"] == {}


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"heatingType": "UNKNOWN"}, ["heatingType"]),
        ({"prices": {"rent": {"interval": "UNKNOWN"}}}, ["prices.rent.interval"]),
        ({"propertyCategories": ["LOFT", "UNKNOWN"]}, ["propertyCategories[1]"]),
        ({"parkingLots": [{"type": "UNKNOWN"}]}, ["parkingLots[0].type"]),
        ({"conditions": "UNKNOWN"}, ["conditions"]),
    ],
)
def test_4_6_rule_4_unknown_is_refused_by_name(box, client, changes, fields):
    assert refused(box, client, {"title": "Other", **changes}) == fields


def test_4_6_rule_4_unknown_is_a_value_inside_characteristics(client):
    after = patched(client, {"characteristics": {"hasElevator": "UNKNOWN"}})
    assert after["characteristics"] == {"hasElevator": "UNKNOWN", "hasBalcony": "APPLIES"}


def test_4_6_rule_5_rooms_cannot_be_set_and_number_of_rooms_can(box, client):
    assert refused(box, client, {"rooms": [], "numberOfRooms": 5}) == ["rooms"]
    assert (
        patched(client, {"numberOfRooms": 5})["rooms"] == box.workspace.properties["201"]["rooms"]
    )


@pytest.mark.parametrize(
    "changes",
    [{"title": "x" * 256}, {"displayReferenceId": "x" * 256}, {"author": "x" * 256}],
)
def test_7_a_text_longer_than_255_characters_is_refused_by_name(box, client, changes):
    assert refused(box, client, changes) == list(changes)


def test_8_a_text_of_255_characters_is_taken_and_long_texts_have_no_limit(client):
    long = [{"languageCode": "de", "description": "ä" * 5_000}]
    after = patched(client, {"title": "ä" * 255, "localizations": long})
    assert (after["title"], after["localizations"]) == ("ä" * 255, long)


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"title": 5}, ["title"]),
        ({"numberOfRooms": "3"}, ["numberOfRooms"]),
        ({"numberOfRooms": True}, ["numberOfRooms"]),
        ({"numberOfRooms": 10**30}, ["numberOfRooms"]),
        ({"numberOfBedrooms": 1.5}, ["numberOfBedrooms"]),
        ({"isFurnished": "true"}, ["isFurnished"]),
        ({"heatingType": "MAGIC"}, ["heatingType"]),
        ({"heatingType": ["GAS"]}, ["heatingType"]),
        ({"availabilityStartAt": "soon"}, ["availabilityStartAt"]),
        ({"availabilityStartAt": "2026-02-30"}, ["availabilityStartAt"]),
        ({"energyCertificate": {"issuedAt": "2026-13-01"}}, ["energyCertificate.issuedAt"]),
        ({"prices": []}, ["prices"]),
        ({"address": "Street 1"}, ["address"]),
        ({"localizations": {}}, ["localizations"]),
        ({"localizations": ["de"]}, ["localizations[0]"]),
        ({"customFields": {"a": 1}}, ["customFields.a"]),
        ({"customFields": []}, ["customFields"]),
        ({"id": "7"}, ["id"]),
        ({"title": 5, "is24Id": 6}, ["title", "is24Id"]),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_by_name(box, client, changes, fields):
    assert refused(box, client, {"areaUsable": 1, **changes}) == fields


@pytest.mark.parametrize("text", ["2026-05-01", "2026-05-01T10:00:00Z", "2026-05-01T10:00+02:00"])
def test_a_datetime_field_takes_dates_and_timestamps(client, text):
    assert patched(client, {"availabilityStartAt": text})["availabilityStartAt"] == text


def test_an_unknown_field_is_left_out(client):
    before = client.get(ONE).json()
    assert patched(client, {"newField": 1, "prices": {"newMember": 1}}) == before


def test_an_unknown_field_is_refused_with_the_flag():
    box = Sandbox(token="test-token", switches={"unknownFields": "refused"})
    changes = {"newField": 1, "prices": {"newMember": 1}}
    assert refused(box, Client(box), changes) == ["newField", "prices.newMember"]


def test_4_6_create_takes_no_field_at_all_and_returns_the_property(box, client):
    answer = client.post("/v1/real-estate-properties", json={})
    assert (answer.status_code, answer.json()) == (201, {"id": "1001"})
    assert box.workspace.properties["1001"] == {"id": "1001"}


def test_a45_create_with_a_reference_that_exists_is_a_conflict(box, client):
    answer = client.post("/v1/real-estate-properties", json={"objectReferenceId": "SEED-1"})
    assert refusal(answer) == (409, [])
    assert list(box.workspace.properties) == ["201", "202"]


def test_4_6_both_reads_return_the_full_property(box, client):
    by_reference = client.get("/v1/real-estate-properties/by-reference/SEED-1")
    assert (by_reference.status_code, by_reference.json()) == (200, client.get(ONE).json())
    assert by_reference.json() == box.workspace.properties["201"]
    assert "rooms" in by_reference.json()


@pytest.mark.parametrize("path", ["/999", "/by-reference/NONE"])
@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_a3_an_unknown_property_is_404_and_creates_nothing(box, client, method, path):
    answer = client.request(method, f"/v1/real-estate-properties{path}", json={"title": "x"})
    assert refusal(answer) == (404, [])
    assert list(box.workspace.properties) == ["201", "202"]


def test_4_6_patch_by_reference_finds_a_reference_that_was_changed(client):
    by_reference = "/v1/real-estate-properties/by-reference"
    patched(client, {"objectReferenceId": "Ä B&1"})
    assert client.patch(f"{by_reference}/%C3%84%20B%261", json={"title": "T"}).json()["id"] == "201"
    assert client.get(f"{by_reference}/SEED-1").status_code == 404


def test_a44_of_two_with_one_reference_the_first_is_read(box, client):
    box.edit_property("202", {"objectReferenceId": "SEED-1"})
    by_reference = "/v1/real-estate-properties/by-reference/SEED-1"
    assert client.get(by_reference).json()["id"] == "201"
    box.edit_property("201", {"objectReferenceId": "OTHER"})
    assert client.get(by_reference).json()["id"] == "202"


def test_a_document_written_into_the_state_is_served(box, client):
    box.workspace.properties["7"] = {"id": "7", "objectReferenceId": "R7"}
    box.workspace.properties["201"].update(heatingType="UNKNOWN", objectReferenceId="R1")
    assert client.get("/v1/real-estate-properties/by-reference/R1").json()["id"] == "201"
    assert client.get("/v1/real-estate-properties/by-reference/SEED-1").status_code == 404
    assert client.get("/v1/real-estate-properties/by-reference/R7").json()["id"] == "7"
    assert client.get(ONE).json()["heatingType"] == "UNKNOWN"


def test_somebody_on_the_platform_edits_with_the_same_merge_rules_and_may_set_rooms(box, client):
    before = client.get(ONE).json()
    box.edit_property("201", {"prices": {"rent": {"net": 1}}, "title": None, "rooms": []})
    prices = {"currency": "EUR", "rent": {"gross": 1650, "net": 1, "interval": "MONTH"}}
    assert client.get(ONE).json() == before | {"prices": prices, "rooms": []}
