"""The pages of subscriptions and of what was sent: a secret is shown once, and never again (S5)."""

import re
import socket
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connections
from django.urls import reverse
from django.utils import timezone

from crm_sync import hooks
from crm_sync.models import OutgoingMessage, Subscription
from crm_sync.outgoing import outbox, worker
from crm_sync.work import turn
from tests.crm_sync.admin_pages import client_of
from tests.crm_sync.receivers import receiving, subscribe
from tests.crm_sync.sockets import serving

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


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("status", ["500 Oops", "410 Gone"])
def test_a_failure_of_a_call_under_way_does_not_blame_what_a_person_has_disabled(
    main, boss, settings, status
):
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]

    def talk(connection: socket.socket) -> None:
        act(boss, row, "disable")
        connections.close_all()
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())

    with serving(talk) as receiver:
        row = subscribe(main, receiver.url)
        act(boss, row, "send_test")
        worker.work(hooks.queue("outgoing").claim(main.pk, 1), None)
    row.refresh_from_db()
    assert (row.is_enabled, row.problem, row.failing_since, row.attempts) == (False, "", None, 0)
    assert (row.lease_token, OutgoingMessage.objects.get().state) == (None, "PENDING")
    assert not Subscription.objects.filter(worker.needs_a_person(timezone.now())).exists()


@pytest.mark.django_db(transaction=True)
def test_an_address_that_is_gone_does_not_stop_the_one_that_was_entered_meanwhile(
    main, boss, settings
):
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    change = {"kinds": ["property.in_sync"], "format": "JSON"}

    def talk(connection: socket.socket) -> None:
        changed.append(boss.post(page_of(row), change | {"address": new.url}).status_code)
        connections.close_all()
        connection.sendall(b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n")

    changed: list[int] = []
    with serving(talk) as old, receiving() as new:
        row = subscribe(main, old.url, "property.in_sync")
        outbox.test(row, now=timezone.now())
        worker.work(hooks.queue("outgoing").claim(main.pk, 1), None)
        row.refresh_from_db()
        assert (changed, row.address) == ([302], new.url)
        assert (row.is_enabled, row.problem, row.attempts) == (True, "", 0)
        assert turn.take(hooks.queue("outgoing"), main.pk, seconds=5.0).counts == {"sent": 1}
        assert len(new.ids) == 1


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


def test_a_secret_that_was_changed_twice_still_signs_for_a_day(main, boss, settings):
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    with receiving() as receiver:
        row = subscribe(main, receiver.url)
        secrets = [row.secret]
        for _ in range(2):  # whoever has closed the page of the first change makes a second one
            act(boss, row, "rotate")
            secrets.append(Subscription.objects.get().secret)
        act(boss, row, "send_test")
        assert turn.take(hooks.queue("outgoing"), main.pk, seconds=5.0).counts == {"sent": 1}
        assert [len(receiver.messages(one)) for one in secrets] == [1, 1, 1]
    assert len(set(secrets)) == 3


@pytest.mark.rule("S5")
@pytest.mark.parametrize(
    ("format_", "address"),
    [
        ("JSON", "https://crm.example.com/hook?key=canary"),
        ("SLACK", "https://hooks.slack.com/services/T0/B0/canary"),
    ],
)
def test_who_may_only_view_a_subscription_sees_no_key_in_its_address(main, format_, address):
    row = subscribe(main, address, format=format_, failing_since=timezone.now(), problem="No.")
    viewer = client_of("crm_sync.view_subscription", "crm_sync.view_outgoingmessage")
    for page in (LIST, page_of(row), SENT):
        answer = viewer.get(page)
        assert (answer.status_code, "canary" in answer.content.decode()) == (200, False)
    assert row.get_format_display() in viewer.get(page_of(row)).content.decode()


@pytest.mark.rule("S5")
@pytest.mark.parametrize("key", ["9f3c1b7de2", "k9x2mq", "AbCdEfGhIjKlMnOpQrStUv"])
def test_a_part_of_a_path_that_may_be_a_key_is_shown_on_no_page_but_the_form(main, boss, key):
    row = subscribe(main, f"https://hook.example.com/v1/catch/{key}/")
    since = timezone.now() - timedelta(hours=2)
    Subscription.objects.update(failing_since=since, problem="answered 500")
    act(boss, row, "send_test")
    for page in (LIST, SENT, page_of(OutgoingMessage.objects.get()), "/admin/"):
        text = boss.get(page).content.decode()
        assert key not in text
    assert (
        "https://hook.example.com/v1/catch/…/ gets no messages"
        in boss.get("/admin/").content.decode()
    )
    assert key in boss.get(page_of(row)).content.decode()  # where it can be changed
    viewer = client_of("crm_sync.view_subscription")
    assert key not in viewer.get(page_of(row)).content.decode()


def test_a_message_that_is_sent_again_goes_with_others_once_more(main, boss, settings):
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    with receiving() as receiver:
        row = subscribe(main, receiver.url, format="SLACK")
        act(boss, row, "send_test")
        assert turn.take(hooks.queue("outgoing"), main.pk, seconds=5.0).counts == {"sent": 1}
        act(boss, OutgoingMessage.objects.get(), "send_again", SENT)
        assert turn.take(hooks.queue("outgoing"), main.pk, seconds=5.0).counts == {"sent": 1}
    assert len(set(receiver.ids)) == 2
