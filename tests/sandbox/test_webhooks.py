"""Webhook management (§4.1, §4.2) and the delivery of callbacks (§5.2, §6.1, §8)."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from tests.sandbox.conftest import HOOK, configure, refusal, ring

NOW = "2026-03-02T08:30:00.000000Z"


# §4.1


def test_4_1_a_new_webhook_answers_201_with_its_defaults(client):
    answer = client.put("/v1/webhooks", json={"url": HOOK})
    body = answer.json()
    assert uuid.UUID(body.pop("id"))
    assert (answer.status_code, body) == (
        201,
        {
            "url": HOOK,
            "method": "GET",
            "enabled": True,
            "authType": "NONE",
            "authHeaderName": "X-API-Key",
            "createdAt": NOW,
            "updatedAt": NOW,
            "hasAuthSecret": False,
        },
    )
    assert client.get("/v1/webhooks").json() == answer.json()


def test_4_1_replacing_answers_200_and_keeps_identity_and_history(box, client, clock):
    first = configure(client).json()
    ring(box)
    clock.move(minutes=1)
    answer = configure(client, url=f"{HOOK}/2", enabled=False)
    assert answer.status_code == 200
    assert answer.json() == first | {
        "url": f"{HOOK}/2",
        "enabled": False,
        "updatedAt": "2026-03-02T08:31:00.000000Z",
        "lastTriggeredAt": NOW,
    }
    assert len(client.get("/v1/webhooks/triggers").json()) == 1


def test_4_1_the_secret_is_write_only_and_kept_when_it_is_left_out(box, client, callback):
    answer = configure(client, authType="BEARER_TOKEN", authSecret="s3cret")
    assert answer.json()["hasAuthSecret"] is True
    assert "authSecret" not in answer.json()
    assert configure(client, authType="BEARER_TOKEN").status_code == 200
    assert "s3cret" not in client.get("/v1/webhooks").text
    assert ring(box, callback)["headers"]["Authorization"] == "Bearer s3cret"
    configure(client, authType="BEARER_TOKEN", authSecret="new")
    assert ring(box, callback)["headers"]["Authorization"] == "Bearer new"


def test_4_1_patch_disables_and_enables_without_removing(box, client, callback):
    configured = configure(client).json()
    answer = client.patch("/v1/webhooks", json={"enabled": False})
    assert (answer.status_code, answer.json()) == (200, configured | {"enabled": False})
    box.marketing_ready("201", "LINKEDIN")
    assert (list(box.pending), box.deliver()) == ([], 0)
    assert client.patch("/v1/webhooks", json={"enabled": True}).json() == configured
    ring(box)
    assert len(callback.requests) == 1


def test_4_1_what_waits_is_not_sent_once_the_webhook_is_disabled(box, client, callback):
    configure(client)
    box.marketing_ready("201", "LINKEDIN")
    client.patch("/v1/webhooks", json={"enabled": False})
    assert (box.deliver(), list(box.pending), callback.requests) == (0, [], [])


def test_4_1_delete_answers_204_stops_deliveries_and_deletes_the_history(box, client, callback):
    configure(client)
    ring(box)
    box.marketing_ready("201", "LINKEDIN")
    answer = client.delete("/v1/webhooks")
    assert (answer.status_code, answer.content) == (204, b"")
    assert (box.deliver(), len(callback.requests)) == (0, 1)
    assert configure(client).status_code == 201
    assert client.get("/v1/webhooks/triggers").json() == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/webhooks"),
        ("PATCH", "/v1/webhooks"),
        ("DELETE", "/v1/webhooks"),
        ("GET", "/v1/webhooks/triggers"),
    ],
)
def test_4_1_without_a_webhook_it_is_404(client, method, path):
    assert refusal(client.request(method, path, json={"enabled": True})) == (404, [])


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"url": None}, "url"),
        ({"url": "ftp://hook.test"}, "url"),
        ({"url": "http://"}, "url"),
        ({"url": "http://hook.test:x/"}, "url"),
        ({"url": 5}, "url"),
        ({"method": "BREW"}, "method"),
        ({"enabled": "yes"}, "enabled"),
        ({"authType": "BASIC"}, "authType"),
        ({"authType": "HEADER"}, "authSecret"),
        ({"authType": "BEARER_TOKEN"}, "authSecret"),
        ({"authType": "QUERY_PARAMETER", "authParameterName": "key"}, "authSecret"),
        ({"authType": "QUERY_PARAMETER", "authSecret": "s"}, "authParameterName"),
        ({"authType": "HEADER", "authSecret": "a\r\nX: b"}, "authSecret"),
        ({"authType": "HEADER", "authSecret": "s", "authHeaderName": "a b"}, "authHeaderName"),
        ({"authSecret": 5}, "authSecret"),
        *(
            ({"authType": "HEADER", "authSecret": "s", "authHeaderName": name}, "authHeaderName")
            for name in ("content-type", "X-EVENT-TYPE", "X-Order-ID", "Host", "Content-Length")
        ),
    ],
)
def test_4_1_a_webhook_that_cannot_work_is_refused_by_name(box, client, fields, named):
    assert refusal(configure(client, **fields)) == (400, [named])
    assert box.workspace.webhook is None


def test_4_1_patch_needs_the_flag(client):
    configure(client)
    assert refusal(client.patch("/v1/webhooks", json={"enabled": "no"})) == (400, ["enabled"])


# §4.2


@pytest.mark.parametrize("path", ["/webhook", "/webhook/"])
def test_4_2_the_deprecated_paths_do_the_same(box, client, path):
    assert client.put(path, json={"url": HOOK, "method": "POST"}).status_code == 201
    assert client.post(path, json={"url": HOOK, "method": "POST"}).status_code == 200
    assert client.get(path).json() == client.get("/v1/webhooks").json()
    ring(box)
    assert client.get("/webhook/history").json() == client.get("/v1/webhooks/triggers").json()
    assert client.patch("/webhook/enabled?enabled=false").json()["enabled"] is False
    assert client.delete(path).status_code == 204
    assert refusal(client.put(path, json={})) == (400, ["url"])


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/webhook"),
        ("GET", "/webhook/"),
        ("PATCH", "/webhook/enabled?enabled=true"),
        ("GET", "/webhook/history"),
    ],
)
def test_9_rule_2_the_deprecated_paths_are_gone_on_2026_09_10(client, clock, method, path):
    configure(client)
    clock.now = datetime(2026, 9, 9, 23, 59, 59, tzinfo=UTC)
    assert client.request(method, path).status_code == 200
    clock.now = datetime(2026, 9, 10, tzinfo=UTC)
    assert refusal(client.request(method, path)) == (410, [])
    assert client.get("/v1/webhooks").status_code == 200


@pytest.mark.parametrize("path", ["/webhook", "/webhook/", "/webhook/enabled", "/webhook/history"])
def test_9_rule_2_a_path_that_is_gone_is_gone_for_every_method(client, clock, path):
    methods = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    assert 405 in {client.request(one, path, json={}).status_code for one in methods}
    clock.now = datetime(2026, 9, 10, tzinfo=UTC)
    assert {client.request(one, path, json={}).status_code for one in methods} == {410}
