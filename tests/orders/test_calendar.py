"""The calendar of appointments: what it shows to whom, and the private address of it."""

import logging
import re
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlsplit

import icalendar
import pytest
import segno
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import given, strategies as st

from orders.calendar.appointments import MOST, Appointment
from orders.calendar.feed import renew, written
from orders.calendar.ics import CONTROL, calendar
from orders.calendar.periods import VIEWS, period
from orders.mirror import agent_lists
from orders.models import (
    EPOCH,
    Assignment,
    CalendarFeed,
    Order,
    PlatformUser,
    StatusChange,
)
from properties.models import Property
from tests.crm_sync.admin_pages import CANARY, ESCAPED, client_of, make_workspace, queries_of
from tests.orders.admin_rows import make_assignment, make_order

CALENDAR = reverse("admin:orders_order_calendar")
ADDRESS = reverse("admin:orders_order_calendar_address")
MAY = "orders.view_order"
AT = datetime(2026, 3, 12, 9, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def appointment(main, name: str = "1", at: datetime = AT, **columns) -> Assignment:
    order = make_order(main, name, object_reference_id=f"R-{name}")
    known = {"status": "SCHEDULED", "scheduled_at": at, "scheduled_watermark": AT}
    return make_assignment(order, name, **(known | columns))


def shown(client: Client, query: str = "on=2026-03-12") -> dict[str, list[str]]:
    """Return what stands on each day that has something."""
    days = client.get(f"{CALENDAR}?{query}").context["days"]
    return {
        day["day"].isoformat(): [f"{one['time']} {one['where']}" for one in day["entries"]]
        for day in days
        if day["entries"]
    }


def make_address(client: Client, **posted: str) -> str:
    text = client.post(ADDRESS, {"do": "renew"} | posted).content.decode()
    found = re.search(r"<pre[^>]*>(\S+)</pre>", text)
    address = urlsplit(found[1])
    return f"{address.path}?{address.query}"


def events(client: Client, address: str) -> list[icalendar.Event]:
    response = client.get(address)
    assert response.status_code == 200
    return icalendar.Calendar.from_ical(response.content).walk("VEVENT")


# --- which days ---
def test_a_month_is_shown_in_whole_weeks_and_a_week_from_monday():
    march = period("month", date(2026, 3, 31))
    assert (march.first, march.end, march.title) == (
        date(2026, 2, 23),
        date(2026, 4, 6),
        "March 2026",
    )
    week = period("week", date(2026, 3, 12))
    assert (week.first, week.end, week.title) == (
        date(2026, 3, 9),
        date(2026, 3, 16),
        "9 Mar 2026 to 15 Mar 2026",
    )


@given(st.sampled_from(VIEWS), st.dates(date(2000, 2, 1), date(2099, 1, 1)))
def test_every_day_is_in_one_period_and_the_next_one_begins_where_it_ends(view, on):
    here = period(view, on)
    assert on in here.days
    after, before = period(view, here.after), period(view, here.before)
    if view == "month":
        assert here.after.day == 1
        assert period(view, here.after - timedelta(days=1)) == here
        assert (len(here.days) % 7, here.first.weekday()) == (0, 0)
    else:
        assert (after.first, before.end) == (here.end, here.first)
    assert period(view, after.before).title == here.title


# --- the page ---
def test_an_appointment_stands_on_its_day_in_our_zone(main, boss, settings):
    appointment(main)
    appointment(main, "night", datetime(2026, 3, 12, 23, 30, tzinfo=UTC))
    assert shown(boss) == {"2026-03-12": ["09:30 R-1", "23:30 R-night"]}
    settings.TIME_ZONE = "Europe/Zurich"
    assert shown(boss) == {"2026-03-12": ["10:30 R-1"], "2026-03-13": ["00:30 R-night"]}


def test_what_was_given_up_or_is_not_in_the_period_is_not_shown(main, boss):
    appointment(main, "cancelled", status="CANCELLED")
    appointment(main, "month before", datetime(2026, 2, 10, 9, tzinfo=UTC))
    appointment(main, "outside", datetime(2026, 2, 24, 9, tzinfo=UTC))
    appointment(main, "first", datetime(2026, 3, 9, tzinfo=UTC))
    assert shown(boss) == {"2026-02-24": ["09:00 R-outside"], "2026-03-09": ["00:00 R-first"]}
    assert shown(boss, "view=week&on=2026-03-12") == {"2026-03-09": ["00:00 R-first"]}
    assert shown(boss, "view=list&on=2026-02-10") == {
        "2026-02-10": ["09:00 R-month before"],
        "2026-02-24": ["09:00 R-outside"],
        "2026-03-09": ["00:00 R-first"],
    }


def test_what_belongs_to_a_cancelled_order_is_in_no_calendar_and_no_list(main, boss):
    row = appointment(main)  # the platform may leave it SCHEDULED, or it is read later
    Order.objects.filter(pk=row.order_id).update(status="CANCELLED")
    assert shown(boss) == {}
    person = User.objects.get(pk=boss.session["_auth_user_id"])
    renew(person, only_mine=False, now=AT)
    feed = written(CalendarFeed.objects.get(), now=AT)
    assert icalendar.Calendar.from_ical(feed).walk("VEVENT") == []
    week = agent_lists.appointment_in_week_of(AT.date())
    assert not Order.objects.filter(week).exists()


def test_it_can_be_narrowed_to_a_workspace_a_photographer_and_mine(main):
    client = client_of(MAY)
    other = make_workspace("other")
    appointment(main, "ada", photographer={"id": "1", "name": "Ada"})
    appointment(main, "bea", photographer={"id": "2", "name": "Bea"})
    appointment(other, "there")
    Order.objects.filter(platform_id="bea").update(user_platform_id="7")
    PlatformUser.objects.create(workspace=main, platform_id="7", account=User.objects.get())

    def day(query: str) -> list[str]:
        return shown(client, f"on=2026-03-12&{query}").get("2026-03-12", [])

    assert day("") == ["09:30 R-ada", "09:30 R-bea", "09:30 R-there"]
    assert day("workspace=other") == ["09:30 R-there"]
    assert day("photographer=Ada") == ["09:30 R-ada"]
    assert day("whose=mine") == ["09:30 R-bea"]
    assert day("whose=mine&photographer=Ada") == []
    context = client.get(f"{CALENDAR}?on=2026-03-12&photographer=Ada").context
    assert context["photographers"] == ["Ada", "Bea"]
    assert context["after"] == "?on=2026-04-01&photographer=Ada"


def test_a_day_with_many_leads_to_its_week_which_shows_all(main, boss):
    for number in range(5):
        appointment(main, f"{number}")
    (day,) = [
        one for one in boss.get(f"{CALENDAR}?on=2026-03-12").context["days"] if one["entries"]
    ]
    assert (len(day["entries"]), day["more"]) == (5, 0)  # "and 1 more" would take the same room
    appointment(main, "5")
    (day,) = [
        one for one in boss.get(f"{CALENDAR}?on=2026-03-12").context["days"] if one["entries"]
    ]
    assert (len(day["entries"]), day["more"]) == (4, 2)
    assert len(shown(boss, day["all"][1:])["2026-03-12"]) == 6


@pytest.mark.parametrize("query", ["on=nonsense", "on=0001-01-01", "on=9999-12-31", "view=odd"])
def test_an_address_that_somebody_typed_shows_a_calendar_too(main, boss, query):
    assert boss.get(f"{CALENDAR}?{query}").status_code == 200


def test_the_page_takes_as_many_queries_for_many_appointments_as_for_one(main, boss):
    appointment(main)
    address = f"{CALENDAR}?on=2026-03-12"
    one = queries_of(boss, address)
    for number in range(30):
        appointment(main, f"more-{number}", AT + timedelta(hours=number))
    assert queries_of(boss, address) == one


def test_nothing_that_the_platform_sends_becomes_markup(main, boss):
    appointment(main, CANARY, products=[CANARY], photographer={"name": CANARY}, status=CANARY)
    for view in VIEWS:
        text = boss.get(f"{CALENDAR}?on=2026-03-12&view={view}&photographer={CANARY}")
        assert CANARY.lower() not in text.content.decode().lower()
        assert ESCAPED in text.content.decode()


def test_only_who_may_see_orders_sees_the_calendar(main):
    for address in (CALENDAR, ADDRESS):
        assert client_of("properties.view_property").get(address).status_code == 403
        assert Client().get(address).status_code == 302


@pytest.mark.parametrize(
    ("address", "title"),
    [
        (CALENDAR, "Calendar"),
        ("/admin/orders/order/", "Orders"),
        ("/admin/", "Overview"),
        ("/admin/orders/placement/", "Orders"),
        ("/admin/orders/calendarfeed/", "Mail and calendars"),
        ("/admin/auth/user/sessions/", "Sessions"),
    ],
)
def test_the_sidebar_marks_the_one_page_that_is_open(main, boss, address, title):
    groups = boss.get(address).context["sidebar_navigation"]
    marked = [one["title"] for group in groups for one in group["items"] if one["active"]]
    assert marked == [title]


# --- the private address ---
def test_a_calendar_program_gets_the_appointments(main, settings):
    settings.PUBLIC_BASE_URL = "https://crm.example.com"
    address = {
        "street": "Main Street",
        "streetNumber": "1",
        "postalCode": "3000",
        "locality": "Bern",
    }
    home = Property.objects.create(
        workspace=main, object_reference_id="R-1", desired={"title": "Flat", "address": address}
    )
    at = timezone.now().replace(microsecond=0) + timedelta(days=3)
    person = {"name": "Ada", "phone": "+41", "email": "ada@example.org"}
    one = appointment(main, at=at, photographer=person)
    Order.objects.update(real_estate_property=home)
    appointment(main, "gone", at, status="CANCELLED")
    appointment(main, "long ago", at - timedelta(days=40))
    appointment(main, "far ahead", at + timedelta(days=400))
    (event,) = events(Client(), make_address(client_of(MAY)))
    page = reverse("admin:orders_order_change", args=[one.order_id])
    assert {name: str(event[name]) for name in ("UID", "SUMMARY", "LOCATION", "STATUS", "URL")} == {
        "UID": f"assignment-{one.pk}@crm.example.com",
        "SUMMARY": "Ground photo: Flat",
        "LOCATION": "Main Street 1, 3000 Bern",
        "STATUS": "CONFIRMED",
        "URL": f"https://crm.example.com{page}",
    }
    assert (event.start, event.end, event["DTSTAMP"].dt) == (at, at + timedelta(hours=1), AT)
    assert str(event["DESCRIPTION"]).splitlines() == [
        "Order 1: Scheduled",
        "Reference R-1",
        "Photographer: Ada, +41, ada@example.org",
    ]


def test_an_appointment_without_a_moment_of_the_platform_was_set_when_we_learned_of_it(main):
    at = timezone.now().replace(microsecond=0) + timedelta(days=3)
    learned = timezone.now().replace(microsecond=0) - timedelta(hours=2)
    one = appointment(main, at=at, scheduled_watermark=EPOCH, created_at=learned)
    address = make_address(client_of(MAY))
    (event,) = events(Client(), address)
    assert event["DTSTAMP"].dt == learned
    for number, moment in enumerate((learned, learned + timedelta(hours=1))):
        fact = {"fact": StatusChange.Fact.APPOINTMENT, "digest": str(number), "source": "READ"}
        StatusChange.objects.create(order=one.order, assignment=one, occurred_at=moment, **fact)
    (event,) = events(Client(), address)
    assert event["DTSTAMP"].dt == learned + timedelta(hours=1)
    before = Client().get(address)["ETag"]
    # A later read that finds it so moves the watermark on, and the file stays as it is.
    Assignment.objects.update(scheduled_watermark=timezone.now())
    assert Client().get(address)["ETag"] == before


def test_the_address_is_shown_once_and_only_its_digest_is_kept(main):
    client = client_of(MAY)
    key = make_address(client).partition("key=")[2]
    assert len(key) >= 40
    assert key not in str(list(CalendarFeed.objects.values()))
    for address in (CALENDAR, ADDRESS):
        assert key not in client.get(address, follow=True).content.decode()


def test_the_address_can_be_copied_opened_in_a_calendar_or_photographed(main, settings):
    settings.PUBLIC_BASE_URL = "https://crm.example.com"
    answer = client_of(MAY).post(ADDRESS, {"do": "renew"})
    address = answer.context["secret"]
    to_subscribe = address.replace("https://", "webcal://")
    assert address.startswith("https://crm.example.com/calendar.ics?key=")
    text = answer.content.decode()
    assert f'<a class="cs-quiet" href="{to_subscribe}">Open in my calendar</a>' in text
    assert 'data-copy="secret" hidden>Copy</button>' in text
    assert (
        str(segno.make(to_subscribe, error="m").svg_inline(scale=4, dark="#000", light="#fff"))
        in text
    )


def test_an_address_that_was_replaced_or_revoked_leads_nowhere(main):
    client = client_of(MAY)
    first = make_address(client)
    second = make_address(client)
    assert (client.get(first).status_code, client.get(second).status_code) == (404, 200)
    client.post(ADDRESS, {"do": "revoke"})
    assert (client.get(second).status_code, CalendarFeed.objects.count()) == (404, 0)


def test_an_operator_takes_an_address_away(main, boss):
    address = make_address(client_of(MAY))
    feed = CalendarFeed.objects.get()
    posted = {"action": "revoke", "_selected_action": [feed.pk]}
    listed = reverse("admin:orders_calendarfeed_changelist")
    assert feed.person.username in boss.get(listed).content.decode()
    assert client_of(MAY).post(listed, posted).status_code == 403
    assert boss.get(address).status_code == 200
    boss.post(listed, posted)
    assert boss.get(address).status_code == 404


def test_an_address_ends_with_the_password_of_its_person(main):
    address = make_address(client_of(MAY))
    person = User.objects.get()
    assert Client().get(address).status_code == 200
    person.set_password("another-good-password")
    person.save()
    assert Client().get(address).status_code == 404


def test_an_address_stays_when_a_login_only_hashes_the_same_password_anew(main, settings):
    client = client_of(MAY)
    person = User.objects.get()
    person.set_password("a-good-password")
    person.save()
    client.force_login(person)
    address = make_address(client)
    before = person.password
    # As after an upgrade of Django, with more iterations or another algorithm.
    hashers = ("PBKDF2PasswordHasher", "MD5PasswordHasher")
    settings.PASSWORD_HASHERS = [f"django.contrib.auth.hashers.{one}" for one in hashers]
    typed = {"username": person.username, "password": "a-good-password"}
    assert Client().post("/admin/login/", typed).status_code == 302
    person.refresh_from_db()
    assert person.password != before
    assert Client().get(address).status_code == 200
    person.set_password("another-good-password")
    person.save()
    assert Client().get(address).status_code == 404


def test_an_address_that_an_earlier_version_made_ends_with_the_next_password(main):
    address = make_address(client_of(MAY))
    CalendarFeed.objects.update(password_digest="")
    assert Client().get(address).status_code == 200
    person = User.objects.get()
    person.set_password("another-good-password")
    person.save()
    assert Client().get(address).status_code == 404


@pytest.mark.parametrize("query", ["", "?key=", "?key=wrong", "?key=%00%ff", "?key=a&key=b"])
def test_no_other_key_opens_it(main, query):
    make_address(client_of(MAY))
    assert Client().get(f"/calendar.ics{query}").status_code == 404


@pytest.mark.parametrize("how", ["left", "no staff", "no permission"])
def test_who_may_not_see_orders_any_more_reads_nothing_by_the_address(main, how):
    address = make_address(client_of(MAY))
    person = User.objects.get()
    if how == "no permission":
        person.user_permissions.remove(Permission.objects.get(codename="view_order"))
    elif how == "left":
        User.objects.update(is_active=False)
    else:
        User.objects.update(is_staff=False)
    assert Client().get(address).status_code == 404


def test_an_address_of_only_mine_shows_only_mine(main):
    client = client_of(MAY)
    at = timezone.now() + timedelta(days=1)
    for name, user in (("mine", "7"), ("theirs", "8")):
        appointment(main, name, at)
        Order.objects.filter(platform_id=name).update(user_platform_id=user)
    PlatformUser.objects.create(workspace=main, platform_id="7", account=User.objects.get())
    found = events(client, make_address(client, only_mine="on"))
    assert [str(one["SUMMARY"]) for one in found] == ["Ground photo: R-mine"]


def test_what_has_not_changed_is_not_sent_again(main):
    one = appointment(main, at=timezone.now() + timedelta(days=1))
    address = make_address(client_of(MAY))
    first = Client().get(address)
    again = Client().get(address, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    one.scheduled_at += timedelta(hours=1)
    one.save()
    moved = Client().get(address, headers={"If-None-Match": first["ETag"]})
    assert (moved.status_code, moved["ETag"] == first["ETag"]) == (200, False)
    assert "private" in moved["Cache-Control"]
    assert Client().post(address).status_code == 405


def test_the_key_is_in_no_log(main, caplog):
    client = client_of(MAY)
    key = make_address(client).partition("key=")[2]
    with caplog.at_level(logging.DEBUG):
        assert Client().get(f"/calendar.ics?key={key}").status_code == 200
        assert Client().get(f"/calendar.ics?key={key[::-1]}").status_code == 404
        assert Client().post(f"/calendar.ics?key={key}").status_code == 405
    assert (key in caplog.text, key[::-1] in caplog.text) == (False, False)


def test_the_file_takes_as_many_queries_for_many_appointments_as_for_one(main):
    at = timezone.now() + timedelta(days=1)
    appointment(main, at=at)
    address = make_address(client_of(MAY))
    one = queries_of(Client(), address)
    for number in range(30):
        appointment(main, f"more-{number}", at)
    assert len(events(Client(), address)) == 31
    assert queries_of(Client(), address) == one


def test_of_very_many_appointments_a_calendar_program_gets_those_that_are_to_come(main):
    now = timezone.now().replace(microsecond=0)
    order = make_order(main, "1")
    Assignment.objects.bulk_create(
        Assignment(
            workspace=main,
            order=order,
            platform_id=str(number),
            scheduled_at=now + timedelta(minutes=number),
        )
        for number in range(-MOST, 3)
        if number
    )
    address = make_address(client_of(MAY))
    found = [round((one.decoded("dtstart") - now) / MINUTE) for one in events(Client(), address)]
    assert found == [*range(2 - MOST, 0), 1, 2]


# --- the laws of the file (RFC 5545) ---
TEXTS = st.text(max_size=200)


@given(title=TEXTS, name=TEXTS, order=TEXTS, product=TEXTS, street=TEXTS)
def test_whatever_the_texts_are_the_file_holds_them_and_has_lines_that_every_program_reads(
    title, name, order, product, street
):
    one = Appointment(
        key=1,
        at=AT,
        set_at=AT,
        status="SCHEDULED",
        products=[product],
        photographer={"name": name},
        order_key=1,
        order=order,
        reference="R",
        title=title,
        address={"street": street},
        workspace="main",
    )
    made = calendar([one], host="crm.test", page=str, zone="UTC")
    assert made.endswith(b"\r\n")
    lines = made[:-2].split(b"\r\n")
    assert max(map(len, lines)) <= 75
    assert not re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|(?<!\r)\n|\r(?!\n)", made)
    (event,) = icalendar.Calendar.from_ical(made).walk("VEVENT")
    said = CONTROL.sub("", str(event["SUMMARY"]))
    assert said.startswith(CONTROL.sub("", product.replace("_", " ").capitalize())[:20])
    assert calendar([one], host="crm.test", page=str, zone="UTC") == made
