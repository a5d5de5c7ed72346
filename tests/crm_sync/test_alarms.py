"""Operators hear of an alarm once when it begins and once when it ends."""

import json
import smtplib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from cryptography.fernet import Fernet
from django.contrib.auth.models import Permission, User
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from crm_sync import hooks
from crm_sync.models import Alarm, AlarmKind, Heartbeat, OutgoingMessage, Subscription, Workspace
from crm_sync.observing import alarm_report, alarms
from crm_sync.tasks import clear_deliveries, look_for_alarms, rest_until_the_next_look
from crm_sync.webhook import schedule
from crm_sync.work import leases, turn
from orders.models import PersonSettings
from tests.conftest import PLATFORM, TOKEN
from tests.crm_sync.admin_pages import client_of
from tests.crm_sync.receivers import subscribe
from tests.together import together

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
EVERY = [f"alarm_{kind}" for kind in AlarmKind]
PAUSED = {"pauses": 1, "paused_until": START + timedelta(minutes=1)}


@pytest.fixture(autouse=True)
def everything_is_alive(settings, main) -> None:
    settings.PUBLIC_BASE_URL = "https://crm.example.com"
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    alive()


@pytest.fixture
def clock():
    with time_machine.travel(START, tick=False) as travelling:
        alive()
        yield travelling


def alive() -> None:
    now = timezone.now()
    known = {"kind": "worker", "name": "9"}
    Heartbeat.objects.update_or_create(**known, defaults={"started_at": now, "seen_at": now})


def operator(name: str, *columns: str, where: Workspace | None = None, **more: Any) -> User:
    client = client_of("crm_sync.view_workspace")
    person = User.objects.get(pk=client.session["_auth_user_id"])
    User.objects.filter(pk=person.pk).update(email=f"{name}@example.com")
    if where:
        person.user_permissions.remove(Permission.objects.get(codename="all_workspaces"))
        where.people.add(person)
    chosen = dict.fromkeys(columns or EVERY, True)
    PersonSettings.objects.create(person=person, **chosen, **more)
    return person


def look(main: Workspace) -> None:
    """What beat and the workers do within half a minute."""
    look_for_alarms()
    turn.take(hooks.queue("alarms"), main.pk, seconds=5.0)


def mails() -> list[tuple[str, str]]:
    found = [(one.to[0].partition("@")[0], one.subject) for one in mail.outbox]
    mail.outbox.clear()
    return found


def pause(**columns: Any) -> None:
    Workspace.objects.update(**PAUSED | columns)


def resume() -> None:
    Workspace.objects.update(pauses=0, paused_until=None, problem="")


WHAT = "A workspace is paused: its platform does not answer (main)"


def test_a_pause_that_lasts_is_mailed_once_when_it_begins_and_once_when_it_ends(main, clock):
    operator("one")
    pause(problem="it is down")
    for _ in range(60):  # an hour
        look(main)
        clock.shift(60)
        alive()
    assert mails() == [("one", f"Alarm: {WHAT}")]
    resume()
    for _ in range(60):
        look(main)
        clock.shift(60)
        alive()
    assert mails() == [("one", f"Over: {WHAT}")]
    row = Alarm.objects.get()
    assert (row.kind, row.due_at, row.is_over) == ("workspace_paused", None, True)


def test_a_platform_that_cannot_be_reached_is_mailed_too(box, main, clock):
    operator("one")
    Workspace.objects.update(base_url="http://127.0.0.1:1")
    schedule.begin(main.pk, now=timezone.now())
    for _ in range(11):
        turn.take(hooks.queue("webhooks"), main.pk)
        look(main)
        clock.shift(60)
        alive()
    assert mails() == [("one", f"Alarm: {WHAT}")]
    Workspace.objects.update(base_url=PLATFORM, fixed_token=TOKEN)
    turn.take(hooks.queue("webhooks"), main.pk)
    look(main)
    assert mails() == [("one", f"Over: {WHAT}")]


def test_a_poll_that_no_key_lets_begin_is_mailed_with_its_reason(box, main, clock, settings):
    operator("one")
    schedule.begin(main.pk, now=timezone.now())
    settings.SECRET_KEYS_AT_REST = [Fernet.generate_key().decode()]
    for _ in range(11):
        turn.take(hooks.queue("webhooks"), main.pk)
        look(main)
        clock.shift(60)
        alive()
    (message,) = mail.outbox
    assert "a stored secret cannot be decrypted: SECRET_KEYS_AT_REST lacks the key" in message.body


