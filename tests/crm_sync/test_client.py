"""Every endpoint of §4 reaches the platform, through the real client."""

from datetime import UTC, datetime, timedelta

import pytest

from crm_sync.platform.client import Client
from crm_sync.platform.credentials import FixedToken
from crm_sync.platform.errors import (
    AuthError,
    NotFoundError,
    RejectedError,
    TransientError,
)
from tests.conftest import PLATFORM, TOKEN
from tests.crm_sync.sockets import answering, serving

PROPERTIES = "/v1/real-estate-properties"


@pytest.fixture
def client(box) -> Client:
    return Client(PLATFORM, FixedToken(TOKEN))


def calls(box) -> list[tuple[str, str, int]]:
    return [(method, path, status) for method, path, _, status in box.calls]


def place(client: Client, product: str = "11") -> dict:
    session = client.open_session({"userId": "101", "objectReferenceId": "SEED-1"}).document
    return client.place_order(
        {
            "sessionId": session["id"],
            "products": [{"id": product, "quantity": 1}],
            "instructions": {"billing": "21", "organization": "31", "delivery": "41"},
        }
    ).document


# --- webhook management, §4.1


@pytest.mark.rule("4.1 JWT; GET; PUT; PATCH; DELETE")
def test_the_webhook_is_created_read_replaced_switched_and_deleted(box, client):
    wanted = {"url": "http://crm.test/hook", "method": "POST", "authType": "NONE"}
    created = client.put_webhook(wanted)
    assert (created.status, created.document["url"]) == (201, "http://crm.test/hook")
    assert client.get_webhook().document == created.document
    assert client.put_webhook(wanted | {"method": "PUT"}).status == 200
    assert client.enable_webhook(enabled=False).document["enabled"] is False
    assert client.enable_webhook(enabled=True).document["enabled"] is True
    assert client.get_triggers() == []
    deleted = client.delete_webhook()
    assert (deleted.status, deleted.document) == (204, None)
    assert box.workspace.webhook is None
    assert calls(box) == [
        ("PUT", "/v1/webhooks", 201),
        ("GET", "/v1/webhooks", 200),
        ("PUT", "/v1/webhooks", 200),
        ("PATCH", "/v1/webhooks", 200),
        ("PATCH", "/v1/webhooks", 200),
        ("GET", "/v1/webhooks/triggers", 200),
        ("DELETE", "/v1/webhooks", 204),
    ]


@pytest.mark.parametrize("method", ["get_webhook", "delete_webhook", "get_triggers"])
def test_without_a_webhook_there_is_nothing_to_read(client, method):
    with pytest.raises(NotFoundError):
        getattr(client, method)()


@pytest.mark.rule("4.1 GET triggers")
def test_the_triggers_carry_the_payloads(box, workspace):
    box.marketing_ready("201", "INSTAGRAM")
    box.deliver()
    (record,) = workspace.client().get_triggers()
    assert record == box.workspace.history[0]
    assert (record["success"], record["payload"]["propertyId"]) == (True, "201")


# --- from a session to an order, §4.3 to §4.5


@pytest.mark.rule("4.3 GET products", "9 rule 1")
def test_an_order_is_placed_read_rescheduled_and_cancelled(box, client):
    session = client.open_session({"userId": "101", "objectReferenceId": "SEED-1"})
    assert (session.status, session.document["realEstatePropertyId"]) == (201, "201")
    key = session.document["id"]
    products = client.get_products(key)
    assert products[0] == {
        "id": "11",
        "product": "GROUND_PHOTO",
        "name": "Ground photos",
        "kind": "PHOTO",
        "price": {"amount": 249.0, "currency": "EUR"},
    }
    options = client.get_instructions(key, [{"id": "11", "quantity": 1}]).document
    assert sorted(options) == ["billing", "delivery", "organization"]
    chosen = {part: options[part][0]["id"] for part in options}
    body = {
        "sessionId": key,
        "products": [{"id": "11", "quantity": 1}],
        "instructions": chosen,
    }
    placed = client.place_order(body)
    order = placed.document
    assert (placed.status, order["status"], order["userId"]) == (201, "PLACED", "101")
    assert client.get_order(order["id"]).document == order
    (assignment,) = client.get_order_assignments(order["id"])
    assert [assignment] == order["assignments"]
    assert client.get_assignment(assignment["id"]).document == assignment
    with pytest.raises(RejectedError) as twice:
        client.place_order(body)
    assert (twice.value.status, len(box.workspace.orders)) == (409, 1)

    box.advance(assignment["id"])
    moved = client.reschedule_order(order["id"], {"userReferenceId": "AGENT-2"}).document
    assert moved["assignments"][0]["status"] == "RESCHEDULE_IN_PROCESS"
    assert client.cancel_order(order["id"], {"userId": "101"}).document["status"] == "CANCELLED"
    with pytest.raises(RejectedError) as again:
        client.cancel_order(order["id"], {"userId": "101"})
    assert again.value.status == 409
    assert [path for _, path, _ in calls(box)] == [
        "/v1/sessions",
        f"/v1/sessions/{key}/products",
        f"/v1/sessions/{key}/instructions",
        "/v1/orders",
        f"/v1/orders/{order['id']}",
        f"/v1/orders/{order['id']}/assignments",
        f"/v1/assignments/{assignment['id']}",
        "/v1/orders",
        f"/v1/orders/{order['id']}/reschedule",
        f"/v1/orders/{order['id']}/cancel",
        f"/v1/orders/{order['id']}/cancel",
    ]


