"""In each mail a value is text: it makes no header, no line and no event of its own (I17, S18)."""

import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage as Parsed

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail import EmailMessage
from django.utils import timezone
from icalendar import Calendar

import crm_sync.mail
from crm_sync import hooks
from crm_sync.mail import message
from crm_sync.models import Alarm, AlarmKind, Workspace
from crm_sync.observing import alarm_report, alarms
from crm_sync.security import password_links
from crm_sync.work import turn
from orders.calendar import reminders
from orders.models import Assignment, Order, PersonSettings, Placement, StatusChange
from orders.models.news import News
from orders.models.statuses import AssignmentStatus, OrderStatus
from orders.people import preferences
from properties.models import Fetch, Import, Source
from tests.hostile import STEERING
from tests.test_hostile_names import every_value, rows_with

pytestmark = pytest.mark.django_db
HEADERS = {
    *("Subject", "From", "To", "Date", "Message-ID", "Auto-Submitted"),
    *("MIME-Version", "Content-Type", "Content-Transfer-Encoding"),
}
HOUR = timedelta(hours=1)
TO = "boss@example.com"


@pytest.fixture(autouse=True)
def mails_are_on(settings) -> None:
    settings.PUBLIC_BASE_URL = "https://crm.example.com"
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    for limit in (password_links.asked, password_links.mailed):
        limit.forget()


def drain(queue: str) -> list[EmailMessage]:
    """Return what a worker mails of a queue."""
    mail.outbox.clear()
    first = Workspace.objects.order_by("pk")[0]
    turn.take(hooks.queue(queue), first.pk, seconds=20.0)
    return [*mail.outbox]


def of_news(person: User, value: str) -> list[EmailMessage]:
    """The mails about each kind of news: as it is announced, and when its order was cancelled."""
    begun = timezone.now() - HOUR
    preferences.choose(person, kinds=[*News], only_mine=False, time_zone="", language="", now=begun)
    Placement.objects.filter(state="UNCERTAIN").update(uncertain_at=begun + HOUR / 2)
    (first,) = StatusChange.objects.all()
    for number, kind in enumerate(News):
        first.pk, first.news, first.digest = None, kind, f"{number:064}"
        first.created_at = begun + HOUR / 2
        first.save(force_insert=True)
    StatusChange.objects.update(created_at=begun + HOUR / 2)
    found = []
    for status in (OrderStatus.IN_PROGRESS, OrderStatus.CANCELLED):
        Order.objects.update(status=status)
        Assignment.objects.update(status=AssignmentStatus.SCHEDULED)
        PersonSettings.objects.update(due_at=begun, told_until=begun, mailed_at=None)
        found += drain("notices")
    files = [part for one in found for part in one.attachments]
    assert len(files) == 2, "the appointment, and that it is cancelled"
    return found


def of_appointments(person: User, value: str) -> list[EmailMessage]:
    """The mail that reminds of an appointment."""
    preferences.choose(
        person, kinds=[], only_mine=False, time_zone="", language="", now=timezone.now()
    )
    reminders.choose(person, hour=0, now=timezone.now())
    return drain("reminders")


def of_alarms(person: User, value: str) -> list[EmailMessage]:
    """The mails about each kind of alarm: alone, all together, and that they are over."""
    preferences.choose(
        person,
        kinds=[],
        alarms=AlarmKind.values,
        only_mine=False,
        time_zone="",
        language="",
        now=timezone.now(),
    )
    now = timezone.now()
    Workspace.objects.update(pauses=1, paused_until=now + HOUR, problem=value)
    Source.objects.update(attempts=9, problem=value)
    Fetch.objects.update(outcome="FAILED", at=now, text=value)
    alarms.notice(now)
    assert {one.kind for one in Alarm.objects.all()} == {*AlarmKind}
    mail.outbox.clear()
    Alarm.objects.update(due_at=now)
    alarm_report.report_without_a_worker(now)
    found = [*mail.outbox, *drain("alarms")]
    for row in Alarm.objects.all():
        Alarm.objects.exclude(pk=row.pk).update(due_at=None)
        Alarm.objects.filter(pk=row.pk).update(due_at=now, told_to=[])
        found += drain("alarms")
    return found


