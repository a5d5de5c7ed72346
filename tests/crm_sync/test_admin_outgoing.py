"""The pages of subscriptions and of what was sent: a secret is shown once, and never again (S5)."""

import re
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse
from django.utils import timezone

from crm_sync import hooks
from crm_sync.models import OutgoingMessage, Subscription
from crm_sync.work import turn
from tests.crm_sync.admin_pages import client_of
from tests.crm_sync.receivers import receiving, subscribe

pytestmark = pytest.mark.once
LIST = reverse("admin:crm_sync_subscription_changelist")
SENT = reverse("admin:crm_sync_outgoingmessage_changelist")
SECRET = re.compile(r"whsec_[\w+/]{40,}=")


def page_of(row: Subscription | OutgoingMessage) -> str:
    return reverse(f"admin:crm_sync_{row._meta.model_name}_change", args=[row.pk])


def test_a_message_that_is_sent_again_begins_anew_with_its_tries(main, boss, settings):
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    with receiving() as receiver:
        subscribe(main, receiver.url)
        act(boss, Subscription.objects.get(), "send_test")
        OutgoingMessage.objects.update(state="GIVEN_UP", due_at=None, attempts=9)
        receiver.status = "500 Oops"
        act(boss, OutgoingMessage.objects.get(), "send_again", SENT)
        assert turn.take(hooks.queue("outgoing"), main.pk, seconds=5.0).counts == {"put off": 1}
    message = OutgoingMessage.objects.get()
    assert (message.attempts, message.status) == (1, 500)
    assert message.due_at - message.tried_at < timedelta(seconds=10)


def test_who_may_only_view_messages_sends_none_again(main, boss, settings):
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    with receiving() as receiver:
        subscribe(main, receiver.url)
        act(boss, Subscription.objects.get(), "send_test")
    OutgoingMessage.objects.update(state="GIVEN_UP", due_at=None)
    viewer = client_of("crm_sync.view_outgoingmessage")
    assert viewer.get(SENT).status_code == 200
    act(viewer, OutgoingMessage.objects.get(), "send_again", SENT)
    assert OutgoingMessage.objects.get().state == "GIVEN_UP"


def act(client, row, action: str, listed: str = LIST):
    return client.post(listed, {"action": action, "_selected_action": row.pk})


def test_a_subscription_from_its_first_page_to_a_message_that_is_sent_again(main, boss, settings):
    add = {"workspace": main.pk, "kinds": ["property.in_sync"]}
    settings.OUTGOING_INTERNAL_HOSTS = []
    refused = boss.post(f"{LIST}add/", add | {"address": "http://127.0.0.1:1/"})
    assert "not encrypted" in refused.content.decode()
    assert not Subscription.objects.exists()
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    with receiving() as receiver:
        shown = boss.post(f"{LIST}add/", add | {"address": f"{receiver.url}/?key=canary"})
        row = Subscription.objects.get()
        main.refresh_from_db()
        assert main.outgoing_kinds == ["property.in_sync"]
        assert SECRET.findall(shown.content.decode()) == [str(row.secret)]
        assert boss.session.get("_messages") is None
        sent = act(boss, row, "send_test")
        assert turn.take(hooks.queue("outgoing"), main.pk, seconds=5.0).counts == {"sent": 1}
        (message,) = OutgoingMessage.objects.all()
        assert sent["Location"] == page_of(message)
        act(boss, message, "send_again", SENT)
        assert turn.take(hooks.queue("outgoing"), main.pk, seconds=5.0).counts == {"sent": 1}
        assert receiver.ids == [message.message_id] * 2
    changed = SECRET.findall(act(boss, row, "rotate").content.decode())
    before, row = row, Subscription.objects.get()
    assert changed == [str(row.secret)]
    assert row.previous_secret == before.secret != row.secret
    for address in (LIST, page_of(row), SENT, page_of(message), "/admin/"):
        text = boss.get(address).content.decode()
        assert not SECRET.search(text)
        assert address == page_of(row) or "canary" not in text
    act(boss, row, "disable")
    main.refresh_from_db()
    assert main.outgoing_kinds == []
    assert act(boss, row, "send_test").status_code == 302
    assert OutgoingMessage.objects.count() == 1
    act(boss, row, "enable")
    main.refresh_from_db()
    assert main.outgoing_kinds == ["property.in_sync"]
    assert LogEntry.objects.filter(object_id=str(row.pk)).count() >= 5


def test_what_has_failed_for_an_hour_waits_for_a_person(main, boss):
    row = subscribe(main, "https://crm.example.com/hook?key=canary")
    now = timezone.now()
    for minutes, is_there in ((59, False), (61, True)):
        since = now - timedelta(minutes=minutes)
        Subscription.objects.update(failing_since=since, problem="answered 500")
        text = boss.get("/admin/").content.decode()
        assert ("https://crm.example.com/hook?… gets no messages: answered 500" in text) == is_there
    Subscription.objects.update(is_enabled=False)
    assert "Stopped" in boss.get(page_of(row)).content.decode()


def test_a_subscription_of_slack_needs_no_secret_and_hides_its_path(main, boss):
    add = {"workspace": main.pk, "kinds": ["property.in_sync"], "format": "SLACK", "language": "de"}
    add |= {"address": "https://hooks.slack.com/services/T0/B0/canary"}
    refused = boss.post(f"{LIST}add/", add | {"template": "{adress}"}).content.decode()
    known = "{address}, {reference}, {status}, {event}, {workspace}, {link}"
    assert f"{{adress}} is unknown; known are {known}." in refused
    assert not Subscription.objects.exists()
    saved = boss.post(f"{LIST}add/", add | {"template": "{address} {link}"})
    row = Subscription.objects.get()
    assert saved["Location"] == page_of(row)
    assert (row.format, row.template, row.language) == ("SLACK", "{address} {link}", "de")
    act(boss, row, "send_test")
    for address in (LIST, SENT, page_of(OutgoingMessage.objects.get()), "/admin/"):
        text = boss.get(address).content.decode()
        assert "canary" not in text
    assert "Slack: hooks.slack.com/…" in boss.get(LIST).content.decode()


def test_a_message_that_is_sent_again_goes_with_others_once_more(main, boss, settings):
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    with receiving() as receiver:
        row = subscribe(main, receiver.url, format="SLACK")
        act(boss, row, "send_test")
        assert turn.take(hooks.queue("outgoing"), main.pk, seconds=5.0).counts == {"sent": 1}
        act(boss, OutgoingMessage.objects.get(), "send_again", SENT)
        assert turn.take(hooks.queue("outgoing"), main.pk, seconds=5.0).counts == {"sent": 1}
    assert len(set(receiver.ids)) == 2