@pytest.mark.rule("4.4 acting user")
def test_both_or_no_user_are_refused_and_both_fields_named(box, client):
    order = place(client)
    with pytest.raises(RejectedError) as caught:
        client.cancel_order(order["id"], {"userId": "101", "userReferenceId": "AGENT-1"})
    assert {field.path for field in caught.value.fields} == {"userId", "userReferenceId"}
    assert box.workspace.orders[order["id"]]["status"] == "PLACED"


def test_materials_are_listed_by_quality_by_event_and_since(box, client):
    order = place(client)
    (assignment,) = order["assignments"]
    for _ in range(5):
        box.advance(assignment["id"])
    ids = (order["id"], assignment["id"])
    hd = client.get_materials(*ids, product="GROUND_PHOTO")
    web = client.get_materials(*ids, product="GROUND_PHOTO", visualQuality="WEB")
    assert {item["visualType"] for item in hd} == {"POST"}
    assert {item["visualType"] for item in web} == {"POST_WEB"}
    assert client.get_ready_materials(*ids, product="GROUND_PHOTO", visual_type="POST") == hd
    later = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert client.get_materials(*ids, product="GROUND_PHOTO", modifiedSince=later) == []


@pytest.mark.rule("4.5 GET marketing materials")
def test_marketing_materials_are_listed_by_property(box, client):
    assert client.get_marketing_materials("201") == []
    box.marketing_ready("201", "LINKEDIN")
    assert [one["targetPlatform"] for one in client.get_marketing_materials("201")] == ["LINKEDIN"]


# --- properties and users, §4.6


@pytest.mark.rule("4.6 PATCH; PATCH by-reference; GET")
def test_a_property_is_created_read_and_patched_by_id_and_by_reference(box, client):
    created = client.create_property({"objectReferenceId": "Ü 1+2&3", "title": "Flat"})
    key = created.document["id"]
    assert (created.status, created.document) == (201, box.workspace.properties[key])
    assert client.get_property(key).document == created.document
    assert client.get_property_by_reference("Ü 1+2&3").document == created.document
    assert client.patch_property(key, {"title": "A"}).document["title"] == "A"
    by_reference = client.patch_property_by_reference("Ü 1+2&3", {"numberOfRooms": 2})
    assert by_reference.document == box.workspace.properties[key]
    assert calls(box) == [
        ("POST", PROPERTIES, 201),
        ("GET", f"{PROPERTIES}/{key}", 200),
        ("GET", f"{PROPERTIES}/by-reference/Ü 1+2&3", 200),
        ("PATCH", f"{PROPERTIES}/{key}", 200),
        ("PATCH", f"{PROPERTIES}/by-reference/Ü 1+2&3", 200),
    ]


def test_a_patch_of_an_unknown_reference_creates_nothing(box, client):
    with pytest.raises(NotFoundError):
        client.patch_property_by_reference("NOBODY", {"title": "x"})
    assert len(box.workspace.properties) == 2


def test_a_reference_that_exists_is_refused_and_nothing_is_created(box, client):
    with pytest.raises(RejectedError) as caught:
        client.create_property({"objectReferenceId": "SEED-1"})
    assert (caught.value.status, len(box.workspace.properties)) == (409, 2)


@pytest.mark.rule("7 UNKNOWN")
def test_a_refused_field_is_named_and_nothing_changes(box, client):
    before = dict(box.workspace.properties["201"])
    with pytest.raises(RejectedError) as caught:
        client.patch_property("201", {"title": "ok", "heatingType": "UNKNOWN"})
    assert [field.path for field in caught.value.fields] == ["heatingType"]
    assert box.workspace.properties["201"] == before


