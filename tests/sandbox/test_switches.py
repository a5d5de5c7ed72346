"""What the interface leaves open: each switch, the kinds of platform, and how they are set."""

from __future__ import annotations

import html
import json

import pytest

from sandbox.__main__ import parser
from sandbox.app import Sandbox
from sandbox.interface.switches import PLATFORMS, SWITCHES, USUAL
from tests.sandbox.conftest import HOOK, Client, finished, refusal

ONE = "/v1/real-estate-properties/201"
ALL = "/v1/real-estate-properties"
INSTRUCTIONS = {"billing": "21", "organization": "31", "delivery": "41"}


def turn(box, **positions) -> None:
    answer = Client(box, token=None).post("/_sandbox/switches", json=positions)
    assert answer.status_code == 200, answer.text


def bad_title(client) -> dict:
    answer = client.patch(ONE, json={"title": 5, "isFurnished": 6})
    assert answer.status_code == 400
    return answer.json()


def test_the_switches_are_listed_with_what_they_decide_and_what_holds(box):
    turn(box, merge="shallow")
    listed = Client(box, token=None).get("/_sandbox/switches").json()
    assert listed["platforms"] == ["rich", "strict", "brief", "odd"]
    assert [one["name"] for one in listed["switches"]] == list(SWITCHES)
    assert listed["switches"][-1] == {
        "name": "merge",
        "rule": "A10",
        "positions": ["deep", "shallow"],
        "decides": "whether members inside the four merged objects are merged too, or replaced",
        "now": "shallow",
    }


def test_every_position_is_that_of_some_kind_of_platform_or_stands_beside_one():
    chosen = {(name, at) for kind in PLATFORMS.values() for name, at in kind.items()}
    assert all(at in SWITCHES[name].positions for name, at in chosen)
    assert {name for name, _ in chosen} == set(SWITCHES)
    assert parser().parse_args([]).platform == "rich"


def test_a_kind_of_platform_puts_every_switch_in_its_place(box):
    turn(box, merge="shallow", orderDetail="brief")
    turn(box, platform="strict", product="optional")
    assert box.switches == USUAL | PLATFORMS["strict"] | {"product": "optional"}
    turn(box, platform="rich")
    assert box.switches == USUAL == Sandbox().switches


@pytest.mark.parametrize(
    ("wanted", "field"),
    [({"platform": "kind"}, "platform"), ({"colour": "red"}, "colour"), ({"ids": []}, "ids")],
)
def test_a_switch_that_cannot_be_is_refused_by_name_and_none_is_turned(box, wanted, field):
    answer = Client(box, token=None).post("/_sandbox/switches", json={"merge": "shallow"} | wanted)
    assert refusal(answer) == (400, [field])
    assert box.switches == USUAL


def test_a_reset_goes_back_to_the_kind_that_it_began_with():
    box = Sandbox(switches={"platform": "odd"})
    box.switches["merge"] = "deep"
    box.reset()
    assert box.switches == USUAL | PLATFORMS["odd"]
    turn(box, platform="brief")
    box.reset()
    assert box.switches == USUAL | PLATFORMS["odd"]


def test_the_page_has_a_form_for_each_switch_and_says_what_it_decides(box):
    nobody = Client(box, token=None)
    text = nobody.get("/_sandbox/").text
    said = [f'<td class="decides">{html.escape(one.decides)}</td>' for one in SWITCHES.values()]
    assert [one for one in said if one not in text] == []
    assert [one for one in SWITCHES if f'<select id="{one}" name="{one}">' not in text] == []
    nobody.post("/_sandbox/switches?from=page", data={"ids": "number"})
    assert "<option selected>number" in nobody.get("/_sandbox/").text


def test_the_sandboxs_own_paths_answer_as_ever(box, client):
    order = client.order("11")
    turn(box, platform="odd", errors="text", unknownIds="403")
    nobody = Client(box, token=None)
    assert nobody.get("/_sandbox/state").json()["orders"][order["id"]]["id"] == order["id"]
    assert refusal(nobody.post("/_sandbox/assignments/0/advance")) == (404, [])