def test_a_short_pause_is_told_to_nobody_and_leaves_no_trace(main, clock):
    operator("one")
    pause()
    look(main)
    clock.shift(300)
    alive()
    look(main)
    assert Alarm.objects.get().told_at is None
    resume()
    look(main)
    assert (mails(), Alarm.objects.count()) == ([], 0)


def test_each_person_gets_the_kinds_that_they_chose_of_their_workspaces_in_their_language(
    main, clock
):
    other = Workspace.objects.create(slug="other", base_url="https://x.test")
    operator("mine", where=main, language="de", time_zone="Europe/Zurich")
    operator("theirs", where=other)
    operator("else", "alarm_no_worker")
    nobody = operator("gone")
    User.objects.filter(pk=nobody.pk).update(is_active=False)
    Workspace.objects.filter(pk=main.pk).update(**PAUSED)
    look(main)
    clock.shift(601)
    alive()
    look(main)
    (one,) = mail.outbox
    assert one.to == ["mine@example.com"]
    assert one.subject.startswith("Alarm: ")
    assert "seit So 1. Mär 2026, 13:00 CET" in one.body
    assert f"https://crm.example.com/admin/crm_sync/workspace/{main.pk}/change/" in one.body
    assert "https://crm.example.com/admin/orders/personsettings/mine/" in one.body


def test_a_person_who_may_not_see_workspaces_gets_no_alarm(main, clock):
    client = client_of("orders.view_order")
    person = User.objects.get(pk=client.session["_auth_user_id"])
    User.objects.filter(pk=person.pk).update(email="agent@example.com")
    PersonSettings.objects.create(person=person, **dict.fromkeys(EVERY, True))
    pause()
    look(main)
    clock.shift(601)
    alive()
    look(main)
    assert mails() == []


def test_many_alarms_at_once_are_one_mail(main, clock):
    operator("one")
    for number in range(40):
        subscribe(
            main, f"https://x.test/{number}", failing_since=START - timedelta(hours=2), problem="5"
        )
    look(main)
    (sent,) = mail.outbox
    assert sent.subject == "40 alarms"
    assert sent.body.count("A receiver takes no messages (https://x.test/") == 30
    assert "and 10 more" in sent.body


def test_that_no_worker_is_alive_is_mailed_by_the_process_that_looks(main, clock):
    operator("one")
    for _ in range(10):
        clock.shift(30)
        look_for_alarms()  # no worker takes a turn
    assert mails() == [("one", "Alarm: No worker is alive")]
    alive()
    for _ in range(3):
        look_for_alarms()
    assert mails() == [("one", "Over: No worker is alive")]


def test_after_a_machine_has_slept_its_workers_can_be_heard_before_the_next_look(
    clock, monkeypatch
):
    took = [630, 95, 31]  # seconds that half a minute of sleep takes while the machine sleeps too
    monkeypatch.setattr("time.sleep", lambda seconds: clock.shift(took.pop(0)))
    rest_until_the_next_look()
    assert (took, timezone.now() - START) == ([], timedelta(seconds=756))


class Refusing(EmailBackend):
    """A mail server that refuses one person, as long as a test wants it, or is away."""

    refused = "two"
    tried = 0

    def send_messages(self, messages):
        Refusing.tried += 1
        if Refusing.refused == "all":
            raise smtplib.SMTPServerDisconnected("Connection unexpectedly closed")
        for one in messages:
            if Refusing.refused and one.to[0].startswith(Refusing.refused):
                raise smtplib.SMTPRecipientsRefused({})
        return super().send_messages(messages)


def test_a_mail_server_that_refuses_one_person_repeats_the_mail_of_no_other(main, clock, settings):
    settings.EMAIL_BACKEND = f"{__name__}.Refusing"
    operator("one")
    operator("two")
    subscribe(main, "https://x.test", failing_since=START - timedelta(hours=2), problem="5")
    for _ in range(5):
        look(main)
        clock.shift(1000)
        alive()
    assert [to for to, _ in mails()] == ["one"]
    assert Alarm.objects.get().problem
    Refusing.refused = ""
    look(main)
    assert [to for to, _ in mails()] == ["two"]
    assert (Alarm.objects.get().problem, Alarm.objects.get().due_at) == ("", None)


