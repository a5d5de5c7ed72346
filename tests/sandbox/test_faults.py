"""Faults that the world adds, each by its rule."""

import itertools
import json
import time
from datetime import timedelta

import pytest
import requests

from sandbox.app import Sandbox
from sandbox.faults.rules import FAULTS, OF_FILES
from sandbox.state.workspace import Workspace
from tests.sandbox.conftest import refusal

ONE = "/v1/real-estate-properties/201"


def faults(client, *rules, **more):
    answer = client.post("/_sandbox/faults", json={"rules": list(rules), **more})
    assert answer.status_code == 200, answer.text


def title(box):
    return box.workspace.properties["201"]["title"]


@pytest.mark.parametrize(
    ("fault", "status", "retry_after"),
    [
        ("TOO_MANY_REQUESTS", 429, "7"),
        ("UNAVAILABLE", 503, "7"),
        ("SERVER_ERROR", 500, None),
        ("EXPIRED_TOKEN", 401, None),
    ],
)
def test_a_refusing_fault_answers_its_status_and_does_nothing(
    box, client, fault, status, retry_after
):
    before = title(box)
    faults(client, {"fault": fault, "seconds": 7, "times": 1})
    answer = client.patch(ONE, json={"title": "New"})
    assert (refusal(answer), answer.headers.get("Retry-After")) == ((status, []), retry_after)
    assert title(box) == before
    assert box.calls[-1] == ("PATCH", ONE, {"title": "New"}, status)
    assert client.patch(ONE, json={"title": "New"}).status_code == 200


def test_a_time_out_after_the_effect_leaves_the_effect(box, client):
    order = client.order("11")
    faults(client, {"fault": "TIME_OUT_AFTER", "method": "PUT", "path": "/v1/orders/*/cancel"})
    with pytest.raises(requests.ReadTimeout):
        client.put(f"/v1/orders/{order['id']}/cancel", json={"userId": "101"})
    assert client.get(f"/v1/orders/{order['id']}").json()["status"] == "CANCELLED"


def test_an_answer_that_is_cut_off_leaves_the_effect(box, client):
    faults(client, {"fault": "CUT_OFF", "times": 1})
    with pytest.raises(requests.ConnectionError):
        client.patch(ONE, json={"title": "New"})
    assert title(box) == "New"


def test_a_slow_answer_comes_whole(client):
    faults(client, {"fault": "SLOW", "seconds": 0.05})
    started = time.monotonic()
    assert client.get(ONE).json()["id"] == "201"
    assert time.monotonic() - started >= 0.05


def test_a_read_that_lags_behind_shows_what_was_there_before_the_last_changes(box, client):
    before = client.get(ONE).json()
    faults(client, {"fault": "LAGGING", "seconds": 5, "times": 2})
    assert client.patch(ONE, json={"title": "New"}).json()["title"] == "New"
    assert client.patch(ONE, json={"title": "Newer"}).json()["title"] == "Newer"
    assert client.get(ONE).json() == before
    box.set_clock(box.now() + timedelta(seconds=6))
    assert client.get(ONE).json()["title"] == "Newer"


def test_a_read_that_lags_behind_does_not_show_what_was_just_made(client):
    faults(client, {"fault": "LAGGING", "seconds": 5, "times": 2, "path": "*/by-reference/*"})
    made = client.post("/v1/real-estate-properties", json={"objectReferenceId": "NEW"}).json()
    by_reference = "/v1/real-estate-properties/by-reference/NEW"
    listed = client.get("/v1/real-estate-properties").json()["content"]
    assert refusal(client.get(by_reference)) == (404, [])
    assert client.get(f"/v1/real-estate-properties/{made['id']}").json() == made
    assert refusal(client.get(by_reference)) == (404, [])
    assert client.get(by_reference).json() == made
    assert client.get("/v1/real-estate-properties").json()["content"] == listed


def test_a_read_that_lags_behind_leaves_the_order_of_the_list_as_it_is(client):
    for reference in ("NEW", "NEWER"):
        client.post("/v1/real-estate-properties", json={"objectReferenceId": reference})
    listed = client.get("/v1/real-estate-properties").json()["content"]
    faults(client, {"fault": "LAGGING", "seconds": 5, "times": 1})
    client.get("/v1/real-estate-properties")
    assert client.get("/v1/real-estate-properties").json()["content"] == listed


