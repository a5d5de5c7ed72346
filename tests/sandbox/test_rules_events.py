"""Rules of access, events, limits and versions that stand in no other file here."""

import pytest
import requests

from sandbox.api import webhooks
from sandbox.api.operations import OPERATIONS
from sandbox.state import callbacks
from tests.sandbox.conftest import HOOK, Client, finished, refusal
from tests.wsgi import WsgiAdapter

# §5


@pytest.mark.rule("5.1 separate")
def test_5_1_the_token_is_not_the_secret_of_the_callback(box, client, callback):
    hook = {"url": HOOK, "method": "POST", "authType": "BEARER_TOKEN", "authSecret": "s3cret"}
    client.put("/v1/webhooks", json=hook)
    assert refusal(Client(box, token="s3cret").get("/v1/webhooks")) == (401, [])
    box.marketing_ready("201", "LINKEDIN")
    box.deliver()
    assert callback.requests[0]["headers"]["Authorization"] == "Bearer s3cret"


@pytest.mark.rule("2.1 authSecret", "5.2 secret")
def test_5_2_no_endpoint_returns_the_secret(box, client):
    hook = {"url": HOOK, "authType": "QUERY_PARAMETER", "authParameterName": "key"}
    answers = [client.put("/v1/webhooks", json=hook | {"authSecret": "s3cret"})]
    box.marketing_ready("201", "LINKEDIN")
    box.deliver()
    answers.append(client.patch("/v1/webhooks", json={"enabled": True}))
    gets = [one.path for one in OPERATIONS if one.method == "GET" and "{" not in one.path]
    answers += [client.get(path) for path in gets]
    assert [one.url for one in answers if "s3cret" in one.text] == []


# §6


@pytest.mark.rule("1 callback", "6.1 rule 1")
def test_6_1_rule_1_every_kind_of_event_goes_to_the_one_callback(box, hooked, callback):
    finished(box, hooked, "11", "13", "17")
    box.deliver()
    assert {one["path"] for one in callback.requests} == {"/callback"}
    assert sorted(set(callback.kinds())) == [
        "APPOINTMENT_DATE_UPDATED",
        "ASSIGNMENT_STATUS_UPDATED",
        "ESTIMATED_DELIVERY_UPDATED",
        "MARKETING_MATERIALS_READY",
        "ORDER_STATUS_UPDATED",
        "PHOTOGRAPHER_BOOKED",
        "VISUALS_READY",
    ]


@pytest.mark.rule("6.1 rule 6")
def test_6_1_rule_6_deliveries_carry_timestamp_and_changes_occurred_at(box, hooked):
    finished(box, hooked, "11", "17")
    deliveries = {"VISUALS_READY", "PHOTOGRAPHER_BOOKED", "MARKETING_MATERIALS_READY"}
    for event in box.pending:
        assert ("timestamp" in event, "occurredAt" in event) == (
            event["event"] in deliveries,
            event["event"] not in deliveries,
        )


@pytest.mark.rule(
    "6.3 VISUALS_READY next; PHOTOGRAPHER_BOOKED; ORDER_STATUS_UPDATED",
    "6.3 MARKETING_MATERIALS_READY",
)
def test_6_3_the_next_step_of_each_event_answers(box, hooked):
    finished(box, hooked, "11")
    told = {one["event"]: one for one in box.pending}
    ready = told["VISUALS_READY"]
    query = {"product": ready["product"], "visualType": ready["visualType"]}
    path = f"/materials/{ready['orderId']}/{ready['assignmentId']}"
    assert len(hooked.get(path, params=query).json()["materials"]) == 1
    booked = hooked.get(f"/v1/assignments/{told['PHOTOGRAPHER_BOOKED']['assignmentId']}").json()
    assert booked["photographer"]["id"] == told["PHOTOGRAPHER_BOOKED"]["photographerId"]
    changed = told["ORDER_STATUS_UPDATED"]
    shown = hooked.get(f"/v1/orders/{changed['orderId']}").json()
    assert shown["status"] == changed["newStatus"] == "COMPLETED"
    marketing = told["MARKETING_MATERIALS_READY"]
    path = f"/v1/real-estate-properties/{marketing['propertyId']}/marketing-materials"
    (material,) = hooked.get(path).json()["marketingMaterials"]
    assert material["targetPlatform"] == marketing["targetPlatform"]


# §8, §9


@pytest.mark.rule("8 response time")
def test_8_a_callback_has_30_seconds(box, hooked, callback):
    class Timed(WsgiAdapter):
        def send(self, request, **options):
            seen.append(options["timeout"])
            return super().send(request, **options)

    seen: list = []
    box.http = requests.Session()
    box.http.mount("http://hook.test", Timed(callback))
    box.marketing_ready("201", "LINKEDIN")
    assert (box.deliver(), seen, callbacks.SECONDS) == (1, [30], 30)


@pytest.mark.rule("4 all", "9 rule 1")
def test_9_rule_1_current_endpoints_begin_with_v1():
    paths = {one.path for one in OPERATIONS}
    others = {path for path in paths if not path.startswith(("/v1/", "/_sandbox"))}
    assert others == {
        *("/webhook", "/webhook/", "/webhook/enabled", "/webhook/history"),  # §4.2
        *("/materials/{orderId}/{assignmentId}", "/auth/token"),  # §4.5, A6
        *("/files/{key}/{quality}/{name}", "/tours/{key}", "/openapi.json"),
    }


@pytest.mark.rule("2 ids")
def test_2_all_ids_in_payloads_are_strings(box, hooked):
    hooked.order("11", "12", "13", "17")
    while box.step():
        pass
    ids = [
        value
        for one in box.pending
        for name, value in one.items()
        if name.endswith("Id") and name != "objectReferenceId"
    ]
    assert len(ids) > 30
    assert {type(one) for one in ids} == {str}


@pytest.mark.rule("9 rule 2")
@pytest.mark.parametrize("path", webhooks.DEPRECATED)
def test_9_rule_2_a_path_that_is_gone_is_gone_for_every_method(client, clock, path):
    methods = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    assert 405 in {client.request(one, path, json={}).status_code for one in methods}
    clock.now = webhooks.REMOVED_AT
    assert {client.request(one, path, json={}).status_code for one in methods} == {410}
