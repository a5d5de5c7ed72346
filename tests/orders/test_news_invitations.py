"""A mail about an appointment carries it for calendar programs; one about its end removes it."""

from datetime import timedelta
from email.message import Message

import icalendar
import pytest
from django.core import mail
from django.utils import timezone

from orders.calendar.feed import renew, written
from orders.models import Assignment, CalendarFeed, Order
from orders.models.news import News, news_of
from tests.orders.admin_rows import make_assignment, make_order
from tests.orders.test_notices import HOUR, agent, drain, happens, pass_by

SOON = timedelta(days=2)


@pytest.fixture(autouse=True)
def our_address(settings) -> None:
    settings.PUBLIC_BASE_URL = "https://crm.example.com"
    settings.DEFAULT_FROM_EMAIL = "CRM sync <crm@example.com>"
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


@pytest.fixture
def row(main) -> Assignment:
    at = (timezone.now() + SOON).replace(microsecond=0)
    order = make_order(main, "1", object_reference_id="R-1")
    return make_assignment(order, "1", status="SCHEDULED", scheduled_at=at)


def sets(row: Assignment, at=None) -> None:
    """The platform sets or moves the appointment."""
    moment = at or row.scheduled_at
    Assignment.objects.filter(pk=row.pk).update(scheduled_at=moment)
    happens(row.order, "APPOINTMENT", moment.isoformat(), assignment=row)


def cancels(row: Assignment) -> None:
    Assignment.objects.filter(pk=row.pk).update(status="CANCELLED")
    happens(row.order, "ASSIGNMENT_STATUS", "CANCELLED", assignment=row)


def mailed() -> tuple[str, list[tuple[str, str, list[icalendar.Event]]]]:
    """Return the text of the only new mail, and the name, METHOD and events of each file."""
    assert drain() == {"sent": 1}
    (sent,) = mail.outbox
    mail.outbox.clear()
    pass_by(HOUR)
    return sent.body, [read(part) for part in sent.attachments]


def read(part: Message) -> tuple[str, str, list[icalendar.Event]]:
    content = part.get_payload(decode=True)
    assert b"\r\n" in content
    found = icalendar.Calendar.from_ical(content)
    # RFC 6047: the parameter is the METHOD of the file.
    assert part.get_content_type() == "text/calendar"
    assert part.get_param("method") == str(found["METHOD"])
    return part.get_filename(), str(found["METHOD"]), found.walk("VEVENT")


def test_an_appointment_that_is_set_and_moved_comes_with_the_same_id_and_a_higher_sequence(row):
    agent()
    sets(row)
    body, [(name, method, [first])] = mailed()
    assert (name, method) == ("appointments.ics", "PUBLISH")
    assert "1 has an appointment" in body
    assert "  Ground photo: " in body
    later = row.scheduled_at + timedelta(hours=3)
    sets(row, later)
    _, [(_, _, [second])] = mailed()
    assert (first.decoded("dtstart"), second.decoded("dtstart")) == (row.scheduled_at, later)
    assert first["UID"] == second["UID"] == f"assignment-{row.pk}@crm.example.com"
    assert first["SEQUENCE"] < second["SEQUENCE"]
    assert {str(one["STATUS"]) for one in (first, second)} == {"CONFIRMED"}
    assert str(first["ORGANIZER"]) == "mailto:crm@example.com"
    assert "ATTENDEE" not in first  # nobody is asked for an answer


@pytest.mark.parametrize("whole_order", [False, True])
def test_a_cancelled_appointment_is_removed_from_the_calendar(row, whole_order):
    agent()
    sets(row)
    _, [(_, _, [first])] = mailed()
    if whole_order:  # its assignment is read later
        Order.objects.update(status="CANCELLED")
        happens(row.order, "ORDER_STATUS", "CANCELLED")
    else:
        cancels(row)
    _, [(name, method, [last])] = mailed()
    assert (name, method, str(last["STATUS"])) == ("cancelled.ics", "CANCEL", "CANCELLED")
    assert (last["UID"], last["SEQUENCE"] > first["SEQUENCE"]) == (first["UID"], True)


@pytest.mark.parametrize("whole_order", [False, True])
def test_a_cancelled_appointment_is_removed_although_the_platform_shows_its_time_no_more(
    row, whole_order
):
    agent()
    sets(row)
    _, [(_, _, [first])] = mailed()
    happens(row.order, "APPOINTMENT", "", previous=row.scheduled_at.isoformat(), assignment=row)
    Assignment.objects.filter(pk=row.pk).update(scheduled_at=None)
    if whole_order:
        Order.objects.update(status="CANCELLED")
        happens(row.order, "ORDER_STATUS", "CANCELLED")
    else:
        cancels(row)
    _, [(name, method, [last])] = mailed()
    assert (name, method, last.decoded("dtstart")) == ("cancelled.ics", "CANCEL", row.scheduled_at)
    assert (last["UID"], last["SEQUENCE"] > first["SEQUENCE"]) == (first["UID"], True)


def test_a_time_that_was_given_up_before_the_cancellation_and_is_past_is_in_no_file(row):
    agent()
    past = timezone.now() - HOUR
    happens(row.order, "APPOINTMENT", "", previous=past.isoformat(), assignment=row)
    Assignment.objects.filter(pk=row.pk).update(scheduled_at=None)
    cancels(row)
    assert mailed()[1] == []


def test_it_is_the_event_of_the_calendar_that_the_person_reads(row):
    person = agent()
    sets(row)
    _, [(_, _, [sent])] = mailed()
    renew(person, only_mine=False, now=timezone.now())
    feed = written(CalendarFeed.objects.get(), now=timezone.now())
    (listed,) = icalendar.Calendar.from_ical(feed).walk("VEVENT")
    del sent["ORGANIZER"]
    assert listed == sent


def test_what_is_past_or_of_another_workspace_is_in_no_file(row, main):
    agent()
    sets(row, timezone.now() - HOUR)
    body, files = mailed()
    assert files == []
    assert "1 has an appointment" in body


def test_who_did_not_choose_appointments_gets_no_mail_about_one(row):
    agent(kinds=[News.ACTION, News.CANCELLED])
    sets(row)
    assert drain() == {}
    cancels(row)
    _, [(name, _, [_event])] = mailed()
    assert name == "cancelled.ics"


def test_no_value_breaks_out_of_the_file(row):
    agent()
    Order.objects.update(object_reference_id="x\r\nEND:VCALENDAR\r\nMETHOD:REQUEST")
    sets(row)
    _, [(_, method, [event])] = mailed()
    assert method == "PUBLISH"
    assert "END:VCALENDAR" in str(event["SUMMARY"])


def test_only_a_moment_is_an_appointment():
    assert news_of("APPOINTMENT", "", "2026-03-12T09:30:00+00:00") is News.SCHEDULED
    assert news_of("APPOINTMENT", "2026-03-12T09:30:00+00:00", "") is None
    assert news_of("APPOINTMENT", "", "2026-13-12T09:30:00+00:00") is None
    same = "2026-03-12T09:30:00+00:00"
    assert news_of("APPOINTMENT", same, same) is None
