"""From a session to an order, its details, materials, reschedule and cancel (§4.3 to §4.5)."""

from __future__ import annotations

import pytest

from tests.sandbox.conftest import refusal

INSTRUCTIONS = {"billing": "21", "organization": "31", "delivery": "41"}


def session_id(client):
    body = {"userReferenceId": "AGENT-2", "objectReferenceId": "SEED-2"}
    return client.post("/v1/sessions", json=body).json()["id"]


def order_body(session, **changes):
    products = [{"id": "11", "quantity": 2}, {"id": "13"}]
    return {"sessionId": session, "products": products, "instructions": INSTRUCTIONS, **changes}


@pytest.mark.parametrize("user", [{"userId": "102"}, {"userReferenceId": "AGENT-2"}])
@pytest.mark.parametrize(
    "place", [{"realEstatePropertyId": "202"}, {"objectReferenceId": "SEED-2"}]
)
def test_4_3_a_session_is_opened_for_a_user_and_a_property(client, user, place):
    answer = client.post("/v1/sessions", json=user | place)
    body = answer.json()
    assert isinstance(body.pop("id"), str)
    assert (answer.status_code, body) == (
        201,
        {
            "expiresAt": "2026-03-02T09:30:00.000000Z",
            "userId": "102",
            "realEstatePropertyId": "202",
            "objectReferenceId": "SEED-2",
        },
    )


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ({"userId": "999", "realEstatePropertyId": "201"}, (404, [])),
        ({"userId": "101", "realEstatePropertyId": "999"}, (404, [])),
        ({"userId": "101", "objectReferenceId": "NONE"}, (404, [])),
        ({"realEstatePropertyId": "201"}, (400, ["userId", "userReferenceId"])),
        (
            {"userId": "101", "userReferenceId": "AGENT-1", "realEstatePropertyId": "201"},
            (400, ["userId", "userReferenceId"]),
        ),
        ({"userId": "101"}, (400, ["realEstatePropertyId", "objectReferenceId"])),
        ({"userId": 101, "realEstatePropertyId": "201"}, (400, ["userId"])),
        (
            {"userId": "101", "realEstatePropertyId": "201", "objectReferenceId": "SEED-2"},
            (400, ["objectReferenceId"]),
        ),
    ],
)
def test_a30_a_session_for_nobody_or_nothing_is_refused(box, client, body, refused):
    assert refusal(client.post("/v1/sessions", json=body)) == refused
    assert box.workspace.sessions == {}


def test_4_3_the_products_of_a_session_have_kinds_and_prices(client):
    answer = client.get(f"/v1/sessions/{session_id(client)}/products")
    products = answer.json()["products"]
    assert answer.status_code == 200
    assert products[0] == {
        "id": "11",
        "product": "GROUND_PHOTO",
        "name": "Ground photos",
        "kind": "PHOTO",
        "price": {"amount": 249.0, "currency": "EUR"},
    }
    assert [(one["product"], one["kind"]) for one in products] == [
        ("GROUND_PHOTO", "PHOTO"),
        ("DRONE_PHOTO", "PHOTO"),
        ("FLOOR_PLAN", "FLOOR_PLAN"),
        ("PROPERTY_VIDEO", "VIDEO"),
        ("VIRTUAL_TOUR", "TOUR"),
        ("RESIDENTIAL_STAGING", "STAGING"),
        ("ENERGY_CERTIFICATE", "DOCUMENT"),
        ("LAND_REGISTER_EXTRACT", "DOCUMENT"),
    ]


def test_4_3_instructions_have_three_parts(client):
    path = f"/v1/sessions/{session_id(client)}/instructions"
    answer = client.post(path, json={"products": [{"id": "11", "quantity": 1}]})
    assert (answer.status_code, list(answer.json())) == (200, list(INSTRUCTIONS))
    assert answer.json()["delivery"] == [
        {"id": "41", "label": "Download"},
        {"id": "42", "label": "Download and e-mail"},
    ]


def test_4_3_post_orders_places_the_order_of_a_session(box, client):
    answer = client.post("/v1/orders", json=order_body(session_id(client)))
    common = {"orderId": "1001", "status": "CREATED"}
    assert (answer.status_code, answer.json()) == (
        201,
        {
            "id": "1001",
            "status": "PLACED",
            "createdAt": "2026-03-02T08:30:00.000000Z",
            "userId": "102",
            "realEstatePropertyId": "202",
            "assignments": [
                {"id": "1002", **common, "assignmentType": "PHOTO", "products": ["GROUND_PHOTO"]},
                {
                    "id": "1003",
                    **common,
                    "assignmentType": "FLOOR_PLAN",
                    "products": ["FLOOR_PLAN"],
                },
            ],
            "objectReferenceId": "SEED-2",
        },
    )
    assert client.get("/v1/orders/1001").json() == answer.json()
    assert client.get("/v1/orders/1001/assignments").json() == answer.json()["assignments"]  # A36
    assert client.get("/v1/assignments/1002").json() == answer.json()["assignments"][0]
    assert box.workspace.orders["1001"]["assignments"] == ["1002", "1003"]


