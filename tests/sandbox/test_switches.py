"""What the interface leaves open: each switch, the kinds of platform, and how they are set."""

import html
import json

import pytest

from sandbox.__main__ import parser
from sandbox.app import Sandbox
from sandbox.interface.switches import PLATFORMS, SWITCHES, USUAL
from tests.sandbox.conftest import Client, finished, refusal

ONE = "/v1/real-estate-properties/201"


def turn(box, **positions) -> None:
    answer = Client(box, token=None).post("/_sandbox/switches", json=positions)
    assert answer.status_code == 200, answer.text


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


def test_a5_a_token_that_is_none_may_be_403(box):
    turn(box, badToken="403")
    assert refusal(Client(box, token="x").get("/v1/users")) == (403, [])
    assert refusal(Client(box, token=None).get("/v1/users")) == (403, [])


def test_a51_addresses_may_be_relative(box, client):
    order = finished(box, client, "11")
    turn(box, addresses="relative")
    path = f"/v1/orders/{order['id']}/assignments/{order['assignments'][0]['id']}/materials"
    (picture,) = client.get(path).json()["materials"]
    marketing = client.get(f"{ONE}/marketing-materials").json()["marketingMaterials"]
    for address in picture["url"], picture["thumbnailUrl"], marketing[0]["url"]:
        assert address.startswith("/files/")
        assert Client(box, token=None).get(address).status_code == 200


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


def test_an_unknown_id_is_answered_alike_wherever_it_stands(hooked):
    order = hooked.order("11")
    one = f"/v1/orders/{order['id']}"
    hooked.post("/_sandbox/switches", json={"unknownIds": "403"})
    answers = [
        hooked.get("/v1/orders/x"),
        hooked.get("/v1/sessions/x/products"),
        hooked.post("/v1/sessions/x/instructions", json={"products": [{"id": "11"}]}),
        hooked.get(f"{one}/assignments/x/materials"),
        hooked.get(f"/materials/{order['id']}/x"),
        hooked.put(f"{one}/reschedule", json={"userId": "101", "assignmentId": "x"}),
    ]
    assert [answer.status_code for answer in answers] == [403] * 6