def test_a_mail_server_that_refuses_one_person_keeps_the_mail_from_no_other(main, clock, settings):
    settings.EMAIL_BACKEND = f"{__name__}.Refusing"
    Refusing.refused = "one"
    for name in ("one", "two", "three"):
        operator(name)
    subscribe(main, "https://x.test", failing_since=START - timedelta(hours=2), problem="5")
    for _ in range(3):
        look(main)
        clock.shift(1000)
        alive()
    assert [to for to, _ in mails()] == ["two", "three"]
    assert Alarm.objects.get().problem
    Refusing.refused = ""
    look(main)
    assert [to for to, _ in mails()] == ["one"]
    assert (Alarm.objects.get().problem, Alarm.objects.get().due_at) == ("", None)


def test_while_the_mail_server_is_away_one_mail_is_tried_and_not_that_of_each_person(
    main, clock, settings
):
    settings.EMAIL_BACKEND = f"{__name__}.Refusing"
    Refusing.refused, Refusing.tried = "all", 0
    for name in ("one", "two"):
        operator(name)
    subscribe(main, "https://x.test", failing_since=START - timedelta(hours=2), problem="5")
    look(main)
    assert (Refusing.tried, mails()) == (1, [])
    assert Alarm.objects.get().problem == "Connection unexpectedly closed"


def test_the_overview_says_that_alarms_could_not_be_mailed_to_who_sees_their_workspace(
    main, clock, settings
):
    settings.EMAIL_BACKEND = f"{__name__}.Refusing"
    Refusing.refused = "one"
    operator("one")
    away = {"failing_since": START - timedelta(hours=2), "problem": "5"}
    subscribe(main, "https://x.test", **away)
    other = Workspace.objects.create(slug="other", base_url="https://x.test")
    subscribe(other, "https://y.test", **away)
    here, agent = client_of("crm_sync.view_workspace"), client_of("orders.view_order")
    person = User.objects.get(pk=here.session["_auth_user_id"])
    person.user_permissions.remove(Permission.objects.get(codename="all_workspaces"))
    main.people.add(person)

    def lines(client) -> list[str]:
        found = client.get("/admin/").context["attention"]
        return [one.text for one in found if "No mail" in one.badge]

    everybody = client_of("crm_sync.view_workspace")
    assert lines(everybody) == []
    for workspace in (main, other):
        look(workspace)
    text = "2 alarms wait for their mail: {}"
    assert lines(everybody) == [text]
    assert lines(here) == ["1 alarm waits for its mail: {}"]
    assert lines(agent) == []
    Alarm.objects.filter(workspace=other).update(kind="no_worker", workspace=None, key="")
    assert (lines(here), lines(agent)) == ([text], [])  # of everybody who operates
    Refusing.refused = ""
    clock.shift(1000)
    alive()
    alarm_report.report_without_a_worker(timezone.now())
    assert lines(everybody) == ["1 alarm waits for its mail: {}"]


def test_a_process_killed_after_the_message_was_noted_mails_all_and_repeats_no_message(main, clock):
    operator("one")
    subscribe(main, "https://x.test", "alarm.workspace_paused")
    pause()
    alarms.notice(timezone.now())
    clock.shift(601)
    (claim,) = leases.claim_some(Alarm.objects.all(), now=timezone.now(), limit=9)
    alarm_report._tell(claim, now=timezone.now())
    # As after `kill -9`: the message is written, no mail was sent, the row is leased.
    look(main)
    assert mails() == []
    clock.shift(60)
    alive()
    look(main)
    assert mails() == [("one", f"Alarm: {WHAT}")]
    assert OutgoingMessage.objects.filter(kind="alarm.workspace_paused").count() == 1


class Killed(Exception):
    """The process ends here."""


