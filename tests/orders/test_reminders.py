"""A person is reminded the day before, at their hour and in their zone, once for each time."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.contrib.auth.models import User
from django.core import mail
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone
from hypothesis import given, strategies as st

from crm_sync import hooks
from crm_sync.tasks import clear_deliveries
from crm_sync.work import leases, turn
from orders.calendar import reminders
from orders.models import Assignment, Order, PersonSettings, Reminder, ReminderSettings
from tests.crm_sync.admin_pages import client_of
from tests.orders.admin_rows import make_assignment, make_order
from tests.together import together

LIST = "/admin/orders/personsettings/"
MINE = f"{LIST}mine/"
AT = datetime(2026, 3, 12, 9, 30, tzinfo=UTC)  # a Thursday
ZURICH = ZoneInfo("Europe/Zurich")


@pytest.fixture(autouse=True)
def mails_are_on(settings) -> None:
    settings.PUBLIC_BASE_URL = "https://crm.example.com"
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


def agent(name: str = "one", hour: int = 17, zone: str = "Europe/Zurich", **more) -> User:
    client = client_of("orders.view_order")
    person = User.objects.get(pk=client.session["_auth_user_id"])
    User.objects.filter(pk=person.pk).update(email=f"{name}@example.com")
    person.refresh_from_db()
    chosen = {"only_mine": False} | more
    PersonSettings.objects.create(person=person, time_zone=zone, **chosen)
    reminders.choose(person, hour=hour, now=timezone.now())
    return person


def appointment(main, name: str = "1", at: datetime = AT, **columns) -> Assignment:
    order = make_order(main, name, object_reference_id=f"R-{name}")
    return make_assignment(order, name, **({"status": "SCHEDULED", "scheduled_at": at} | columns))


def passes(main, clock, hours: float) -> list[str]:
    """What is mailed while this time passes, a quarter of an hour at a time."""
    mail.outbox.clear()
    for _ in range(int(hours * 4)):
        clock.shift(timedelta(minutes=15))
        turn.take(hooks.queue("reminders"), main.pk, seconds=5.0)
    return [one.subject for one in mail.outbox]


ONE = "Reminder of 1 appointment"


def test_the_day_before_at_their_hour_a_person_is_reminded_once(main):
    with time_machine.travel(AT - timedelta(days=3), tick=False) as clock:
        agent(hour=17)
        appointment(main)
        assert passes(main, clock, 2 * 24 + 6.25) == []  # to Wednesday, 16:45 in Zurich
        assert passes(main, clock, 0.25) == [ONE]
        (sent,) = mail.outbox
        assert sent.to == ["one@example.com"]
        assert "- Thu 12 Mar 2026, 10:30 CET (Europe/Zurich), R-1" in sent.body
        order = Order.objects.get()
        assert f"  https://crm.example.com/admin/orders/order/{order.pk}/change/" in sent.body
        assert passes(main, clock, 24) == []


def test_a_moved_appointment_reminds_again_and_one_that_is_moved_back_does_not(main):
    with time_machine.travel(datetime(2026, 3, 11, 16, tzinfo=UTC), tick=False) as clock:
        agent()
        row = appointment(main)
        assert passes(main, clock, 1) == [ONE]
        Assignment.objects.update(scheduled_at=AT + timedelta(hours=3))
        assert passes(main, clock, 1) == [ONE]
        Assignment.objects.update(scheduled_at=AT)
        assert passes(main, clock, 1) == []
        Assignment.objects.update(scheduled_at=AT + timedelta(days=1))
        assert passes(main, clock, 20) == []
        assert passes(main, clock, 12) == [ONE]
    assert Reminder.objects.filter(assignment=row).count() == 3


@pytest.mark.parametrize(
    "columns",
    [
        {"status": "CANCELLED"},
        {"withdrawn_at": AT - timedelta(days=9)},
        {"scheduled_at": AT - timedelta(days=1)},
        {"scheduled_at": AT + timedelta(days=1)},
        {"scheduled_at": None},
    ],
)
def test_of_what_is_cancelled_past_or_later_nobody_is_reminded(main, columns):
    with time_machine.travel(datetime(2026, 3, 11, 16, tzinfo=UTC), tick=False) as clock:
        agent()
        appointment(main, **columns)
        assert passes(main, clock, 3) == []


def test_an_order_that_is_cancelled_reminds_nobody_before_its_assignments_are_read(main):
    with time_machine.travel(datetime(2026, 3, 11, 16, tzinfo=UTC), tick=False) as clock:
        agent()
        appointment(main)
        Order.objects.update(status="CANCELLED")
        assert passes(main, clock, 3) == []


def test_each_person_has_their_own_hour_zone_language_and_orders(main):
    with time_machine.travel(datetime(2026, 3, 10, 23, tzinfo=UTC), tick=False) as clock:
        agent("tokyo", hour=8, zone="Asia/Tokyo")
        agent("german", hour=18, language="de")
        agent("mine", hour=0, only_mine=True)
        off = agent("off", hour=0)
        reminders.choose(off, hour=None, now=timezone.now())
        appointment(main)  # 18:30 in Tokyo
        passes(main, clock, 24)
    assert [(one.to[0], one.subject) for one in mail.outbox] == [
        ("tokyo@example.com", ONE),  # already after eight there
        ("german@example.com", "Erinnerung an 1 Termin"),
    ]


def test_who_may_not_see_an_order_is_not_reminded_of_it(main):
    with time_machine.travel(datetime(2026, 3, 11, 16, tzinfo=UTC), tick=False) as clock:
        person = agent()
        appointment(main)
        person.user_permissions.clear()
        assert passes(main, clock, 3) == []


def test_many_appointments_are_one_mail(main):
    with time_machine.travel(datetime(2026, 3, 11, 16, tzinfo=UTC), tick=False) as clock:
        agent()
        for number in range(60):
            appointment(main, f"{number}")
        assert passes(main, clock, 3) == ["Reminder of 60 appointments"]
        assert "and 10 more" in mail.outbox[0].body
    assert Reminder.objects.count() == 60


def test_a_mail_server_that_fails_delays_it_and_loses_nothing(main, settings):
    with time_machine.travel(datetime(2026, 3, 11, 16, tzinfo=UTC), tick=False) as clock:
        agent()
        appointment(main)
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
        assert passes(main, clock, 1) == []
        assert ReminderSettings.objects.get().problem
        settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
        assert passes(main, clock, 1) == [ONE]
        assert ReminderSettings.objects.get().problem == ""


def test_a_reminder_that_cannot_be_mailed_is_shown_to_both_and_tried_again_by_an_operator(
    main, settings
):
    with time_machine.travel(datetime(2026, 3, 11, 16, tzinfo=UTC), tick=False) as clock:
        person = agent()
        appointment(main)
        boss, mine = client_of(superuser=True), Client()
        mine.force_login(person)
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
        passes(main, clock, 0.25)
        problem = ReminderSettings.objects.get().problem
        assert "could not be sent: " + problem in mine.get(MINE).content.decode()
        text = boss.get(LIST).content.decode()
        assert [one in text for one in (person.username, problem, "Reminders")] == [True] * 3
        settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
        chosen = {"action": "try_again", "_selected_action": [PersonSettings.objects.get().pk]}
        assert "1 mail is tried again now." in boss.post(LIST, chosen, follow=True).content.decode()
        assert ReminderSettings.objects.get().due_at == timezone.now()
        assert PersonSettings.objects.get().due_at is None
        turn.take(hooks.queue("reminders"), main.pk, seconds=5.0)
        assert [one.subject for one in mail.outbox] == [ONE]


def test_after_a_kill_between_sending_and_noting_the_same_mail_goes_again(main):
    with time_machine.travel(datetime(2026, 3, 11, 16, tzinfo=UTC), tick=False) as clock:
        person = agent()
        appointment(main)
        clock.shift(60)
        assert leases.claim(reminders.people(), now=timezone.now()) is not None
        found = reminders.coming(person, 17, now=timezone.now())
        first = reminders.written(found, to=person.email, zone=ZURICH)
        assert passes(main, clock, 1) == [ONE]
        assert mail.outbox[0].extra_headers["Message-ID"] == first.extra_headers["Message-ID"]


@pytest.mark.django_db(transaction=True)
def test_two_workers_send_one_mail(main):
    with time_machine.travel(datetime(2026, 3, 11, 16, 30, tzinfo=UTC)):
        agent()
        appointment(main)
        queue = hooks.queue("reminders")
        together(lambda: turn.take(queue, main.pk, seconds=5.0), workers=4)
        assert [one.subject for one in mail.outbox] == [ONE]


@given(
    minutes=st.integers(0, 365 * 24 * 60),
    hour=st.integers(0, 23),
    zone=st.sampled_from(["Europe/Zurich", "Asia/Tokyo", "America/St_Johns", "UTC"]),
)
def test_the_end_is_a_midnight_there_one_or_two_days_on(minutes, hour, zone):
    now = AT + timedelta(minutes=minutes)
    here = ZoneInfo(zone)
    end = reminders.until(now, hour, here)
    assert end.astimezone(here).time() == time()
    assert now < end
    is_late = now.astimezone(here).hour >= hour
    assert end.date() - now.astimezone(here).date() == timedelta(days=1 + is_late)


def test_a_person_chooses_the_hour_on_their_own_page_and_switches_it_off(main):
    client = client_of("orders.view_order")
    assert "Remind me the day before an appointment" in client.get(MINE).content.decode()
    posted = {"only_mine": "mine", "time_zone": ""}
    client.post(MINE, posted | {"reminds": "on", "reminder_hour": "7"})
    row = ReminderSettings.objects.get()
    assert (row.hour, row.due_at is not None) == (7, True)
    text = client.get(MINE).content.decode()
    assert '<option value="7" selected>07:00</option>' in text
    client.post(MINE, posted | {"reminder_hour": "8"})
    row.refresh_from_db()
    assert (row.due_at, PersonSettings.objects.get().due_at) == (None, None)


def test_the_database_knows_the_hours_and_refuses_a_second_reminder_of_a_time(main):
    person = agent()
    row = appointment(main)
    Reminder.objects.create(person=person, assignment=row, at=AT)
    with pytest.raises(IntegrityError), transaction.atomic():
        Reminder.objects.create(person=person, assignment=row, at=AT)
    with pytest.raises(IntegrityError), transaction.atomic():
        ReminderSettings.objects.update(hour=24)


def test_reminders_of_the_past_are_removed(main):
    person, now = agent(), timezone.now()
    row = appointment(main)
    Reminder.objects.create(person=person, assignment=row, at=now - timedelta(days=3))
    Reminder.objects.create(person=person, assignment=row, at=now)
    assert clear_deliveries() == {"reminders": 1}
    assert Reminder.objects.get().at == now
