"""The states and transitions (§3); more of them in rules/orders.txt and rules/events.txt."""

import json

import pytest

from sandbox.app import Sandbox
from sandbox.interface.lifecycle import (
    DOCUMENT_MOVES,
    ORDER_MOVES,
    PHOTO_MOVES,
    next_order_status,
    next_status,
)
from sandbox.state.workspace import Workspace
from tests.sandbox.conftest import Client, placed, status

PHOTO, PLAN, ENERGY = "11", "13", "17"


@pytest.mark.rule("3.1 values")
def test_3_1_the_table_of_order_moves():
    assert ORDER_MOVES == {
        "PLACED": ("IN_PROGRESS", "CANCELLED"),
        "IN_PROGRESS": ("COMPLETED", "CANCELLED"),
        "COMPLETED": (),
        "CANCELLED": (),
    }
    assert next_order_status("PLACED", []) is None
    assert next_order_status("PLACED", ["ON_HOLD"]) == "IN_PROGRESS"


@pytest.mark.rule("3.2 any → CANCELLED")
@pytest.mark.parametrize(
    ("product", "start"),
    [(PHOTO, one) for one in PHOTO_MOVES if PHOTO_MOVES[one]]
    + [(ENERGY, one) for one in DOCUMENT_MOVES if DOCUMENT_MOVES[one]],
)
def test_3_2_any_status_that_is_not_terminal_can_be_cancelled(box, client, product, start):
    order, (only,) = placed(client, product)
    box.set_status(only, start)
    client.put(f"/v1/orders/{order['id']}/cancel", json={"userReferenceId": "AGENT-1"})
    assert client.get(f"/v1/assignments/{only}").json()["status"] == "CANCELLED"


@pytest.mark.rule("3.2 values")
def test_3_2_the_tables_of_assignment_moves():
    assert {one: set(to) for one, to in PHOTO_MOVES.items()} == {
        "CREATED": {"PHOTOGRAPHER_ASSIGNED", "CANCELLED"},
        "PHOTOGRAPHER_ASSIGNED": {"SCHEDULED", "RESCHEDULE_IN_PROCESS", "CANCELLED"},
        "SCHEDULED": {"IN_PRODUCTION", "RESCHEDULE_IN_PROCESS", "CANCELLED"},
        "RESCHEDULE_IN_PROCESS": {"PHOTOGRAPHER_ASSIGNED", "CANCELLED"},
        "IN_PRODUCTION": {"DELIVERED", "CANCELLED"},
        "DELIVERED": set(),
        "CANCELLED": set(),
    }
    assert {one: set(to) for one, to in DOCUMENT_MOVES.items()} == {
        "CREATED": {"ACTION_REQUIRED", "IN_PROCESS", "CANCELLED"},
        "ACTION_REQUIRED": {"CREATED", "CANCELLED"},
        "IN_PROCESS": {"DELIVERED", "CANCELLED"},
        "DELIVERED": set(),
        "CANCELLED": set(),
    }
    assert next_status("PHOTO", "ON_HOLD") is None


def test_the_autopilot_moves_every_open_order_one_step(box, client):
    first, _ = placed(client, PHOTO, ENERGY)
    second, _ = placed(client, PLAN)
    moved = []
    while count := box.step():
        moved.append(count)
    assert moved == [3, 3, 3, 3]
    assert [status(client, one["id"]) for one in (first, second)] == ["COMPLETED"] * 2


def test_a_reference_names_the_same_property_after_a_restart(box, client):
    first, second = (
        client.post("/v1/real-estate-properties", json=body).json()["id"]
        for body in ({}, {"objectReferenceId": "A"})
    )
    client.patch(f"/_sandbox/properties/{first}", json={"objectReferenceId": "A"})
    path = "/v1/real-estate-properties/by-reference/A"
    assert client.get(path).json()["id"] == first
    state = json.loads(json.dumps(box.workspace.to_json()))
    later = Client(Sandbox(token="test-token", workspace=Workspace.from_json(state)))
    assert later.get(path).json()["id"] == first
    client.patch(f"/_sandbox/properties/{first}", json={"objectReferenceId": "B"})
    assert client.get(path).json()["id"] == second
