"""The time zone of a person: what pages, forms, mails and their calendar file show in it."""

import json
from datetime import UTC, datetime, timedelta

import icalendar
import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.utils import timezone

from crm_sync.admin.ui.cells import exact_moment, local_time, moment
from crm_sync.webhook.sample_events import sample
from orders.admin.placing.review import warned
from orders.models import Assignment, ChangeRequest, PersonSettings, Placement
from orders.placing.duplicates import already_ordered
from properties.domain.editing import create
from properties.models import Property
from tests.crm_sync.admin_pages import client_of, make_received_event, queries_of
from tests.orders.admin_rows import make_order, page
from tests.orders.conftest import now
from tests.orders.test_calendar import CALENDAR, MAY, appointment, events, make_address, shown
from tests.orders.test_notices import agent as mailed, cancelled, drain
from tests.orders.test_order_changes_admin import change, look, said

TOKYO, ZURICH = "Asia/Tokyo", "Europe/Zurich"
LATE = datetime(2026, 3, 12, 22, 30, tzinfo=UTC)  # the next day in Zurich is half an hour away


@pytest.fixture(autouse=True)
def in_zurich(settings) -> None:
    settings.TIME_ZONE = ZURICH


def lives_in(client: Client, zone: str) -> Client:
    person = User.objects.get(pk=client.session["_auth_user_id"])
    PersonSettings.objects.update_or_create(person=person, defaults={"time_zone": zone})
    return client


@pytest.fixture
def here(db) -> Client:
    return client_of(MAY)


@pytest.fixture
def there(db) -> Client:
    return lives_in(client_of(MAY), TOKYO)


def test_the_calendar_is_in_their_zone_and_names_it(main, here, there):
    appointment(main, at=LATE)
    assert shown(here) == {"2026-03-12": ["23:30 R-1"]}
    assert shown(there) == {"2026-03-13": ["07:30 R-1"]}
    texts = [client.get(CALENDAR).content.decode() for client in (here, there)]
    assert [f"times in {ZURICH}" in text for text in texts] == [True, False]
    assert f"times in {TOKYO}, your zone; the installation is in {ZURICH}" in texts[1]


def test_an_appointment_in_another_zone_than_ours_says_which(main, here, there):
    order = appointment(main, at=LATE).order
    assert "Thu 12 Mar 2026, 23:30 CET" in here.get(page(order)).content.decode()
    assert "CET (" not in here.get(page(order)).content.decode()
    text = there.get(page(order)).content.decode()
    assert "Fri 13 Mar 2026, 07:30 JST (Asia/Tokyo)" in text


def test_the_zone_of_one_person_is_not_left_for_the_next(main, here, there):
    appointment(main, at=LATE)
    there.get(CALENDAR)
    assert shown(here) == {"2026-03-12": ["23:30 R-1"]}
    assert timezone.get_current_timezone_name() == ZURICH


def test_days_and_weeks_of_the_lists_are_hers(main, here, there):
    monday = timezone.localdate() - timedelta(days=timezone.localdate().weekday())
    at = datetime(monday.year, monday.month, monday.day, 16, tzinfo=UTC) - timedelta(days=1)
    appointment(main, at=at)  # Sunday afternoon here, Monday there
    address = "/admin/orders/order/?what=week"
    assert len(here.get(address).context["cl"].result_list) == 0
    found = there.get(address).context["cl"].result_list
    now_there = timezone.localdate(timezone=PersonSettings.objects.get().zone)
    is_same_week = now_there - timedelta(days=now_there.weekday()) == monday
    assert len(found) == (1 if is_same_week else 0)


def test_moments_are_in_their_zone_and_name_it():
    with timezone.override(TOKYO):
        assert "Fri 13 Mar 2026, 07:30:00 JST" in moment(LATE, now())
        assert 'datetime="2026-03-12T22:30:00+00:00"' in moment(LATE, now())
        assert "Fri 13 Mar 2026, 07:30:00 JST" in exact_moment(LATE, now())
        assert local_time(LATE) == "Fri 13 Mar 2026, 07:30 JST (Asia/Tokyo)"
    assert local_time(LATE) == "Thu 12 Mar 2026, 23:30 CET"