def test_a35_a_brief_order_tells_id_and_status_of_its_assignments(box, client):
    order = client.order("11", "13")
    turn(box, orderDetail="brief")
    for seen in (
        client.get(f"/v1/orders/{order['id']}"),
        client.put(f"/v1/orders/{order['id']}/cancel", json={"userId": "101"}),
    ):
        one, two = (assignment["id"] for assignment in order["assignments"])
        told = [(list(one), one["id"]) for one in seen.json()["assignments"]]
        assert told == [(["id", "status"], one), (["id", "status"], two)]
    assert client.get(f"/v1/assignments/{one}").json()["products"] == ["GROUND_PHOTO"]
    assert len(client.get(f"/v1/orders/{order['id']}/assignments").json()[0]) > 2


def test_4_3_an_order_that_was_placed_may_be_told_by_its_id_alone(box, client):
    turn(box, placed="id")
    assert client.order("11") == {"id": "1001"}


def test_4_4_reschedule_and_cancel_may_answer_with_nothing(box, client):
    order = client.order("11")
    box.advance(order["assignments"][0]["id"])
    turn(box, changed="204")
    for action in "reschedule", "cancel":
        answer = client.put(f"/v1/orders/{order['id']}/{action}", json={"userId": "101"})
        assert (answer.status_code, answer.content) == (204, b"")
    assert client.get(f"/v1/orders/{order['id']}").json()["status"] == "CANCELLED"


