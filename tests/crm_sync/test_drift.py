"""What somebody else changed at the webhook is noticed by the next poll and repaired (I26)."""

import pytest

from crm_sync.models import ReceivedEvent, WebhookMonitor, Workspace
from crm_sync.webhook.configuration import NoneNotAllowed, OnlyHere, configure, repair
from sandbox.interface.switches import SWITCHES
from tests.crm_sync.polls import apply, happen, monitor_of, now_utc, poll_now, sources

DRIFTS = {
    "url": ({"url": "http://elsewhere.test/hook"}, "http://elsewhere.test/hook"),
    "method": ({"method": "GET"}, "GET"),
    "enabled": ({"enabled": False}, "false"),
    "authType": ({"authType": "NONE"}, "NONE"),
    "authHeaderName": ({"authHeaderName": "X-Other"}, "X-Other"),
}


def drift(workspace: Workspace) -> dict[str, dict[str, str]]:
    return monitor_of(workspace).drift


def put(workspace: Workspace, box, **changes) -> None:
    """Another client replaces the configuration; what it leaves out keeps or gets its default."""
    held = box.workspace.webhook
    kept = {name: held[name] for name in ("url", "method", "enabled", "authType")}
    workspace.client().put_webhook(kept | changes)


def arrives(box) -> bool:
    before = ReceivedEvent.objects.count()
    happen(box, 1)
    return ReceivedEvent.objects.count() == before + 1


def puts(box) -> list[dict]:
    return [body for method, _, body, _ in box.calls if method == "PUT"]


def test_a_webhook_as_we_set_it_shows_no_drift(box, workspace):
    poll_now(workspace)
    assert (drift(workspace), monitor_of(workspace).drift_since) == ({}, None)


@pytest.mark.rule("I26", "2.1 enabled", "4.1 body authSecret", "8 callbacks")
@pytest.mark.parametrize("name", DRIFTS)
def test_each_difference_is_named_by_the_next_poll_and_mended_by_one_action(box, workspace, name):
    changes, theirs = DRIFTS[name]
    secret = box.workspace.webhook["authSecret"]
    ours = str(box.workspace.webhook[name])
    put(workspace, box, **changes)
    now = now_utc()
    poll_now(workspace, at=now)
    assert drift(workspace) == {
        name: {"theirs": theirs, "ours": "true" if name == "enabled" else ours}
    }
    assert monitor_of(workspace).drift_since == now
    poll_now(workspace)
    assert monitor_of(workspace).drift_since == now  # since it was noticed first
    box.calls.clear()

    repair(workspace, now=now_utc())
    assert drift(workspace) == {}
    assert ["authSecret" in body for body in puts(box)] == [False]  # §4.1: left out, it is kept
    assert box.workspace.webhook["authSecret"] == secret
    assert (box.workspace.webhook["method"], box.workspace.webhook["enabled"]) == ("POST", True)
    assert ("DELETE", "/v1/webhooks") not in {(method, path) for method, path, _, _ in box.calls}
    assert monitor_of(workspace).due_at <= now_utc()
    poll_now(workspace)
    assert (drift(workspace), monitor_of(workspace).drift_since) == ({}, None)
    assert arrives(box)


@pytest.mark.rule("I26")
@pytest.mark.parametrize("told_by", SWITCHES["noWebhook"].positions)
def test_a_deleted_webhook_is_named_and_made_again_with_our_secret(box, workspace, told_by):
    box.switches["noWebhook"] = told_by
    secret = box.workspace.webhook["authSecret"]
    workspace.client().delete_webhook()
    poll_now(workspace)
    assert drift(workspace) == {
        "webhook": {"theirs": "none configured", "ours": workspace.callback_url}
    }
    assert repair(workspace, now=now_utc()).status == 201
    assert box.workspace.webhook["authSecret"] == secret
    poll_now(workspace)
    assert (drift(workspace), arrives(box)) == ({}, True)


@pytest.mark.rule("2.1 hasAuthSecret")
def test_a_webhook_without_a_secret_gets_ours(box, workspace):
    put(workspace, box, authType="NONE")
    del box.workspace.webhook["authSecret"]
    poll_now(workspace)
    assert set(drift(workspace)) == {"authType", "hasAuthSecret"}
    repair(workspace, now=now_utc())
    poll_now(workspace)
    assert (drift(workspace), arrives(box)) == ({}, True)


