"""The screen of the webhook: what the platform holds and tried, changing it, trying our address."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.utils import timezone

from crm_sync.admin.workspace import webhook
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.work import turn
from tests.conftest import OURS, PLATFORM, TOKEN, _keeping_connections
from tests.crm_sync.admin_pages import CANARY, ESCAPED, SECRETS, client_of, make_workspace
from tests.crm_sync.sockets import saying, serving
from tests.platforms import Between, lost
from tests.problems import noted

pytestmark = [pytest.mark.django_db, pytest.mark.once]
ACTIONS = ["ask", "try", "configure", "rotate", "enable", "disable"]


@pytest.fixture
def between(box, workspace) -> Between:
    return Between(box, PLATFORM)


@pytest.fixture
def here(box) -> Between:
    from config.wsgi import application

    return Between(_keeping_connections(application), OURS)


def page(workspace: Workspace) -> str:
    return f"/admin/crm_sync/workspace/{workspace.pk}/webhook/"


def press(client: Client, workspace: Workspace, action: str, **more):
    return client.post(page(workspace), {"action": action} | more, follow=True)


def messages_of(response) -> list[str]:
    return [str(message) for message in response.context["messages"]]


def state(workspace: Workspace) -> dict:
    return Workspace.objects.filter(pk=workspace.pk).values().get()


# --- opening it ---
def test_opening_the_page_calls_nobody_and_shows_what_we_expect(box, workspace, boss):
    response = boss.get(page(workspace))
    assert (response.status_code, list(box.calls)) == (200, [])
    shown = dict(response.context["expected"])
    assert shown == {
        "url": f"{OURS}/webhooks/{workspace.uuid}/",
        "method": "POST",
        "enabled": "true",
        "authType": "HEADER",
        "authHeaderName": "X-API-Key",
        "authSecret": "stored",
    }
    linked = boss.get(f"/admin/crm_sync/workspace/{workspace.pk}/change/").content.decode()
    assert page(workspace) in linked


@pytest.mark.rule("S17")
@pytest.mark.parametrize("action", ACTIONS)
def test_who_may_only_view_calls_nobody_and_changes_nothing(box, workspace, here, action):
    viewer = client_of("crm_sync.view_workspace")
    before = state(workspace)
    html = viewer.get(page(workspace)).content.decode()
    assert [name for name in ACTIONS if f'value="{name}"' in html] == []
    assert viewer.post(page(workspace), {"action": action}).status_code == 403
    assert (list(box.calls), state(workspace)) == ([], before)


# --- asking ---
def test_asking_shows_the_platforms_configuration_and_what_differs(box, workspace, boss):
    box.workspace.webhook |= {"enabled": False, "method": "GET", "url": "http://other.test/"}
    held = press(boss, workspace, "ask").context["held"]
    wanted = {name: wanted for name, _, wanted in held.fields if wanted}
    assert wanted == {
        "enabled": "true",
        "method": "POST",
        "url": f"{OURS}/webhooks/{workspace.uuid}/",
    }
    fields = {name: value for name, value, _ in held.fields}
    assert (fields["enabled"], fields["hasAuthSecret"]) == ("false", "true")
    assert "authSecret" not in fields
    assert [call[:2] for call in box.calls] == [
        ("GET", "/v1/webhooks"),
        ("GET", "/v1/webhooks/triggers"),
    ]


def test_asking_says_when_nothing_is_configured(box, workspace, boss):
    box.workspace.webhook = None
    response = press(boss, workspace, "ask")
    assert response.context["held"].is_configured is False
    assert "No webhook is configured on the platform" in response.content.decode()


def test_the_attempts_stand_beside_what_we_received(box, workspace, boss, drain_all):
    box.marketing_ready("201", "INSTAGRAM")
    box.deliver()
    drain_all()
    box.marketing_ready("201", "LINKEDIN")
    box.deliver()  # stored, no worker came yet
    box.marketing_ready("201", "INSTAGRAM")
    box.workspace.webhook["url"] = f"{OURS}/nowhere/"
    box.deliver()  # never reached us
    missed, waits, applied = press(boss, workspace, "ask").context["attempts"]
    first, second = ReceivedEvent.objects.order_by("pk")
    assert [one["event"] for one in (missed, waits, applied)] == ["MARKETING_MATERIALS_READY"] * 3
    assert "Not in the inbox" in missed["ours"]
    assert ("Failed" in missed["result"], missed["answer"].startswith("answered 404")) == (
        True,
        True,
    )
    assert f"/{second.pk}/change/" in waits["ours"]
    assert ("Received" in waits["state"], "Arrived" in waits["result"]) == (True, True)
    assert (waits["answer"], f"/{first.pk}/change/" in applied["ours"]) == ("200", True)
    assert "Applied" in applied["state"]


def test_an_attempt_is_matched_however_the_event_was_written(box, workspace, boss):
    from crm_sync.inbox import store

    box.marketing_ready("201", "INSTAGRAM")
    box.deliver()
    record = box.workspace.history[0]
    record["payload"] = json.dumps(dict(reversed(record["payload"].items())), indent=3)
    turn.take(store.RECEIVED_EVENTS, workspace.pk, seconds=5.0)
    (one,) = press(boss, workspace, "ask").context["attempts"]
    assert "Applied" in one["state"]


def test_the_same_event_in_another_workspace_is_not_ours(box, workspace, boss):
    box.marketing_ready("201", "INSTAGRAM")
    box.deliver()
    other = Workspace.objects.create(slug="other", base_url=PLATFORM, fixed_token=TOKEN)
    ReceivedEvent.objects.update(workspace=other)
    (one,) = press(boss, workspace, "ask").context["attempts"]
    assert "Not in the inbox" in one["ours"]


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"payload": None},
        {"payload": [1]},
        {"payload": "cut o"},
        {"triggeredAt": "soon"},
        {"statusCode": "x"},
    ],
    ids=str,
)
def test_a_record_that_says_little_is_shown_as_far_as_it_goes(box, workspace, boss, record):
    box.workspace.history.append(record)
    (one,) = press(boss, workspace, "ask").context["attempts"]
    assert ("Not in the inbox" in one["ours"], one["event"]) == (True, "—")


# --- changing ---
@pytest.mark.parametrize(("action", "enabled"), [("disable", False), ("enable", True)])
def test_delivery_is_switched_on_and_off(box, workspace, boss, action, enabled):
    box.workspace.webhook["enabled"] = not enabled
    response = press(boss, workspace, action)
    assert box.workspace.webhook["enabled"] is enabled
    assert response.redirect_chain == [(page(workspace), 302)]  # a reload repeats nothing
    entry = LogEntry.objects.get()
    assert (entry.object_id, *noted()) == (
        str(workspace.pk),
        f"Webhook: {action}.",
    )


def test_disabling_asks_first_and_changes_nothing_until_it_is_confirmed(box, workspace, boss):
    box.calls.clear()
    text = press(boss, workspace, "may-disable").content.decode()
    assert "never comes as an event, not even later" in text
    assert 'name="action" value="disable"' in text
    assert (len(box.calls), box.workspace.webhook["enabled"]) == (0, True)
    assert 'value="disable"' not in boss.get(page(workspace)).content.decode()


def test_rotating_keeps_both_secrets_valid_for_a_while(box, workspace, boss):
    old = workspace.auth_secret
    press(boss, workspace, "rotate")
    workspace.refresh_from_db()
    assert box.workspace.webhook["authSecret"] == workspace.auth_secret != old
    assert workspace.valid_auth_secrets(timezone.now()) == [workspace.auth_secret, old]
    box.marketing_ready("201", "INSTAGRAM")
    box.deliver()
    assert ReceivedEvent.objects.count() == 1


def test_configuring_sets_it_as_it_should_be_with_the_chosen_authentication(box, workspace, boss):
    box.workspace.webhook |= {"url": "http://other.test/", "method": "GET", "enabled": False}
    press(boss, workspace, "configure", auth_type="BEARER_TOKEN")
    there = box.workspace.webhook
    assert (there["url"], there["method"], there["enabled"], there["authType"]) == (
        f"{OURS}/webhooks/{workspace.uuid}/",
        "POST",
        True,
        "BEARER_TOKEN",
    )
    box.marketing_ready("201", "INSTAGRAM")
    box.deliver()
    assert ReceivedEvent.objects.count() == 1


def test_the_name_of_the_header_is_set_from_the_page(box, workspace, boss):
    press(boss, workspace, "configure", auth_type="HEADER", header_name=" X-Our-Key ")
    assert box.workspace.webhook["authHeaderName"] == "X-Our-Key"
    text = boss.get(page(workspace)).content.decode()
    assert 'name="header_name" class="cs-select" maxlength="100" value="X-Our-Key"' in text
    response = press(boss, workspace, "configure", auth_type="HEADER", header_name="Host")
    assert messages_of(response) == ["the header Host of a callback says something else"]
    assert box.workspace.webhook["authHeaderName"] == "X-Our-Key"


@pytest.mark.parametrize("auth_type", ["NONE", "ODD", ""])
def test_no_other_authentication_can_be_posted(box, workspace, boss, auth_type):
    press(boss, workspace, "configure", auth_type=auth_type)
    assert box.workspace.webhook["authType"] == "HEADER"


def test_an_address_that_only_this_machine_reaches_is_refused(box, workspace, boss, settings):
    settings.PUBLIC_BASE_URL = "http://localhost:8000"
    before = dict(box.workspace.webhook)
    for action in ("configure", "rotate"):
        assert "which only this machine reaches" in messages_of(press(boss, workspace, action))[0]
    assert (list(box.calls), box.workspace.webhook) == ([], before)


# --- when the platform does not answer well ---
@pytest.mark.parametrize("action", sorted(set(ACTIONS) - {"try"}))
@pytest.mark.parametrize(
    "answer",
    [
        ("500 Error", [], b'{"message": "' + CANARY.encode() + b'"}'),
        ("401 Unauthorized", [], b""),
        ("404 Not Found", [], b""),
        ("400 Bad Request", [], b'{"errors": [{"field": "url", "message": "no"}]}'),
        ("200 OK", [], b"no json"),
    ],
    ids=lambda answer: answer[0],
)
def test_every_fault_becomes_a_message_on_the_page(between, workspace, boss, action, answer):
    between.before = lambda _: answer
    response = press(boss, workspace, action)
    text = response.content.decode()
    assert response.status_code == 200
    if (action, answer[0]) != ("ask", "404 Not Found"):
        assert len(messages_of(response)) == 1
    assert CANARY not in text
    assert not LogEntry.objects.exists()


def test_a_change_whose_answer_is_lost_says_that_it_may_have_worked(between, workspace, boss):
    between.after = lost("PATCH")
    (text,) = messages_of(press(boss, workspace, "disable"))
    assert text.endswith("It may have worked all the same: ask the platform.")


def test_a_busy_platform_pauses_the_workspace_and_is_left_alone(box, between, workspace, boss):
    between.before = lambda _: ("429 Too Many", [("Retry-After", "120")], b"")
    press(boss, workspace, "ask")
    workspace.refresh_from_db()
    assert workspace.paused_until > timezone.now() + timedelta(seconds=100)
    between.before = lambda _: None
    assert messages_of(press(boss, workspace, "rotate"))[0].startswith(
        "The workspace is paused until "
    )
    assert list(box.calls) == []


def test_no_call_stands_in_a_transaction(between, here, workspace, boss):
    calls: list[tuple[str, int]] = []
    depth = len(connection.savepoint_ids)

    def seen(environ) -> None:
        calls.append((environ["REQUEST_METHOD"], len(connection.savepoint_ids) - depth))

    between.before = here.before = seen
    for action in ACTIONS:
        press(boss, workspace, action)
    assert calls == [(method, 0) for method in ("GET", "GET", "POST", "POST", "PUT", "PUT")] + [
        ("PATCH", 0),
        ("PATCH", 0),
    ]


def test_a_platform_that_does_not_answer_costs_a_short_deadline(workspace, boss, monkeypatch):
    assert webhook.DEADLINE <= 8
    monkeypatch.setattr(webhook, "DEADLINE", 0.2)
    with serving(saying()) as silent:
        for action in sorted(set(ACTIONS) - {"try"}):  # each as if it were the first
            Workspace.objects.update(base_url=silent.url, auth_secret_sent_at=None)
            (text,) = messages_of(press(boss, workspace, action))
            assert "no whole answer within 0." in text


def test_a_secret_that_no_key_opens_is_a_message(boss, settings):
    workspace = make_workspace()
    settings.SECRET_KEYS_AT_REST = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    assert boss.get(page(workspace)).status_code == 200
    for action in ACTIONS:
        response = press(boss, workspace, action)
        assert (response.status_code, len(messages_of(response))) == (200, 1)


# --- our address, secrets, hostile text ---
def test_a_test_call_says_whether_callbacks_can_arrive(box, workspace, boss, here):
    response = press(boss, workspace, "try")
    assert response.context["probe_works"] is True
    assert "Reachable, and the authentication works." in response.content.decode()
    assert (list(box.calls), ReceivedEvent.objects.count()) == ([], 0)
    workspace.refresh_from_db()
    assert workspace.refused_callbacks == 0
    here.before = lambda _: ("302 Found", [("Location", "https://x.test/")], b"")
    response = press(boss, workspace, "try")
    assert response.context["probe_works"] is False
    assert "It redirects (302)" in response.content.decode()


def test_no_secret_stands_on_any_of_its_pages(box, between, here, workspace, boss):
    Workspace.objects.update(**{name: SECRETS[name] for name in SECRETS if name != "fixed_token"})
    secret = SECRETS["auth_secret"]
    echo = f"timed out: {OURS}/?token={secret}"
    box.workspace.history.append(
        {
            "id": "1",
            "triggeredAt": datetime.now(UTC).isoformat(),
            "payload": {"event": "X"},
            "headers": {"X-Api-Key": secret},
            "errorMessage": echo,
            "responseBody": echo,
            "success": False,
        }
    )
    box.workspace.webhook |= {"url": f"{OURS}/?token={secret}"}

    def check() -> None:
        for action in ACTIONS:
            text = press(boss, workspace, action).content.decode()
            assert [value for value in (*SECRETS.values(), TOKEN) if value in text] == []

    check()
    message = json.dumps({"message": f"authSecret {secret} is not good enough"}).encode()
    between.before = lambda _: ("400 Bad Request", [], message)
    check()


def test_nothing_that_the_platform_says_becomes_markup(box, workspace, boss):
    box.workspace.webhook |= {"url": CANARY, CANARY: CANARY}
    box.workspace.history.append(
        {
            "id": CANARY,
            "payload": {"event": CANARY, "orderId": CANARY},
            "errorMessage": CANARY,
            "success": False,
        }
    )
    text = press(boss, workspace, "ask").content.decode()
    assert CANARY not in text
    assert text.count(ESCAPED) >= 5