def test_4_6_create_and_update_may_answer_with_nothing(box, client):
    turn(box, created="empty", updated="204")
    answer = client.post(ALL, json={"objectReferenceId": "NEW", "title": "One"})
    assert (answer.status_code, answer.content) == (201, b"")
    answer = client.patch(f"{ALL}/by-reference/NEW", json={"title": "Two"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert client.get(f"{ALL}/by-reference/NEW").json()["title"] == "Two"


def test_a21_the_webhook_may_be_written_without_an_answer(box, client):
    turn(box, configured="empty")
    for method, body, status in (
        ("PUT", {"url": HOOK}, 201),
        ("PUT", {"url": HOOK, "method": "POST"}, 200),
        ("PATCH", {"enabled": False}, 200),
    ):
        answer = client.request(method, "/v1/webhooks", json=body)
        assert (answer.status_code, answer.content) == (status, b"")
    assert client.get("/v1/webhooks").json()["enabled"] is False


@pytest.mark.parametrize(
    ("position", "status", "content"),
    [("204", 204, b""), ("null", 200, b"null"), ("{}", 200, b"{}")],
)
def test_a20_no_webhook_may_be_told_in_other_ways(box, client, position, status, content):
    turn(box, noWebhook=position)
    answer = client.get("/v1/webhooks")
    assert (answer.status_code, answer.content) == (status, content)
    assert refusal(client.patch("/v1/webhooks", json={"enabled": True})) == (404, [])
    assert refusal(client.get("/v1/webhooks/triggers")) == (404, [])
    client.put("/v1/webhooks", json={"url": HOOK})
    assert client.get("/v1/webhooks").json()["url"] == HOOK


def test_a7_ids_may_be_numbers_in_answers_and_stay_texts_in_callbacks(box, hooked, callback):
    publishers = [{"id": "9"}]
    box.edit_property("201", {"publishers": publishers, "customFields": {"id": "7"}})
    turn(box, ids="number")
    session = hooked.post("/v1/sessions", json={"userId": 101, "realEstatePropertyId": 201}).json()
    assert (session["userId"], session["realEstatePropertyId"]) == (101, 201)
    products = hooked.get(f"/v1/sessions/{session['id']}/products").json()["products"]
    assert products[0]["id"] == 11
    body = {"products": [{"id": 11}], "sessionId": session["id"]}
    instructions = {part: int(key) for part, key in INSTRUCTIONS.items()}
    order = hooked.post("/v1/orders", json=body | {"instructions": instructions}).json()
    (assignment,) = order["assignments"]
    assert (order["id"], assignment["id"], assignment["orderId"]) == (1001, 1002, 1001)
    assert hooked.get("/v1/users").json()["content"][0]["id"] == 101
    seen = hooked.get(ONE).json()
    assert (seen["id"], seen["publishers"], seen["customFields"]) == (201, publishers, {"id": "7"})
    box.step()
    box.deliver()
    assert {type(one["orderId"]) for one in callback.events} == {str}
    assert hooked.get("/v1/webhooks/triggers").json()[0]["payload"] == callback.events[-1]


def test_a1_the_array_of_a_page_may_have_another_name(box, client):
    before = client.get("/v1/users").json()
    turn(box, items="items")
    after = client.get("/v1/users").json()
    assert after.pop("items") == before.pop("content")
    assert after == before


def test_a51_addresses_may_be_relative(box, client):
    order = finished(box, client, "11")
    turn(box, addresses="relative")
    path = f"/v1/orders/{order['id']}/assignments/{order['assignments'][0]['id']}/materials"
    (picture,) = client.get(path).json()["materials"]
    marketing = client.get(f"{ONE}/marketing-materials").json()["marketingMaterials"]
    for address in picture["url"], picture["thumbnailUrl"], marketing[0]["url"]:
        assert address.startswith("/files/")
        assert Client(box, token=None).get(address).status_code == 200


@pytest.mark.parametrize(
    ("position", "more"),
    [
        ("text", {}),
        ("field", {"field": "title"}),
        ("object", {"errors": {"title": "must be a text", "isFurnished": "must be true or false"}}),
    ],
)
def test_a4_an_error_may_name_its_fields_in_other_ways(box, client, position, more):
    turn(box, errors=position)
    assert bad_title(client) == {
        "status": 400,
        "error": "Bad Request",
        "message": "title: must be a text; isFurnished: must be true or false",
        **more,
    }


def test_a4_an_error_may_have_its_fields_as_keys(box, client):
    turn(box, errors="keys")
    assert bad_title(client) == {
        "title": ["must be a text"],
        "isFurnished": ["must be true or false"],
    }
    answer = client.get("/v1/orders/0").json()
    assert answer == {"status": 404, "error": "Not Found", "message": "there is no order 0"}


def test_a5_a_token_that_is_none_and_an_id_of_nobody_may_be_403(box, client):
    turn(box, badToken="403", unknownIds="403")
    assert refusal(Client(box, token="x").get("/v1/users")) == (403, [])
    assert refusal(Client(box, token=None).get("/v1/users")) == (403, [])
    paths = ("/v1/orders/0", "/v1/assignments/0", f"{ALL}/0", f"{ALL}/0/marketing-materials")
    assert [refusal(client.get(path)) for path in paths] == [(403, [])] * 4
    body = {"userId": "0", "realEstatePropertyId": "201"}
    assert refusal(client.post("/v1/sessions", json=body)) == (403, [])
    assert refusal(client.get(f"{ALL}/by-reference/NONE")) == (404, [])
    assert refusal(client.get("/v1/nowhere")) == (404, [])


def test_a38_materials_may_need_a_product(box, client):
    order = finished(box, client, "11")
    turn(box, product="required")
    assignment_id = order["assignments"][0]["id"]
    for path in (
        f"/v1/orders/{order['id']}/assignments/{assignment_id}/materials",
        f"/materials/{order['id']}/{assignment_id}",
    ):
        assert refusal(client.get(path)) == (400, ["product"])
        assert client.get(f"{path}?product=GROUND_PHOTO").status_code == 200


def test_2_empty_members_may_be_left_out_of_answers(box, client):
    emptied = {"videoLinks": [], "address": {}, "customFields": {"note": ""}}
    shown = client.patch(ONE, json=emptied).json()
    assert shown | emptied == shown
    turn(box, emptyMembers="omitted")
    read = client.get(ONE).json()
    assert read == {name: one for name, one in shown.items() if one not in ([], {})}
    assert read["customFields"] == {"note": ""}
    box.workspace.users.clear()
    page = client.get("/v1/users").json()
    assert page == {"totalElements": 0, "totalPages": 0, "first": True, "last": True}


def test_a10_merged_objects_may_be_merged_shallow(box, client):
    turn(box, merge="shallow")
    after = client.patch(ONE, json={"prices": {"rent": {"net": 1450}}}).json()
    assert after["prices"] == {"currency": "EUR", "rent": {"net": 1450}}


@pytest.mark.parametrize("kind", PLATFORMS)
def test_an_order_comes_to_its_end_on_every_kind_of_platform(kind, callback):
    box = Sandbox(token="test-token", switches={"platform": kind})
    client = Client(box)
    order_id = client.order("11", "17")["id"]
    while box.step():
        pass
    order = client.get(f"/v1/orders/{order_id}").json()
    assert (order["status"], str(order["id"])) == ("COMPLETED", str(order_id))
    assert json.dumps(box.workspace.to_json())
