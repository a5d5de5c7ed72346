"""A session ends without use; each person sees their own sessions and ends them (S17)."""

import logging
import re
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from tests.crm_sync.admin_pages import queries_of
from tests.problems import noted

pytestmark = [pytest.mark.django_db, pytest.mark.once]
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINE, LOGIN, GOOD = "/admin/auth/user/sessions/", "/admin/login/", "a-very-good-password"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Safari/604.1"
BY_ITSELF = {"Sec-Fetch-Dest": "empty"}  # what a browser says of a `fetch`


@pytest.fixture
def clock():
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


def enter(name: str = "ada", where: str = "192.0.2.1", agent: str = FIREFOX) -> Client:
    browser = Client(REMOTE_ADDR=where, HTTP_USER_AGENT=agent)
    if not User.objects.filter(username=name).exists():
        User.objects.create_user(name, password=GOOD, is_staff=True)
    assert browser.post(LOGIN, {"username": name, "password": GOOD}).status_code == 302
    return browser


def is_in(browser: Client) -> bool:
    return browser.get("/admin/").status_code == 200


@pytest.mark.rule("S17")
def test_a_session_ends_after_an_hour_without_use(clock, caplog):
    caplog.set_level(logging.INFO)
    browser = enter()
    for _ in range(3):
        clock.shift(timedelta(minutes=59))
        assert is_in(browser)
    clock.shift(timedelta(minutes=60))
    assert browser.get("/admin/?a=b")["Location"] == f"{LOGIN}?next=/admin/%3Fa%3Db"
    assert not is_in(browser)
    assert not Session.objects.exists()
    assert "session ended: ada, not used for too long" in caplog.text


def test_a_page_that_moves_by_itself_is_no_use(clock):
    browser = enter()
    for _ in range(5):
        clock.shift(timedelta(minutes=12))
        last = browser.get("/admin/", headers=BY_ITSELF).status_code
    assert last == 302


def test_an_open_page_gets_its_new_token_and_after_the_session_the_login(clock):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(User.objects.create_user("ada", password=GOOD, is_staff=True))
    answer = browser.get("/admin/session/", headers=BY_ITSELF)
    assert (answer.status_code, answer.content) == (204, b"")
    form = {"csrfmiddlewaretoken": answer["X-CSRFToken"]}
    assert browser.post(MINE, form).status_code == 302
    clock.shift(timedelta(minutes=60))
    answer = browser.get("/admin/session/", headers=BY_ITSELF)
    assert answer["Location"] == f"{LOGIN}?next=/admin/session/"


def test_what_somebody_does_by_a_script_of_the_page_is_use(clock):
    browser = enter()
    for _ in range(5):
        clock.shift(timedelta(minutes=12))
        browser.post("/admin/auth/user/sessions/", headers=BY_ITSELF)
    assert is_in(browser)


def test_no_use_and_no_password_makes_a_session_last_longer_than_its_login(clock, settings):
    browser = enter()
    for _ in range(15):
        clock.shift(timedelta(minutes=31))
        assert is_in(browser)
        browser.post("/admin/orders/order/calendar/address/", {"do": "renew", "password": GOOD})
    clock.shift(timedelta(minutes=16))
    assert not is_in(browser)


def test_with_a_limit_of_nought_none_ends_without_use(clock, settings):
    settings.SESSION_IDLE = 0
    browser = enter()
    clock.shift(timedelta(hours=7))
    assert is_in(browser)
    assert "A session ends 8 hours after its login." in browser.get(MINE).content.decode()


def test_each_person_sees_their_own_sessions_and_no_key(clock):
    browser = enter()
    clock.shift(timedelta(minutes=5))
    enter(where="198.51.100.4", agent=PHONE)
    enter("eve", where="203.0.113.9")
    text = browser.get(MINE).content.decode()
    assert re.findall(r">([\w ]+ on \w+)<", text) == ["Safari on iPhone", "Firefox on Linux"]
    assert ("198.51.100.4" in text, "203.0.113.9" in text) == (True, False)
    assert text.count("This session") == 1
    assert [one.pk for one in Session.objects.all() if one.pk in text] == []


@pytest.mark.rule("S17")
def test_a_person_ends_one_of_their_sessions_and_the_history_says_so(clock):
    browser, phone, other = enter(), enter(agent=PHONE), enter("eve")
    (name,) = re.findall(r'name="end" value="(\w{16})"', browser.get(MINE).content.decode())
    other.post(MINE, {"end": name})  # of somebody else
    assert is_in(phone)
    browser.post(MINE, {"end": name})
    assert [is_in(one) for one in (browser, phone, other)] == [True, False, True]
    (line,) = LogEntry.objects.all()
    assert (line.user.username, *noted()) == ("ada", "Ended 1 session.")
    again = browser.post(MINE, {"end": name}, follow=True).content.decode()
    assert "This session was over already." in again


def test_a_person_ends_all_but_this_session(clock):
    browser, *others, eve = enter(), enter(agent=PHONE), enter(), enter("eve")
    browser.post(MINE, {"end": "others"})
    assert [is_in(one) for one in (browser, *others, eve)] == [True, False, False, True]
    assert "End all others" not in browser.get(MINE).content.decode()


def test_the_open_sessions_of_an_account_that_is_switched_off_end(clock):
    browser = enter()
    assert is_in(browser)
    User.objects.filter(username="ada").update(is_active=False)
    assert not is_in(browser)


def test_the_cookie_of_a_session_is_kept_from_scripts_and_other_sites(clock):
    found = enter().cookies["sessionid"]
    assert (found["httponly"], found["samesite"]) == (True, "Lax")


def test_a_message_for_the_next_page_is_in_no_cookie(clock):
    browser = enter()
    assert browser.post(MINE, {"end": "nobody"}).status_code == 302
    assert set(browser.cookies) <= {"sessionid", "csrftoken"}
    assert "This session was over already." in browser.get(MINE).content.decode()


def test_sessions_that_are_over_are_not_listed(clock):
    enter(agent=PHONE)
    clock.shift(timedelta(minutes=61))
    browser = enter()
    assert browser.get(MINE).content.decode().count('data-label="Browser"') == 1
    before = enter(agent=PHONE)
    person = User.objects.get()
    person.set_password("another-good-password")
    person.save()
    assert not is_in(before)
    browser = Client()
    browser.force_login(person)
    assert browser.get(MINE).content.decode().count('data-label="Browser"') == 1


def test_the_use_of_a_session_is_written_once_a_minute(clock):
    browser = enter()
    one = queries_of(browser, MINE)
    clock.shift(timedelta(seconds=59))
    assert queries_of(browser, MINE) == one
    before = Session.objects.get().session_data
    clock.shift(timedelta(seconds=1))
    browser.get(MINE)
    assert Session.objects.get().session_data != before
