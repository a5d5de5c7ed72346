"""What was delivered, and generated marketing materials (§4.5, A38, A40)."""

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


@pytest.mark.rule("4.5 GET materials")
def test_4_5_photos_come_in_hd_by_default_and_for_the_web(box, client):
    order_id, assignment_id = delivered(box, client, "11", quantity=3)
    path = f"/v1/orders/{order_id}/assignments/{assignment_id}/materials"
    for query, visual_type in ({}, "POST"), ({"visualQuality": "WEB"}, "POST_WEB"):
        found = materials(client, path, product="GROUND_PHOTO", **query)
        assert [one["visualType"] for one in found] == [visual_type] * 3
    assert materials(client, path, visualQuality="HD") == materials(client, path)


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


# Visuals that are announced, and the client's selection (A29)


def announce(client, assignment_id, **body):
    return client.post(f"/_sandbox/assignments/{assignment_id}/visuals", json=body)


@pytest.mark.rule("6.3 VISUALS_READY visualType")
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


@pytest.mark.rule("6.2 scenario")
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
