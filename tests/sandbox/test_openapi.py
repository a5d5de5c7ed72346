"""The OpenAPI description: whole, true of the routes, and true of what is answered."""

import json
import re

import pytest

from sandbox.api.operations import DESCRIPTION, OPERATIONS
from sandbox.app import BODY_METHODS
from tests.sandbox.conftest import Client
from tests.sandbox.schema_check import resolved, wrong


def test_every_route_is_described_and_nothing_else():
    described = [
        (method.upper(), path)
        for path, operations in DESCRIPTION["paths"].items()
        for method in operations
    ]
    assert sorted(described) == sorted((one.method, one.path) for one in OPERATIONS)


def test_a_body_is_described_where_a_route_takes_one_and_required_where_it_must_be():
    takes = [one for one in OPERATIONS if one.method in BODY_METHODS]
    assert [one.path for one in takes if not one.body] == ["/webhook/enabled"]
    assert [one.path for one in OPERATIONS if one.body and one not in takes] == []
    assert [one.path.rpartition("/")[2] for one in takes if one.body.endswith("?")] == [
        *("step", "reset", "advance", "input", "nudge", "visuals", "selection", "marketing"),
    ]
    assert [one.body for one in takes if one.body.startswith("object")] == ["object?"] * 5


def test_every_operation_has_a_summary():
    paths = DESCRIPTION["paths"].values()
    assert [one for by_method in paths for one in by_method.values() if not one["summary"]] == []


def test_the_description_is_served_without_a_token(box):
    answer = Client(box, token=None).get("/openapi.json")
    assert (answer.status_code, answer.json()) == (200, json.loads(json.dumps(DESCRIPTION)))
    assert list(box.calls) == []


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value
        for one in value.values():
            yield from references(one)
    if isinstance(value, list):
        for one in value:
            yield from references(one)


def test_every_reference_leads_to_a_schema_and_every_schema_is_used():
    used = {one["$ref"].rpartition("/")[2] for one in references(DESCRIPTION)}
    assert [one for one in references(DESCRIPTION) if not resolved(one)] == []
    assert used == set(DESCRIPTION["components"]["schemas"])


def test_every_word_of_a_path_is_a_parameter_and_every_name_is_unique():
    names = []
    for path, operations in DESCRIPTION["paths"].items():
        for operation in operations.values():
            names.append(operation["operationId"])
            words = [one["name"] for one in operation.get("parameters", []) if one["in"] == "path"]
            assert words == re.findall(r"\{(\w+)\}", path)
    assert len(names) == len(set(names)) == len(OPERATIONS)


def test_deprecated_paths_say_so():
    deprecated = [
        path
        for path, operations in DESCRIPTION["paths"].items()
        for one in operations.values()
        if one.get("deprecated")
    ]
    assert sorted(set(deprecated)) == [
        "/webhook",
        "/webhook/",
        "/webhook/enabled",
        "/webhook/history",
    ]


@pytest.mark.rule("2.3 all")
def test_every_event_that_is_sent_is_described(box, hooked, callback):
    order = hooked.order("11", "13", "17", "18")
    box.step()
    box.step()
    hooked.put(f"/v1/orders/{order['id']}/reschedule", json={"userId": "101"})
    while box.step():
        pass
    box.deliver()
    event = {"$ref": "#/components/schemas/Event"}
    assert [(one, wrong(one, event)) for one in callback.events if wrong(one, event)] == []
    assert len(set(callback.kinds())) == 7
    assert wrong(callback.events[0] | {"orderId": 5}, event) == ["$"]


def test_the_check_of_schemas_can_fail():
    order = {"$ref": "#/components/schemas/Order"}
    assert wrong({"id": 1, "status": "LOST", "assignments": [{}]}, order) == [
        *("$.createdAt", "$.userId", "$.realEstatePropertyId", "$.id", "$.status"),
        *("$.assignments[0].id", "$.assignments[0].orderId", "$.assignments[0].status"),
        "$.assignments[0].products",
    ]


@pytest.mark.parametrize("path", ["/v1/orders/{orderId}", "/v1/webhooks", "/v1/webhooks/triggers"])
def test_an_answer_fits_its_description(box, hooked, callback, path):
    order = hooked.order("11", "17")
    box.step()
    callback.status = 500
    box.deliver()
    answer = hooked.get(path.format(orderId=order["id"]))
    schema = DESCRIPTION["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
    assert wrong(answer.json(), schema["schema"]) == []
