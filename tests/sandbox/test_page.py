"""The page at /_sandbox/: what it shows, its forms, and what it lets nobody do."""

import re

import pytest

from tests.sandbox.conftest import Client, refusal

CANARY = "<svg/onload=alert(1)>'\"&"


def page(box) -> str:
    answer = Client(box, token=None).get("/_sandbox/")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    return answer.text


def press(box, path: str, **fields: str):
    """Send a form of the page, as a browser does."""
    nobody = Client(box, token=None)
    headers = {"Origin": "http://sandbox.test"}
    return nobody.post(
        f"/_sandbox/{path}?from=page", data=fields, headers=headers, allow_redirects=False
    )


def test_an_empty_page_says_what_is_not_there_yet(box):
    text = page(box)
    for nothing in "No orders yet", "No callback was sent yet", "No call was made yet":
        assert nothing in text
    assert "No webhook is configured" in text


def test_a_page_shows_orders_assignments_deliveries_and_calls(box, hooked, callback):
    assignment_id = hooked.order("17")["assignments"][0]["id"]
    box.step()
    callback.status = 500
    box.deliver()
    text = page(box)
    assert '<h3>Order 1001</h3><span class="pill ">PLACED</span>' in text
    assert "<b>Energy certificate</b>" in text
    assert '<span class="pill warn">ACTION_REQUIRED</span>' in text
    assert f'action="/_sandbox/assignments/{assignment_id}/input?from=page"' in text
    assert '<span class="pill bad">failed 500</span> <small>The callback answered 500' in text
    assert '<td class="path">/v1/orders</td>' in text


def test_a_page_shows_the_faults_that_are_on(box, client):
    client.post("/_sandbox/faults", json={"rules": [{"fault": "UNAVAILABLE"}]})
    assert "End all faults" in page(box)
    assert press(box, "faults").status_code == 303
    assert "End all faults" not in page(box)


@pytest.mark.parametrize(
    ("path", "fields", "shown"),
    [
        ("advance", {}, {"status": "ACTION_REQUIRED"}),
        ("status", {"status": "IN_PROCESS"}, {"status": "IN_PROCESS"}),
        (
            "appointment",
            {"scheduledAt": "2026-03-20T10:00"},
            {"scheduledAt": "2026-03-20T10:00:00.000000Z"},
        ),
        ("appointment", {"scheduledAt": ""}, {"status": "CREATED"}),
        ("estimate", {"estimatedDeliveryAt": "2026-04-01"}, {"estimatedDeliveryAt": "2026-04-01"}),
        ("nudge", {}, {"status": "CREATED"}),
    ],
)
def test_a_form_does_its_step_and_leads_back_to_the_page(box, client, path, fields, shown):
    assignment_id = client.order("17")["assignments"][0]["id"]
    answer = press(box, f"assignments/{assignment_id}/{path}", **fields)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/_sandbox/")
    after = client.get(f"/v1/assignments/{assignment_id}").json()
    assert after == after | shown
    assert "scheduledAt" in shown or "scheduledAt" not in after


def test_a_form_that_is_refused_leads_back_and_the_page_says_why(box, client):
    order = client.order("17")
    answer = press(box, f"assignments/{order['assignments'][0]['id']}/status", status="no")
    assert (
        answer.headers["Location"]
        == "/_sandbox/?refused=status%3A%20is%20required%2C%20in%20capitals"
    )
    text = Client(box, token=None).get(answer.headers["Location"]).text
    assert '<p class="refused bad" role="alert">status: is required, in capitals</p>' in text
    assert client.get(f"/v1/orders/{order['id']}").json() == order


def test_the_path_without_its_slash_leads_to_the_page(box):
    answer = Client(box, token=None).get("/_sandbox", allow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/_sandbox/")


@pytest.mark.parametrize("origin", ["http://elsewhere.test", "null", "http://sandbox.test:81"])
def test_a_page_of_another_site_cannot_press_a_button(box, client, origin):
    client.order("11")
    for query in "", "?from=page":
        answer = Client(box, token=None).post(
            f"/_sandbox/reset{query}", headers={"Origin": origin}, allow_redirects=False
        )
        assert (answer.status_code == 303) == bool(query)
    assert refusal(Client(box, token=None).post("/_sandbox/step", headers={"Origin": origin})) == (
        *(403, []),
    )
    assert list(box.workspace.orders) == ["1001"]


def test_nothing_that_was_sent_becomes_markup(box, hooked, callback):
    """A canary in every text that the page shows."""
    box.edit_property("201", {"objectReferenceId": CANARY})
    order = hooked.order("11", "17")
    for one in order["assignments"]:
        known = box.workspace.assignments[one["id"]]
        known |= {"products": [CANARY], "status": CANARY, "actionRequired": CANARY}
        known |= {"photographer": {"name": CANARY}, "scheduledAt": CANARY}
        known |= {"estimatedDeliveryAt": CANARY, "assignmentType": CANARY}
    box.workspace.orders[order["id"]] |= {"status": CANARY, "createdAt": CANARY}
    callback.error = ConnectionResetError(CANARY)
    box.nudge(order["assignments"][0]["id"])
    box.deliver()
    box.workspace.history[0]["payload"] |= {"event": CANARY, "orderId": CANARY}
    box.workspace.webhook |= {"url": CANARY, "authType": CANARY, "method": CANARY}
    hooked.get(f"/v1/{CANARY}")
    text = Client(box, token=None).get("/_sandbox/", params={"refused": CANARY}).text
    assert text.count("&lt;svg/onload=alert(1)&gt;") >= 18
    assert "<svg" not in text
    assert re.findall(r"\son\w+=", text.replace("/onload=", "")) == []


def test_nothing_is_loaded_from_elsewhere_and_no_other_script_can_run(box):
    answer = Client(box, token=None).get("/_sandbox/")
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert re.findall(r"(?:src|href)=\"(?!data:,)[^\"]*", answer.text) == []
    assert "http" not in answer.text.replace("http-equiv", "")


def test_the_secret_of_the_webhook_is_not_on_the_page(box, client):
    hook = {"url": "http://hook.test", "authType": "BEARER_TOKEN", "authSecret": "s3cret"}
    client.put("/v1/webhooks", json=hook)
    assert "s3cret" not in page(box)
