"""What was delivered, and generated marketing materials (§4.5, A38, A40)."""

from __future__ import annotations

import pytest
import requests

from tests.sandbox.conftest import refusal

# Materials


def delivered(box, client, product, quantity=1):
    order = client.order(product, quantity=quantity)
    assignment_id = order["assignments"][0]["id"]
    box.set_status(assignment_id, "DELIVERED")
    return order["id"], assignment_id


def materials(client, path, **query):
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()["materials"]


def test_a38_nothing_is_there_before_delivery(client):
    order = client.order("11")
    path = f"/v1/orders/{order['id']}/assignments/{order['assignments'][0]['id']}/materials"
    assert materials(client, path, product="GROUND_PHOTO") == []


def test_4_5_photos_come_in_hd_by_default_and_for_the_web(box, client):
    order_id, assignment_id = delivered(box, client, "11", quantity=3)
    path = f"/v1/orders/{order_id}/assignments/{assignment_id}/materials"
    for query, visual_type in ({}, "POST"), ({"visualQuality": "WEB"}, "POST_WEB"):
        found = materials(client, path, product="GROUND_PHOTO", **query)
        assert [one["visualType"] for one in found] == [visual_type] * 3
    assert materials(client, path, visualQuality="HD") == materials(client, path)


def test_4_5_the_path_of_an_event_filters_by_visual_type(box, client):
    order_id, assignment_id = delivered(box, client, "11")
    path = f"/materials/{order_id}/{assignment_id}"
    for visual_type, count in {"POST": 1, "POST_WEB": 1, "RAW": 0, "DOCUMENT": 0}.items():
        found = materials(client, path, product="GROUND_PHOTO", visualType=visual_type)
        assert [one["visualType"] for one in found] == [visual_type] * count


def test_4_5_visual_quality_applies_to_photo_products_alone(box, client):
    order_id, assignment_id = delivered(box, client, "13")
    path = f"/v1/orders/{order_id}/assignments/{assignment_id}/materials"
    query = {"product": "FLOOR_PLAN", "visualQuality": "HD"}
    assert refusal(client.get(path, params=query)) == (400, ["visualQuality"])
    assert refusal(client.get(f"{path}?visualQuality=4K")) == (400, ["visualQuality"])
    assert refusal(client.get(f"{path}?product=RAIN")) == (404, [])
    event_path = f"/materials/{order_id}/{assignment_id}?visualType=FILM"
    assert refusal(client.get(event_path)) == (400, ["visualType"])


def test_a38_modified_since_leaves_out_what_is_older(box, client, clock):
    order_id, assignment_id = delivered(box, client, "18")
    path = f"/v1/orders/{order_id}/assignments/{assignment_id}/materials"
    assert len(materials(client, path, modifiedSince="2026-03-02T08:30:00Z")) == 1
    assert materials(client, path, modifiedSince="2026-03-02T08:30:01Z") == []
    assert refusal(client.get(f"{path}?modifiedSince=x")) == (400, ["modifiedSince"])


@pytest.mark.parametrize(
    ("product", "mime_type", "head"),
    [
        ("11", "image/png", b"\x89PNG\r\n\x1a\n"),
        ("13", "image/png", b"\x89PNG\r\n\x1a\n"),
        ("14", "video/mp4", b"\0\0\0\x20ftypisom"),
        ("17", "application/pdf", b"%PDF-1.4\n"),
    ],
)
def test_a38_a_material_names_a_file_that_the_sandbox_serves(box, client, product, mime_type, head):
    order_id, assignment_id = delivered(box, client, product)
    (found,) = materials(client, f"/v1/orders/{order_id}/assignments/{assignment_id}/materials")
    path = found["url"].removeprefix("http://sandbox.test")
    with requests.Session() as nobody:  # A51: the address is enough
        nobody.mount("http://sandbox.test", client.get_adapter("http://sandbox.test"))
        answer = nobody.get(found["url"])
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, mime_type)
    assert answer.content.startswith(head)
    assert (len(answer.content), found["mimeType"]) == (found["size"], mime_type)
    assert found["fileName"] == path.rpartition("/")[2]
    if mime_type == "image/png":
        thumbnail = nobody.get(found["thumbnailUrl"])
        assert 0 < len(thumbnail.content) < found["size"]


def test_a38_a_tour_has_an_address_and_no_file(box, client):
    order_id, assignment_id = delivered(box, client, "15")
    (found,) = materials(client, f"/v1/orders/{order_id}/assignments/{assignment_id}/materials")
    assert set(found) == {"id", "product", "visualType", "url", "modifiedAt"}
    assert client.get(found["url"].removeprefix("http://sandbox.test")).status_code == 200