@pytest.mark.rule(
    "1 properties, users", "2.6 last; items", "4.6 GET users; page; size", "8 page index"
)
@pytest.mark.parametrize(("size", "pages"), [(100, 2), (50, 3), (120, 0), (7, 18)])
def test_a_walk_reads_every_property_and_user_once(box, client, size, pages):
    box.workspace.properties.clear()  # of these a list shows less than a full read
    for n in range(120):
        box.workspace.properties[f"9{n:03}"] = {"id": f"9{n:03}", "title": f"P {n}"}
    for n in range(117):
        box.workspace.users[f"8{n:03}"] = {"id": f"8{n:03}", "shoeSize": 42}
    for walk, stored in (
        (client.properties, box.workspace.properties),
        (client.users, box.workspace.users),
    ):
        box.calls.clear()
        if pages:
            assert list(walk(size=size)) == list(stored.values())
            assert len(box.calls) == pages
        else:  # §8: at most 100
            with pytest.raises(RejectedError):
                next(walk(size=size))


def test_a_walk_is_lazy(box, client):
    walk = client.users(size=1)
    assert list(box.calls) == []
    assert next(walk)["userReferenceId"] == "AGENT-1"
    assert len(box.calls) == 1


def test_a_page_whose_only_list_has_another_name_is_read():
    body = b'{"items": [{"id": "1", "new": true}], "last": true}'
    with serving(answering(body)) as server:
        found = list(Client(server.url, FixedToken("t")).users())
    assert found == [{"id": "1", "new": True}]


@pytest.mark.parametrize("body", [b"{}", b"7", b'{"a": [], "b": []}', b""])
def test_an_answer_without_a_list_is_a_passing_fault_and_no_empty_list(body):
    with serving(answering(body)) as server, pytest.raises(TransientError) as caught:
        list(Client(server.url, FixedToken("t")).users())
    assert str(caught.value) == "the answer holds no list where one belongs"


@pytest.mark.rule("4 all", "4.6 size", "8 page size")
@pytest.mark.parametrize("base", ["", "/", "/tenant", "/tenant/"])
def test_every_path_comes_behind_the_base_address(base):
    with serving(answering(b'{"content": []}')) as server:
        list(Client(f"{server.url}{base}", FixedToken("t")).users())
    path = f"{base.rstrip('/')}/v1/users?page=0&size=100"
    assert server.requests[0].startswith(f"GET {path} HTTP/1.1\r\n".encode())


# --- ids in paths, A14

BAD_IDS = ["", ".", "..", "a/b", "a?b", "a#b", "%2e%2e", "a\\b", "a\0", "a\n", "x" * 256, " a"]
PATH_CALLS = [
    lambda c, key: c.get_products(key),
    lambda c, key: c.get_instructions(key, []),
    lambda c, key: c.reschedule_order(key, {}),
    lambda c, key: c.cancel_order(key, {}),
    lambda c, key: c.get_order(key),
    lambda c, key: c.get_order_assignments(key),
    lambda c, key: c.get_assignment(key),
    lambda c, key: c.get_materials("1", key, product="P"),
    lambda c, key: c.get_materials(key, "1", product="P"),
    lambda c, key: c.get_ready_materials(key, "1", product="P", visual_type="POST"),
    lambda c, key: c.get_ready_materials("1", key, product="P", visual_type="POST"),
    lambda c, key: c.get_marketing_materials(key),
    lambda c, key: c.patch_property(key, {}),
    lambda c, key: c.patch_property_by_reference(key, {}),
    lambda c, key: c.get_property(key),
    lambda c, key: c.get_property_by_reference(key),
]


@pytest.mark.rule("S14")
@pytest.mark.parametrize("key", [*BAD_IDS, "\ud800"])
def test_an_id_that_cannot_travel_is_refused_before_any_call(box, client, key):
    for call in PATH_CALLS:
        with pytest.raises(RejectedError) as caught:
            call(client, key)
        assert caught.value.status == 400
    assert list(box.calls) == []


def test_a_walk_ends_when_the_platform_gives_the_same_page_again():
    with serving(answering(b'{"content": [{"id": "1"}], "last": false}')) as server:
        walk = Client(server.url, FixedToken(TOKEN)).users()
        assert next(walk) == {"id": "1"}
        with pytest.raises(TransientError, match="page 1 repeats the one before"):
            next(walk)


# --- 403, which a platform may say of an id and of a token (A5)


@pytest.mark.parametrize("box", ["strict"], indirect=True)
@pytest.mark.parametrize(
    "read",
    [
        lambda client: client.get_order("9999"),
        lambda client: client.get_assignment("9999"),
        lambda client: client.get_property("9999"),
        lambda client: client.get_marketing_materials("9999"),
    ],
)
def test_a_403_for_one_id_is_not_there_while_the_token_may_list(box, client, read):
    with pytest.raises(NotFoundError, match="403"):
        read(client)
    assert [status for _, _, status in calls(box)] == [403, 200]


@pytest.mark.parametrize("box", ["strict"], indirect=True)
def test_a_403_for_all_is_the_token_and_nothing_is_called_gone(box):
    client = Client(PLATFORM, FixedToken("another-token"))
    with pytest.raises(AuthError):
        client.get_property("9999")
    assert [status for _, _, status in calls(box)] == [403, 403]
