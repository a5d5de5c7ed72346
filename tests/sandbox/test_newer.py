"""A newer platform: fields, values and events that the interface does not list (§9)."""

from __future__ import annotations

import pytest

from tests.sandbox.test_faults import ONE, faults, ready

MORE = {"newerField": {"of": "a later version"}}


def test_a_newer_platform_answers_with_more_fields_in_every_object(client):
    order = client.order("11")
    faults(client, {"fault": "NEWER_ANSWER"})
    shown = client.get(f"/v1/orders/{order['id']}").json()
    assert shown == order | {"assignments": [order["assignments"][0] | MORE]} | MORE
    assert client.get(f"/v1/orders/{order['id']}/assignments").json() == shown["assignments"]
    assert {one["newerField"]["of"] for one in client.get("/v1/users").json()["content"]} == {
        "a later version"
    }
    assert client.get("/v1/orders/0").json()["newerField"] == MORE["newerField"]


def test_a_newer_platform_leaves_what_others_named_as_it_is(box, hooked):
    hooked.patch(ONE, json={"customFields": {"a": "b"}})
    ready(box, "LINKEDIN")
    box.deliver()
    before = box.workspace.history[0]
    faults(hooked, {"fault": "NEWER_ANSWER"})
    assert hooked.get(ONE).json()["customFields"] == {"a": "b"}
    assert hooked.get("/v1/webhooks/triggers").json() == [before | MORE]


NEWER = "VALUE_OF_A_LATER_VERSION"


@pytest.mark.parametrize(("fault", "value"), [("NEWER_ENUM", NEWER), ("UNKNOWN_ENUM", "UNKNOWN")])
def test_9_rule_3_property_enums_may_be_newer_than_the_interface(client, fault, value):
    client.patch(ONE, json={"heatingType": "GAS", "parkingLots": [{"type": "PARKING_CARPORT"}]})
    before = client.get(ONE).json()
    faults(client, {"fault": fault})
    assert client.get(ONE).json() == before | {
        "availabilityState": value,
        "heatingType": value,
        "parkingLots": [{"type": value}],
        "prices": before["prices"] | {"rent": before["prices"]["rent"] | {"interval": value}},
        "propertyCategories": [value],
        "propertyType": value,
        "rooms": [one | {"type": value} for one in before["rooms"]],
    }


@pytest.mark.parametrize(("fault", "value"), [("NEWER_ENUM", NEWER), ("UNKNOWN_ENUM", "UNKNOWN")])
def test_9_rule_3_statuses_may_be_newer_than_the_interface(client, fault, value):
    order = client.order("11")
    faults(client, {"fault": fault})
    shown = client.get(f"/v1/orders/{order['id']}").json()
    assert (shown["status"], shown["assignments"][0]["status"]) == (value, value)
    client.post("/_sandbox/faults", json={})
    assert client.get(f"/v1/orders/{order['id']}").json() == order


def test_a_newer_enum_can_be_narrowed_to_a_field(client):
    before = client.get(ONE).json()
    faults(client, {"fault": "NEWER_ENUM", "field": "availabilityState"})
    assert client.get(ONE).json() == before | {"availabilityState": NEWER}


@pytest.mark.parametrize(("fault", "value"), [("NEWER_VALUE", NEWER), ("UNKNOWN_VALUE", "UNKNOWN")])
def test_9_rule_3_an_event_may_tell_a_status_that_the_interface_does_not_list(
    box, hooked, callback, fault, value
):
    order = hooked.order("17")
    faults(hooked, {"fault": fault})
    box.step()
    (waiting,) = box.pending
    box.deliver()
    assert callback.events == [waiting | {"newStatus": value, "actionRequired": value}]
    assert hooked.get(f"/v1/orders/{order['id']}").json()["assignments"][0]["status"] == (
        "ACTION_REQUIRED"
    )


def test_a_newer_platform_sends_more_fields_and_more_events(box, hooked, callback):
    faults(hooked, {"fault": "NEWER_FIELD", "times": 1}, {"fault": "NEWER_EVENT", "times": 1})
    ready(box, "LINKEDIN", "INSTAGRAM")
    assert (box.deliver(), callback.kinds()) == (
        *(3, ["MARKETING_MATERIALS_READY", "ORDER_NOTE_ADDED", "MARKETING_MATERIALS_READY"]),
    )
    assert callback.events[0]["newerField"] == {"of": "a later version"}
    assert callback.requests[1]["headers"]["X-Event-Type"] == "ORDER_NOTE_ADDED"
