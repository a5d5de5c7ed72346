"""The delivery of callbacks (§5.2, §6.1, §8)."""

import html
import json

import pytest

from sandbox.state import callbacks
from tests.sandbox.conftest import HOOK, configure, ring

NOW = "2026-03-02T08:30:00.000000Z"


# §5.2


@pytest.mark.rule(
    "2.1 authType; authHeaderName; authParameterName",
    "5.2 NONE; HEADER; QUERY_PARAMETER; BEARER_TOKEN",
)
@pytest.mark.parametrize(
    ("fields", "query", "headers"),
    [
        ({"authType": "NONE"}, "", {}),
        ({"authType": "HEADER", "authSecret": "s3"}, "", {"X-Api-Key": "s3"}),
        (
            {"authType": "HEADER", "authSecret": "s3", "authHeaderName": "X-Hook"},
            *("", {"X-Hook": "s3"}),
        ),
        (
            {"authType": "QUERY_PARAMETER", "authSecret": "s&3", "authParameterName": "key"},
            *("key=s%263", {}),
        ),
        (
            {
                "authType": "QUERY_PARAMETER",
                "authSecret": "s3",
                "authParameterName": "key",
                "url": f"{HOOK}?a=1",
            },
            *("a=1&key=s3", {}),
        ),
        ({"authType": "BEARER_TOKEN", "authSecret": "s3"}, "", {"Authorization": "Bearer s3"}),
    ],
)
def test_5_2_each_auth_type_authenticates_in_its_way(box, client, callback, fields, query, headers):
    configure(client, **fields)
    seen = ring(box, callback)
    events = {"Content-Type": "application/json", "X-Event-Type": "MARKETING_MATERIALS_READY"}
    assert (seen["query"], seen["headers"]) == (query, events | headers)


# §6.1


@pytest.mark.rule("2.1 method", "6.1 rule 1")
@pytest.mark.parametrize("method", ["POST", "PUT", "GET"])
def test_6_1_a_callback_carries_its_event_by_the_method_configured(box, client, callback, method):
    configure(client, method=method)
    seen = ring(box, callback)
    assert (seen["method"], seen["path"]) == (method, "/callback")
    assert seen["event"] == {
        "event": "MARKETING_MATERIALS_READY",
        "timestamp": NOW,
        "propertyId": "201",
        "targetPlatform": "LINKEDIN",
    }


@pytest.mark.rule("6.1 rule 2")
def test_6_1_rule_2_a26_order_events_carry_their_type_and_their_order(box, hooked, callback):
    order = hooked.order("18")
    box.step()
    assert box.deliver() == 3
    assert [one["headers"] for one in callback.requests] == [
        {"Content-Type": "application/json", "X-Event-Type": kind, "X-Order-Id": order["id"]}
        for kind in callback.kinds()
    ]


def test_callbacks_are_sent_in_order_by_whoever_asks_for_it(box, hooked, callback):
    hooked.order("11", "17")
    while box.step():
        pass
    waiting = list(box.pending)
    assert (box.deliver(), callback.events, list(box.pending)) == (len(waiting), waiting, [])


@pytest.mark.rule("7 time-out")
def test_7_a_time_out_is_recorded_without_a_status(box, hooked, callback):
    callback.error = TimeoutError("slow")
    ring(box)
    (record,) = hooked.get("/v1/webhooks/triggers").json()
    assert (record["success"], record["errorMessage"]) == (
        *(False, "Time-out: no answer within 30 seconds"),
    )
    assert "statusCode" not in record
    assert "responseBody" not in record


@pytest.mark.rule("6.1 rule 3", "7 time-out")
def test_6_1_rule_3_an_answer_that_comes_too_late_is_a_time_out(box, hooked, monkeypatch):
    monkeypatch.setattr(callbacks, "SECONDS", 0)
    ring(box)
    (record,) = hooked.get("/v1/webhooks/triggers").json()
    assert (record["success"], record["errorMessage"], "statusCode" in record) == (
        *(False, "Time-out: no answer within 0 seconds", False),
    )


def test_a_broken_connection_is_recorded_without_the_secret(box, client, callback):
    configure(client, authType="QUERY_PARAMETER", authParameterName="k", authSecret="s/3cret")
    callback.error = ConnectionResetError("http://hook.test/?k=s%2F3cret and s/3cret")
    ring(box)
    (record,) = client.get("/v1/webhooks/triggers").json()
    assert record["errorMessage"] == "ConnectionError: http://hook.test/?k=*** and ***"


ODD_SECRET = 'a<s&3"krypton/é'