@pytest.mark.rule("2.2 statusCode", "5.2 secret")
def test_another_secret_shows_with_the_first_callback_that_we_refuse(box, workspace):
    put(workspace, box, authSecret="theirs")
    poll_now(workspace)
    assert drift(workspace) == {}  # no endpoint returns it
    assert not arrives(box)
    poll_now(workspace)
    assert drift(workspace) == {"authSecret": {"theirs": "another secret", "ours": "ours"}}
    assert sources() == ["HISTORY"]  # the event itself is not lost
    poll_now(workspace)
    assert set(drift(workspace)) == {"authSecret"}
    repair(workspace, now=now_utc())
    assert drift(workspace) == {}
    assert arrives(box)
    poll_now(workspace)
    assert drift(workspace) == {}


def test_another_secret_that_was_set_with_the_rest_takes_a_second_mending(box, workspace):
    put(workspace, box, url="http://elsewhere.test/", authSecret="theirs")
    happen(box, 2)
    poll_now(workspace)
    assert set(drift(workspace)) == {"url"}
    repair(workspace, now=now_utc())
    assert not arrives(box)
    poll_now(workspace)
    assert set(drift(workspace)) == {"authSecret"}
    repair(workspace, now=now_utc())
    assert arrives(box)
    poll_now(workspace)
    assert (drift(workspace), sources()) == ({}, ["HISTORY"] * 3 + ["CALLBACK"])


def test_configure_sends_our_secret_in_any_case(box, workspace):
    put(workspace, box, url="http://elsewhere.test/", authSecret="theirs")
    configure(workspace, auth_type="HEADER", now=now_utc())
    assert arrives(box)


def test_a_refusal_at_another_address_says_nothing_about_our_secret(box, workspace):
    happen(box, 1, "DROPPED")
    box.workspace.history[-1]["statusCode"] = 401
    box.workspace.webhook["url"] = "http://elsewhere.test/"
    poll_now(workspace)
    assert set(drift(workspace)) == {"url"}


def test_what_is_sent_elsewhere_comes_back_through_the_history(box, workspace):
    put(workspace, box, url="http://elsewhere.test/")
    happen(box, 3)
    poll_now(workspace)
    assert apply(workspace) == {"APPLIED": 3}


@pytest.mark.parametrize("name", ["url", "method", "enabled", "authType", "hasAuthSecret"])
def test_what_the_platform_does_not_show_is_no_difference(box, workspace, name, monkeypatch):
    from sandbox.state import callbacks

    shown = callbacks.shown
    monkeypatch.setattr(
        callbacks,
        "shown",
        lambda held: {key: value for key, value in shown(held).items() if key != name},
    )
    poll_now(workspace)
    assert drift(workspace) == {}


def test_the_name_of_a_header_does_not_depend_on_its_case(box, workspace):
    put(workspace, box, authHeaderName="x-api-key")
    poll_now(workspace)
    assert drift(workspace) == {}


@pytest.mark.parametrize("auth_type", ["QUERY_PARAMETER", "BEARER_TOKEN"])
def test_the_other_ways_to_authenticate_are_compared_by_their_own_names(box, workspace, auth_type):
    configure(workspace, auth_type=auth_type, now=now_utc())
    poll_now(workspace)
    assert drift(workspace) == {}
    box.workspace.webhook |= {"authHeaderName": "X-Odd", "authParameterName": "odd"}
    poll_now(workspace)
    found = {"authParameterName"} if auth_type == "QUERY_PARAMETER" else set()
    assert set(drift(workspace)) == found


def test_a_mending_that_fails_leaves_the_drift_to_be_seen(box, workspace):
    put(workspace, box, enabled=False)
    poll_now(workspace)
    box.faults.set({"rules": [{"fault": "SERVER_ERROR", "method": "PUT"}]})
    with pytest.raises(Exception, match="500"):
        repair(workspace, now=now_utc())
    assert set(drift(workspace)) == {"enabled"}


def test_an_address_that_only_this_machine_reaches_is_not_set(box, workspace, settings):
    settings.PUBLIC_BASE_URL = "http://127.0.0.1:8000"
    held, before = dict(box.workspace.webhook), Workspace.objects.values().get()
    for act in (
        repair,
        lambda *args, **kwargs: configure(*args, auth_type="BEARER_TOKEN", **kwargs),
    ):
        with pytest.raises(OnlyHere):
            act(workspace, now=now_utc())
    assert (box.workspace.webhook, Workspace.objects.values().get()) == (held, before)


def test_none_is_not_mended_without_the_setting(box, workspace):
    Workspace.objects.update(auth_type="NONE")
    workspace.refresh_from_db()
    box.calls.clear()
    with pytest.raises(NoneNotAllowed):
        repair(workspace, now=now_utc())
    assert list(box.calls) == []


def test_a_workspace_that_was_never_watched_is_from_its_first_mending_on(box, workspace):
    WebhookMonitor.objects.all().delete()
    repair(workspace, now=now_utc())
    assert monitor_of(workspace).is_certain