def test_a_time_is_typed_in_their_zone_which_the_form_names(scheduled, boss):
    lives_in(boss, TOKYO)
    form = boss.get(change(scheduled, "reschedule")).context["form"]
    assert form.fields["proposed_at"].label == "Proposed time (Asia/Tokyo)"
    year = now().year + 1
    posted = look(boss, scheduled, "reschedule", proposed_at=f"{year}-07-01T10:30")
    said(boss, scheduled, "reschedule", posted)
    assert ChangeRequest.objects.get().body["proposedAt"] == f"{year}-07-01T01:30:00Z"


def test_a_zone_that_changes_between_two_steps_of_a_form_moves_no_time(scheduled, boss):
    lives_in(boss, TOKYO)
    year = now().year + 1
    posted = look(boss, scheduled, "reschedule", proposed_at=f"{year}-07-01T10:30", zone=TOKYO)
    assert posted["zone"] == TOKYO
    lives_in(boss, "America/New_York")
    said(boss, scheduled, "reschedule", posted)
    assert ChangeRequest.objects.get().body["proposedAt"] == f"{year}-07-01T01:30:00Z"


def test_the_times_of_a_property_are_in_our_zone_whoever_looks(main, boss):
    create(main, "P-1", {"availabilityStartAt": "2026-03-12T22:30:00Z"}, origin="API", now=now())
    address = f"/admin/properties/property/{Property.objects.get().pk}/change/"
    assert 'value="2026-03-12T23:30:00"' in boss.get(address).content.decode()
    assert 'value="2026-03-12T23:30:00"' in lives_in(boss, TOKYO).get(address).content.decode()


def test_what_a_replay_would_change_is_in_their_zone(main, boss):
    fields = sample("APPOINTMENT_DATE_UPDATED", at=now(), fields={"scheduledAt": LATE.isoformat()})
    stuck = make_received_event(main, json.dumps(fields).encode(), state="FAILED", attempts=8)
    chosen = {"action": "replay", "_selected_action": stuck.pk}
    text = lives_in(boss, TOKYO).post("/admin/crm_sync/receivedevent/", chosen).content.decode()
    assert "— → Fri 13 Mar 2026, 07:30 JST" in text


def test_the_day_of_an_order_that_is_there_already_is_hers(main):
    create(main, "R-1", {}, origin="API", now=now())
    make_order(main, object_reference_id="R-1", placed_at=LATE)
    ((found,),) = already_ordered([Placement(workspace=main, object_reference_id="R-1")])
    with timezone.override(TOKYO):
        texts = [warned(found)[0], str(found)]
    assert [text.partition(": ")[2] for text in texts] == [
        "order 5000 of Fri 13 Mar 2026",
        "order 5000 of Thu 12 Mar 2026",  # an answer of the API is the same for everybody
    ]


def test_a_mail_is_in_their_zone(main):
    mailed()
    PersonSettings.objects.update(time_zone=TOKYO)
    assert drain() == {}
    cancelled(make_order(main))
    assert drain() == {"sent": 1}
    body = mail.outbox[0].body
    assert body.count("JST (Asia/Tokyo)") == 2
    assert "CET" not in body


def test_a_calendar_program_is_told_their_zone(main, here, there):
    appointment(main, at=timezone.now() + timedelta(days=1))
    told = {}
    for client in (here, there):
        address = make_address(client)
        (event,) = events(client, address)
        assert event.decoded("dtstart") == Assignment.objects.get().scheduled_at.replace(
            microsecond=0
        )
        told[client] = icalendar.Calendar.from_ical(client.get(address).content)["x-wr-timezone"]
    assert list(told.values()) == [ZURICH, TOKYO]


def test_a_zone_that_is_not_known_any_more_is_that_of_the_installation(main, here):
    appointment(main, at=LATE)
    for gone in ("Mars/Olympus", "../etc/passwd"):
        assert shown(lives_in(here, gone)) == {"2026-03-12": ["23:30 R-1"]}


def test_a_page_takes_as_many_queries_in_any_zone(main, here, there):
    appointment(main, at=LATE)
    assert queries_of(there, CALENDAR) == queries_of(here, CALENDAR)
