"""Lists of properties and users, page by page (§2.4 to §2.6, §8)."""

from __future__ import annotations

import json

import pytest

from sandbox.interface.fields import PROPERTY
from tests.sandbox.conftest import refusal

ONE = "/v1/real-estate-properties/201"


def test_2_4_a_list_item_has_five_fields(client):
    page = client.get("/v1/real-estate-properties").json()
    assert [set(one) for one in page["content"]] == [
        {"id", "title", "propertyType", "address", "objectReferenceId"}
    ] * 2


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


def test_2_6_a_page_past_the_last_is_empty(client):
    page = client.get("/v1/users?page=9").json()
    assert page == {
        "content": [],
        "totalElements": 3,
        "totalPages": 1,
        "first": False,
        "last": True,
    }


def test_8_a_page_has_50_entries_by_default_and_100_at_most(box, client):
    for number in range(120):
        box.workspace.properties[f"p{number}"] = {"id": f"p{number}"}
    assert len(client.get("/v1/real-estate-properties").json()["content"]) == 50
    assert len(client.get("/v1/real-estate-properties?size=100").json()["content"]) == 100
    assert refusal(client.get("/v1/real-estate-properties?size=101")) == (400, ["size"])


@pytest.mark.parametrize("query", ["page=-1", "page=x", "page=1_0", "size=0", "size=", "page=1.0"])
def test_a_page_that_is_no_number_is_refused_by_name(client, query):
    assert refusal(client.get(f"/v1/users?{query}")) == (400, [query.partition("=")[0]])


def test_2_5_users_have_their_seven_fields(client):
    page = client.get("/v1/users").json()
    assert page["content"][0] == {
        "id": "101",
        "userReferenceId": "AGENT-1",
        "email": "agent.one@example.com",
        "name": "Agent One",
        "language": "de",
        "phone": "+49 30 0000 0001",
        "country": "DE",
    }
    assert (page["totalElements"], page["totalPages"], page["first"], page["last"]) == (3, 1, 1, 1)


def test_the_field_table_holds_76_fields_at_top_level():
    assert len(PROPERTY) == 76
    assert PROPERTY["seller"].members["organization"].members["address"].members["geo"].members
    assert len(PROPERTY["propertyCategories"].values) == 98


def test_every_field_of_the_seeded_properties_is_in_the_table(box):
    unknown = [
        name for one in box.workspace.properties.values() for name in one if name not in PROPERTY
    ]
    assert unknown == []


def test_the_answers_are_json_that_a_client_can_read_alone(client):
    assert json.loads(client.get(ONE).content)["id"] == "201"