@pytest.fixture
def picture(box, client) -> str:
    """Return the path of the file of a picture."""
    box.marketing_ready("201", "LINKEDIN")
    (one,) = client.get(f"{ONE}/marketing-materials").json()["marketingMaterials"]
    return one["url"].removeprefix("http://sandbox.test")


def test_a_file_that_is_shortened_is_half_of_it_and_says_that_it_is_all(client, picture):
    whole = client.get(picture).content
    faults(client, {"fault": "SHORTENED", "path": "/files/*", "times": 1})
    answer = client.get(picture)
    assert answer.content == whole[: len(whole) // 2]
    assert answer.headers["Content-Length"] == str(len(whole) // 2)
    assert client.get(picture).content == whole


def test_a_file_leads_into_the_network_of_who_asks(client, picture):
    faults(client, {"fault": "LED_INSIDE", "path": "/files/*"})
    answer = client.get(picture, allow_redirects=False)
    expected = "https://169.254.169.254/latest/meta-data/"
    assert (answer.status_code, answer.headers["Location"]) == (302, expected)


def test_a_file_does_not_end(box, client, picture):
    whole = client.get(picture).content
    faults(client, {"fault": "ENDLESS", "path": "/files/*"})
    begun = []
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": picture, "HTTP_HOST": "sandbox.test"}
    body = box(environ, lambda *head: begun.append(dict(head[1])))
    assert list(itertools.islice(body, 1000)) == [whole] * 1000
    assert "Content-Length" not in begun[0]


@pytest.mark.parametrize("fault", ["SERVER_ERROR", "SHORTENED", "LED_INSIDE"])
def test_only_a_rule_of_files_acts_on_files_and_on_nothing_else(client, picture, fault):
    whole = client.get(picture).content
    faults(client, {"fault": fault, "path": "*"})
    assert client.get(picture).content == whole
    faults(client, {"fault": fault, "path": "/files/*"})
    assert client.get(ONE).json()["id"] == "201"


def ready(box, *platforms):
    for one in platforms:
        box.marketing_ready("201", one)


def told(callback):
    return [one.get("targetPlatform") for one in callback.events]


def test_a_dropped_callback_is_recorded_as_failed_and_a_lost_one_is_not(box, hooked, callback):
    faults(hooked, {"fault": "DROPPED", "times": 1}, {"fault": "LOST", "times": 1})
    ready(box, "LINKEDIN", "INSTAGRAM", "REAL_ESTATE_BROCHURE")
    assert (box.deliver(), told(callback)) == (1, ["REAL_ESTATE_BROCHURE"])
    assert [
        (one["payload"]["targetPlatform"], one["success"], one.get("errorMessage"))
        for one in box.workspace.history
    ] == [
        ("LINKEDIN", False, "The connection was lost"),
        ("REAL_ESTATE_BROCHURE", True, None),
    ]


@pytest.mark.rule("6.1 rule 5")
def test_6_1_rule_5_a_callback_may_be_repeated(box, hooked, callback):
    faults(hooked, {"fault": "REPEATED", "times": 1})
    ready(box, "LINKEDIN")
    assert (box.deliver(), told(callback)) == (2, ["LINKEDIN", "LINKEDIN"])
    assert callback.events[0] == callback.events[1]


def test_a_reordered_callback_comes_after_all_that_wait(box, hooked, callback):
    faults(hooked, {"fault": "REORDERED", "times": 1})
    ready(box, "LINKEDIN", "INSTAGRAM", "REAL_ESTATE_BROCHURE")
    assert box.deliver() == 3
    assert told(callback) == ["INSTAGRAM", "REAL_ESTATE_BROCHURE", "LINKEDIN"]


def test_a_rule_that_reorders_without_end_loses_nothing(box, hooked, callback):
    faults(hooked, {"fault": "REORDERED"})
    ready(box, "LINKEDIN", "INSTAGRAM", "REAL_ESTATE_BROCHURE")
    assert (box.deliver(), box.delayed) == (3, 0)
    assert told(callback) == ["REAL_ESTATE_BROCHURE", "LINKEDIN", "INSTAGRAM"]


def test_a_delayed_callback_comes_when_its_time_has_come(box, hooked, callback, clock):
    faults(hooked, {"fault": "DELAYED", "seconds": 60, "times": 1})
    ready(box, "LINKEDIN", "INSTAGRAM")
    assert (box.deliver(), told(callback), box.delayed) == (1, ["INSTAGRAM"], 1)
    clock.move(seconds=60)
    assert (box.deliver(), told(callback), box.delayed) == (1, ["INSTAGRAM", "LINKEDIN"], 0)


def test_a_rule_that_delays_without_end_delays_each_event_once(box, hooked, callback, clock):
    faults(hooked, {"fault": "DELAYED", "seconds": 60})
    ready(box, "LINKEDIN")
    assert (box.deliver(), box.delayed) == (0, 1)
    clock.move(seconds=60)
    assert (box.deliver(), box.delayed, told(callback)) == (1, 0, ["LINKEDIN"])


def test_what_is_delayed_outlives_a_restart(box, hooked, callback, clock):
    faults(hooked, {"fault": "DELAYED", "seconds": 60})
    ready(box, "LINKEDIN")
    box.deliver()
    state = json.loads(json.dumps(box.workspace.to_json()))
    later = Sandbox(workspace=Workspace.from_json(state), now=clock, http=box.http)
    clock.move(seconds=60)
    assert (later.deliver(), told(callback)) == (1, ["LINKEDIN"])
    del state["delayed"]
    assert Workspace.from_json(state).delayed == []


def test_a_callback_may_carry_the_secret_before_the_last_change(box, client, callback):
    hook = {"url": "http://hook.test/", "method": "POST", "authType": "BEARER_TOKEN"}
    client.put("/v1/webhooks", json=hook | {"authSecret": "first"})
    client.put("/v1/webhooks", json=hook | {"authSecret": "second"})
    faults(client, {"fault": "OLD_SECRET", "times": 1})
    ready(box, "LINKEDIN", "LINKEDIN")
    box.deliver()
    assert [one["headers"]["Authorization"] for one in callback.requests] == [
        *("Bearer first", "Bearer second"),
    ]
    assert "first" not in client.get("/v1/webhooks").text


def test_a_rule_acts_on_its_event_alone(box, hooked, callback):
    hooked.order("18")
    faults(hooked, {"fault": "LOST", "event": "ORDER_STATUS_UPDATED"})
    box.step()
    box.deliver()
    assert callback.kinds() == ["ASSIGNMENT_STATUS_UPDATED", "ESTIMATED_DELIVERY_UPDATED"]


def outcome(client, path):
    try:
        answer = client.get(path)
    except requests.RequestException as error:
        return type(error).__name__
    return answer.status_code, answer.content


def run(box, client, callback, fault, seed):
    """What clients and the callback see of twenty chances of a fault, and what is held back."""
    callback.requests.clear()
    wait = {"seconds": 60} if fault in ("DELAYED", "LAGGING") else {}
    faults(client, {"fault": fault, "chance": 0.5, **wait}, seed=seed)
    (only,) = box.workspace.assignments
    answers = [outcome(client, ONE) for _ in range(20)]
    for number in range(20):
        box.set_estimate(only, f"2026-05-{number % 28 + 1:02}")
        box.nudge(only)
    box.deliver()
    seen = [(one["event"], one["headers"]) for one in callback.requests]
    held = [one["event"] for one in box.workspace.delayed]
    records = [(one["payload"], one["success"]) for one in box.workspace.history]
    client.post("/_sandbox/faults", json={})
    box.workspace.delayed.clear()
    return answers, seen, held, records


@pytest.mark.parametrize("fault", sorted(FAULTS - OF_FILES))
def test_every_fault_happens_and_can_be_repeated_by_its_seed(box, hooked, callback, fault):
    order = hooked.order("17")
    box.set_status(order["assignments"][0]["id"], "ACTION_REQUIRED")
    box.edit_property("201", {"title": "What a copy that lags behind does not show"})
    secret = {"url": "http://hook.test/callback", "method": "POST", "authType": "BEARER_TOKEN"}
    hooked.put("/v1/webhooks", json=secret | {"authSecret": "s"})
    box.deliver()
    calm = run(box, hooked, callback, "SLOW", 0)
    first = run(box, hooked, callback, fault, 7)
    assert run(box, hooked, callback, fault, 7) == first
    if fault not in ("SLOW", "LATE"):
        assert first != calm
        assert run(box, hooked, callback, fault, 8) != first


def test_a_misspelt_member_ends_no_faults(box, client):
    faults(client, {"fault": "SLOW", "path": "/nowhere"})
    refused = client.post("/_sandbox/faults", json={"rule": [{"fault": "SLOW"}]})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "rule")
    assert [one.path for one in box.faults.rules] == ["/nowhere"]