@pytest.mark.rule("2.2 responseBody")
@pytest.mark.parametrize(
    "form",
    [
        ODD_SECRET,
        "a%3Cs%263%22krypton%2F%C3%A9",
        json.dumps(ODD_SECRET)[1:-1],
        json.dumps(ODD_SECRET, ensure_ascii=False)[1:-1],
        html.escape(ODD_SECRET),
    ],
)
def test_2_1_an_answer_that_repeats_the_secret_is_kept_without_it(box, client, callback, form):
    how = {"authType": "QUERY_PARAMETER", "authParameterName": "k"}
    configure(client, **how, authSecret="the one before")
    configure(client, **how, authSecret=ODD_SECRET)
    callback.status = 401
    callback.body = f"not {form}, nor the one before".encode()
    ring(box)
    callback.body = b"x" * 4090 + form.encode()
    ring(box)
    cut, whole = (one["responseBody"] for one in client.get("/v1/webhooks/triggers").json())
    assert (cut, whole) == ("x" * 4090 + "***", "not ***, nor ***")
    shown = client.get("/_sandbox/state").text + client.get("/_sandbox/").text
    assert [one for one in ("krypton", "before") if one in shown] == []


@pytest.mark.rule("2.1 lastTriggeredAt", "6.1 rule 4")
@pytest.mark.parametrize("status", [200, 500])
def test_6_1_rule_4_last_triggered_at_is_updated_either_way(box, hooked, callback, clock, status):
    callback.status = status
    assert "lastTriggeredAt" not in hooked.get("/v1/webhooks").json()
    clock.move(hours=1)
    ring(box)
    last = hooked.get("/v1/webhooks").json()["lastTriggeredAt"]
    assert last == "2026-03-02T09:30:00.000000Z"


@pytest.mark.rule("4.1 GET triggers", "6.1 rule 7", "8 history")
def test_8_the_last_ten_attempts_are_kept_the_newest_first(box, hooked, clock):
    for _ in range(13):
        clock.move(minutes=1)
        ring(box)
    minutes = [one["triggeredAt"][14:16] for one in hooked.get("/v1/webhooks/triggers").json()]
    assert minutes == ["43", "42", "41", "40", "39", "38", "37", "36", "35", "34"]


@pytest.mark.rule("2.2 responseBody", "8 response body")
def test_8_the_answer_of_a_failure_is_cut_at_4_kb(box, hooked, callback):
    callback.status, callback.body = 500, b"x" * 10_000
    ring(box)
    (record,) = hooked.get("/v1/webhooks/triggers").json()
    assert record["responseBody"] == "x" * 4096


@pytest.mark.rule("2.2 errorMessage", "8 error message")
def test_8_an_error_message_is_cut_at_1_kb(box, hooked, callback):
    callback.error = ConnectionResetError("y" * 5_000)
    ring(box)
    (record,) = hooked.get("/v1/webhooks/triggers").json()
    assert record["errorMessage"] == "ConnectionError: " + "y" * 1007


def test_whoever_is_called_may_call_back(box, hooked, callback):
    answers = []
    callback.then = lambda: answers.append(hooked.get("/v1/webhooks").status_code)
    ring(box)
    assert answers == [200]


@pytest.mark.rule("4.1 DELETE")
def test_4_1_a_webhook_that_was_removed_meanwhile_leaves_no_record(box, hooked, callback):
    callback.then = lambda: (hooked.delete("/v1/webhooks"), configure(hooked))
    ring(box)
    assert hooked.get("/v1/webhooks/triggers").json() == []
    assert "lastTriggeredAt" not in hooked.get("/v1/webhooks").json()


@pytest.mark.rule("4.1 body authSecret", "5.2 secret")
def test_4_1_the_secret_is_write_only_and_kept_when_it_is_left_out(box, client, callback):
    answer = configure(client, authType="BEARER_TOKEN", authSecret="s3cret")
    assert answer.json()["hasAuthSecret"] is True
    assert "authSecret" not in answer.json()
    assert configure(client, authType="BEARER_TOKEN").status_code == 200
    assert "s3cret" not in client.get("/v1/webhooks").text
    assert ring(box, callback)["headers"]["Authorization"] == "Bearer s3cret"
    configure(client, authType="BEARER_TOKEN", authSecret="new")
    assert ring(box, callback)["headers"]["Authorization"] == "Bearer new"


@pytest.mark.rule("2.2 responseBody", "6.1 rule 3")
def test_the_answer_of_a_redirect_is_kept_and_nobody_follows_it(box, hooked, callback):
    callback.status, callback.body = 302, b"moved"
    callback.headers = [("Location", "http://hook.test/elsewhere")]
    ring(box)
    (record,) = hooked.get("/v1/webhooks/triggers").json()
    assert (record["success"], record["statusCode"], record["responseBody"]) == (
        False,
        302,
        "moved",
    )
    assert len(callback.requests) == 1


def test_after_the_webhook_is_deleted_nothing_of_before_is_sent(box, hooked, callback, clock):
    rules = [{"fault": "DELAYED", "seconds": 60}]
    hooked.post("/_sandbox/faults", json={"rules": rules})
    box.marketing_ready("201", "LINKEDIN")
    box.deliver()
    assert hooked.delete("/v1/webhooks").status_code == 204
    assert configure(hooked).status_code == 201
    clock.move(seconds=61)
    hooked.post("/_sandbox/faults", json={})
    assert (box.deliver(), callback.events) == (0, [])