def test_4_5_marketing_materials_of_a_property(box, client):
    delivered(box, client, "11")
    box.marketing_ready("201", "INSTAGRAM")
    found = client.get("/v1/real-estate-properties/201/marketing-materials").json()
    shown = [
        {name: value for name, value in one.items() if name not in ("id", "url")}
        for one in found["marketingMaterials"]
    ]
    at = {"createdAt": "2026-03-02T08:30:00.000000Z"}
    assert shown == [
        {
            "targetPlatform": "REAL_ESTATE_BROCHURE",
            "fileName": "real-estate-brochure-201.pdf",
            "mimeType": "application/pdf",
            **at,
        },
        {
            "targetPlatform": "INSTAGRAM",
            "fileName": "instagram-201.png",
            "mimeType": "image/png",
            **at,
        },
    ]
    url = found["marketingMaterials"][0]["url"].removeprefix("http://sandbox.test")
    assert client.get(url).content.startswith(b"%PDF")
    nothing = client.get("/v1/real-estate-properties/202/marketing-materials").json()
    assert nothing == {"marketingMaterials": []}


# Visuals that are announced, and the client's selection (A29)


def announce(client, assignment_id, **body):
    return client.post(f"/_sandbox/assignments/{assignment_id}/visuals", json=body)


@pytest.mark.parametrize("visual_type", ["POST", "POST_WEB", "DOCUMENT", "RAW"])
def test_6_3_any_visual_type_can_be_announced_and_is_there(box, hooked, callback, visual_type):
    order = hooked.order("11", "15", quantity=2)
    photo, tour = (one["id"] for one in order["assignments"])
    for assignment_id, product in ((photo, "GROUND_PHOTO"), (tour, "VIRTUAL_TOUR")):
        callback.requests.clear()
        assert announce(hooked, assignment_id, visualType=visual_type).status_code == 200
        box.deliver()
        (event,) = callback.events
        assert (event["event"], event["product"], event["visualType"]) == (
            *("VISUALS_READY", product, visual_type),
        )
        path = f"/materials/{event['orderId']}/{event['assignmentId']}"
        query = {"product": event["product"], "visualType": event["visualType"]}
        assert [one["visualType"] for one in materials(hooked, path, **query)] == [visual_type] * 2


def test_6_3_what_is_there_is_announced_again_and_more_is_made_when_asked(box, client):
    order_id, assignment_id = delivered(box, client, "11", quantity=2)
    path = f"/materials/{order_id}/{assignment_id}"
    before = materials(client, path, visualType="POST_WEB")
    announce(client, assignment_id, visualType="POST_WEB")
    assert materials(client, path, visualType="POST_WEB") == before
    announce(client, assignment_id, visualType="POST_WEB", quantity=1)
    after = materials(client, path, visualType="POST_WEB")
    assert after[:2] == before
    assert [one["fileName"][-6:] for one in after] == ["-1.png", "-2.png", "-3.png"]


def test_4_5_raw_visuals_are_no_hd_and_no_web(box, client):
    order_id, assignment_id = delivered(box, client, "11")
    announce(client, assignment_id, visualType="RAW")
    path = f"/v1/orders/{order_id}/assignments/{assignment_id}/materials"
    for query in ({}, {"visualQuality": "HD"}, {"visualQuality": "WEB"}):
        assert "RAW" not in {one["visualType"] for one in materials(client, path, **query)}


@pytest.mark.parametrize(("chosen", "count"), [({}, 2), ({"quantity": 3}, 3), ({"quantity": 9}, 5)])
def test_6_2_a29_of_more_visuals_than_ordered_the_client_chooses(
    box, hooked, callback, chosen, count
):
    order = hooked.order("11", quantity=2)
    assignment_id = order["assignments"][0]["id"]
    selection = f"/_sandbox/assignments/{assignment_id}/selection"
    box.set_status(assignment_id, "IN_PRODUCTION")
    assert refusal(hooked.post(selection)) == (409, [])
    announce(hooked, assignment_id, visualType="RAW", quantity=5)
    box.deliver()
    ready = [one["visualType"] for one in callback.events if one["event"] == "VISUALS_READY"]
    assert ready == ["RAW"]
    assert hooked.post(selection, json=chosen).json()["status"] == "DELIVERED"
    box.deliver()
    ready = [one["visualType"] for one in callback.events if one["event"] == "VISUALS_READY"]
    assert ready == ["RAW", "POST"]
    path = f"/materials/{order['id']}/{assignment_id}"
    for visual_type, there in {"RAW": 5, "POST": count, "POST_WEB": count}.items():
        assert len(materials(hooked, path, visualType=visual_type)) == there
    assert refusal(hooked.post(selection)) == (409, [])


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ({"visualType": "FILM"}, (400, ["visualType"])),
        ({"product": "FLOOR_PLAN"}, (400, ["product"])),
        ({"quantity": 0}, (400, ["quantity"])),
        ({"quantity": True}, (400, ["quantity"])),
    ],
)
def test_visuals_that_cannot_be_are_refused(box, client, body, refused):
    order = client.order("11")
    assert refusal(announce(client, order["assignments"][0]["id"], **body)) == refused
    assert box.workspace.materials == {}