def test_a33_a_session_serves_one_order(box, client):
    session = session_id(client)
    assert client.post("/v1/orders", json=order_body(session)).status_code == 201
    assert refusal(client.post("/v1/orders", json=order_body(session))) == (409, [])
    assert list(box.workspace.orders) == ["1001"]


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"sessionId": None}, (400, ["sessionId"])),
        ({"sessionId": "none"}, (404, [])),
        ({"products": []}, (400, ["products"])),
        ({"products": {"id": "11"}}, (400, ["products"])),
        ({"products": ["11"]}, (400, ["products[0]"])),
        ({"products": [{"id": "99"}]}, (400, ["products[0].id"])),
        ({"products": [{"id": 11}]}, (400, ["products[0].id"])),
        ({"products": [{"id": "11", "quantity": 0}]}, (400, ["products[0].quantity"])),
        ({"products": [{"id": "11", "quantity": True}]}, (400, ["products[0].quantity"])),
        ({"instructions": None}, (400, ["instructions"])),
        ({"instructions": {"billing": "21"}}, (400, ["instructions.organization"])),
        ({"instructions": INSTRUCTIONS | {"delivery": "21"}}, (400, ["instructions.delivery"])),
    ],
)
def test_a33_an_order_that_cannot_be_is_refused_and_the_session_stays(
    box, client, changes, refused
):
    session = session_id(client)
    assert refusal(client.post("/v1/orders", json=order_body(session, **changes))) == refused
    assert (box.workspace.orders, box.workspace.assignments) == ({}, {})
    assert client.post("/v1/orders", json=order_body(session)).status_code == 201


def test_a31_an_expired_session_is_gone(client, clock):
    session = session_id(client)
    clock.move(hours=1)
    assert refusal(client.get(f"/v1/sessions/{session}/products")) == (410, [])
    assert refusal(client.post("/v1/orders", json=order_body(session))) == (410, [])


@pytest.mark.parametrize("action", ["reschedule", "cancel"])
@pytest.mark.parametrize("user", [{}, {"userId": "101", "userReferenceId": "AGENT-1"}])
def test_4_4_reschedule_and_cancel_take_exactly_one_acting_user(box, client, action, user):
    order = client.order("11")
    box.advance(order["assignments"][0]["id"])
    answer = client.put(f"/v1/orders/{order['id']}/{action}", json=user)
    assert refusal(answer) == (400, ["userId", "userReferenceId"])
    assert box.workspace.orders[order["id"]]["status"] == "IN_PROGRESS"


@pytest.mark.parametrize("action", ["reschedule", "cancel"])
def test_4_4_an_unknown_order_user_or_assignment_is_404(client, action):
    order = client.order("11")
    path = f"/v1/orders/{order['id']}/{action}"
    assert refusal(client.put(path, json={"userId": "999"})) == (404, [])
    assert refusal(client.put(f"/v1/orders/0/{action}", json={"userId": "101"})) == (404, [])


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ({"assignmentId": "0"}, (404, [])),
        ({"proposedAt": "tomorrow"}, (400, ["proposedAt"])),
        ({"proposedAt": "9999-12-31T00:00:00Z"}, (400, ["proposedAt"])),
        *(
            ({"proposedAt": text}, (400, ["proposedAt"]))
            for text in (
                "",
                "2026-09-01",
                "20260901T070000Z",
                "2026-W36-2T07:00:00Z",
                "2026-09-01 07:00",
            )
        ),
        *(
            ({"proposedAt": text}, (400, ["proposedAt"]))
            for text in ("2026-09-31T07:00:00Z", "2026-09-01T07:00:00,5Z", "2026-09-01T25:00Z")
        ),
        ({"reason": 5}, (400, ["reason"])),
    ],
)
def test_a34_a_reschedule_that_cannot_be_is_refused(box, client, body, refused):
    order = client.order("11")
    box.advance(order["assignments"][0]["id"])
    answer = client.put(f"/v1/orders/{order['id']}/reschedule", json={"userId": "101", **body})
    assert refusal(answer) == refused
    assert box.workspace.notes[order["assignments"][0]["id"]] == {"quantity": 1, "bookings": 1}


@pytest.mark.parametrize(
    ("proposed", "told"),
    [
        ("2026-09-01T09:00:00+02:00", "2026-09-01T09:00:00+02:00"),
        ("2026-09-01T07:00:00.5Z", "2026-09-01T07:00:00.5Z"),
        ("2026-09-01T07:00:00", "2026-09-01T07:00:00.000000Z"),  # A52
        ("2026-09-01T07:00+0200", "2026-09-01T05:00:00.000000Z"),
    ],
)
def test_4_4_what_was_proposed_is_told_as_a_whole_timestamp(box, client, proposed, told):
    order = client.order("11")
    assignment_id = order["assignments"][0]["id"]
    box.advance(assignment_id)
    body = {"userId": "101", "proposedAt": proposed}
    assert client.put(f"/v1/orders/{order['id']}/reschedule", json=body).status_code == 200
    box.advance(assignment_id)
    box.advance(assignment_id)
    assert client.get(f"/v1/assignments/{assignment_id}").json()["scheduledAt"] == told


def test_4_5_an_assignment_tells_its_photographer_and_its_schedule(box, client):
    order = client.order("11")
    assignment_id = order["assignments"][0]["id"]
    box.set_status(assignment_id, "PHOTOGRAPHER_ASSIGNED")
    box.set_status(assignment_id, "SCHEDULED")
    assert client.get(f"/v1/assignments/{assignment_id}").json() == {
        "id": assignment_id,
        "orderId": order["id"],
        "assignmentType": "PHOTO",
        "status": "SCHEDULED",
        "products": ["GROUND_PHOTO"],
        "photographer": {
            "id": "51",
            "name": "Photographer One",
            "email": "photographer.one@example.com",
            "phone": "+49 30 0000 0101",
        },
        "scheduledAt": "2026-03-04T09:00:00.000000Z",
        "estimatedDeliveryAt": "2026-03-06",
    }