@pytest.mark.django_db(transaction=True)
def test_a_process_killed_while_it_notes_its_mail_repeats_exactly_this_mail(main, clock):
    operator("one")
    away = {"failing_since": START - timedelta(hours=2), "problem": "5"}
    for number in range(3):
        subscribe(main, f"https://x.test/{number}", **away)
    alarms.notice(timezone.now())
    claims = leases.claim_some(Alarm.objects.all(), now=timezone.now(), limit=9)
    noted = iter((True, True, False))

    def die_at_the_third(execute, sql, params, many, context):
        if sql.startswith("UPDATE") and '"told_to" =' in sql and not next(noted):
            raise Killed
        return execute(sql, params, many, context)

    with connection.execute_wrapper(die_at_the_third), pytest.raises(Killed):
        alarm_report.report(claims)
    clock.shift(60)
    alive()
    look(main)
    first, second = mail.outbox
    assert first.extra_headers["Message-ID"] == second.extra_headers["Message-ID"]
    assert (first.subject, first.body) == (second.subject, second.body)


def test_a_subscription_gets_the_kinds_that_it_chose_with_the_words_in_its_language(main, clock):
    subscribe(main, "https://x.test", "alarm.workspace_paused", "alarm.no_worker")
    pause(problem="it is down")
    look(main)
    clock.shift(601)
    look(main)
    found = [json.loads(one.payload) for one in OutgoingMessage.objects.order_by("kind")]
    assert [(one["type"], one["data"]["state"]) for one in found] == [
        ("alarm.workspace_paused", "BEGAN")
    ]
    clock.shift(130)
    look_for_alarms()
    kinds = OutgoingMessage.objects.order_by("kind").values_list("kind", flat=True)
    assert list(kinds) == ["alarm.no_worker", "alarm.workspace_paused"]
    (facts,) = alarm_report.facts(main.pk, [found[0]["data"]])
    assert (facts.address, facts.status) == (
        "main",
        "A workspace is paused: its platform does not answer: it is down",
    )


@pytest.mark.django_db(transaction=True)
def test_many_processes_that_look_at_once_begin_one_alarm_and_send_one_mail(main):
    operator("one")
    Heartbeat.objects.all().delete()
    together(lambda: alarms.notice(timezone.now()), workers=4)
    assert Alarm.objects.count() == 1
    Alarm.objects.update(due_at=timezone.now())
    together(lambda: alarm_report.report_without_a_worker(timezone.now()), workers=4)
    assert len(mails()) == 1


def test_the_database_refuses_a_second_open_alarm_of_a_cause(main):
    known = {"kind": "no_worker", "key": "", "page": "/", "began_at": START}
    Alarm.objects.create(**known, told_at=START, ended_at=START)
    Alarm.objects.create(**known)
    with pytest.raises(IntegrityError), transaction.atomic():
        Alarm.objects.create(**known)


def test_an_alarm_that_is_over_goes_when_its_time_is_over(main, settings):
    old = timezone.now() - timedelta(days=31)
    known = {"kind": "no_worker", "page": "/", "began_at": old, "told_at": old}
    Alarm.objects.create(**known, key="1", ended_at=old)
    Alarm.objects.create(**known, key="2", ended_at=timezone.now())
    Alarm.objects.create(**known, key="3")
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"messages": 30}
    assert clear_deliveries() == {"alarms": 1}
    assert set(Alarm.objects.values_list("key", flat=True)) == {"2", "3"}


def test_an_operator_chooses_the_kinds_on_their_own_page_and_an_agent_sees_none(main):
    page = "/admin/orders/personsettings/mine/"
    client = client_of("crm_sync.view_workspace")
    assert "Alarms by mail" in client.get(page).content.decode()
    client.post(page, {"alarm_no_worker": "on", "only_mine": "mine", "time_zone": ""})
    row = PersonSettings.objects.get()
    assert [name for name in EVERY if getattr(row, name)] == ["alarm_no_worker"]
    assert (row.due_at, row.kinds) == (None, [])
    assert "Alarms by mail" not in client_of("orders.view_order").get(page).content.decode()


def test_what_a_person_has_disabled_is_no_alarm(main, boss):
    since = timezone.now() - timedelta(hours=2)
    row = subscribe(main, "https://a.test/", failing_since=since, problem="answered 500")
    act = {"action": "disable", "_selected_action": row.pk}
    boss.post("/admin/crm_sync/subscription/", act)
    assert not Subscription.objects.get().is_enabled
    kinds = {one.kind for one in alarms.troubles(timezone.now())}
    assert "receiver_failing" not in kinds
    assert "gets no messages" not in boss.get("/admin/").content.decode()