def of_sources(person: User, value: str) -> list[EmailMessage]:
    """The mails about a source: each outcome of a fetch, each end of an import."""
    Source.objects.update(mail_to=TO)
    Fetch.objects.all().delete()
    source, done = Source.objects.get(), Import.objects.get()
    columns = {"source": source, "workspace": source.workspace, "text": value, "name": value[:255]}
    found = []
    for outcome in Fetch.Outcome:
        Fetch.objects.create(**columns, outcome=outcome, due_at=timezone.now())
        found += drain("source_mails")
    refused = [[value, value, [value, value]]]
    report = {"refused": refused, "counts": {"refused": 1}}
    now = timezone.now()
    for state in Import.State:
        Import.objects.update(
            state=state, released_at=now, ended_at=now, problem=value, report=report, preview=report
        )
        Fetch.objects.create(**columns, outcome="IMPORT", imported=done, due_at=timezone.now())
        found += drain("source_mails")
    assert len(found) == len(Fetch.Outcome) + len(Import.State)
    return found


def of_accounts(person: User, value: str) -> list[EmailMessage]:
    """The invitation of a person, and the link for who forgot their password."""
    password_links.invite(person)
    password_links.ask(person.email, "192.0.2.1")
    password_links.outbox.submit(int).result()
    return [*mail.outbox]


MAKERS: dict[str, Callable[[User, str], Sequence[EmailMessage]]] = {
    "orders.people.news_mail": of_news,
    "orders.calendar.reminders": of_appointments,
    "crm_sync.observing.alarm_report": of_alarms,
    "properties.sources.source_mail": of_sources,
    "crm_sync.security.password_links": of_accounts,
}


def test_every_module_that_writes_a_mail_is_walked():
    ours = {one.partition(".")[0] for one in MAKERS}
    writing = {
        name
        for name, module in [*sys.modules.items()]
        if name.partition(".")[0] in ours and name not in ("crm_sync", "crm_sync.mail")
        if any(one is message or one is crm_sync.mail for one in [*vars(module).values()])
    }
    assert writing == {*MAKERS}


@pytest.mark.rule("S4")
@every_value
@pytest.mark.parametrize("module", MAKERS)
def test_a_value_in_a_mail_makes_no_header_no_line_and_no_event(value, module):
    rows_with(value)
    person = User.objects.create(
        username=value[:150], first_name=value[:150], email=TO, is_staff=True, is_superuser=True
    )
    person.set_password("a-very-good-password")
    person.save()
    found = MAKERS[module](person, value)
    assert found
    for one in found:
        check(one)


def check(sent: EmailMessage) -> None:
    """Read a mail as its reader does."""
    whole = sent.message().as_bytes(linesep="\r\n")
    assert max(map(len, whole.split(b"\r\n"))) <= 998  # RFC 5322
    read = message_from_bytes(whole, _class=Parsed, policy=policy.default)
    assert {*read.keys()} <= HEADERS
    assert [one.addr_spec for one in read["To"].addresses] == [TO]
    assert read["Subject"].strip() == sent.subject
    body = read.get_body()
    assert body.get_content_type() == "text/plain"
    text = body.get_content().replace("\r\n", "\n")
    assert text == sent.body
    lines = [sent.subject, *text.split("\n")]
    assert [one for one in lines if STEERING.search(one) or one.startswith("X-Injected")] == []
    for part in read.iter_attachments():
        assert part.get_content_type() == "text/calendar"
        (event,) = Calendar.from_ical(part.get_content()).walk("VEVENT")
        assert "X-INJECTED" not in event
