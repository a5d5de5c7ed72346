"""Who logs in: guessing ends, failures are logged, and secrets ask for the password again (S17)."""

import logging
from contextlib import ExitStack
from datetime import timedelta

import pytest
import time_machine
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from crm_sync.models import ApiToken, Subscription, Workspace
from crm_sync.security import login, login_limits
from crm_sync.security.per_minute import PerMinute
from crm_sync.tasks import clear_deliveries
from tests.crm_sync.admin_pages import client_of
from tests.crm_sync.receivers import subscribe
from tests.crm_sync.test_admin_credentials import ENTERED, credentials

pytestmark = [pytest.mark.django_db, pytest.mark.once]
LOGIN = "/admin/login/"
GOOD = "a-very-good-password"


@pytest.fixture
def ada() -> User:
    return User.objects.create_superuser("ada", password=GOOD)


def enter(password: str, *, name: str = "ada", where: str = "192.0.2.1", browser: str = "a"):
    entered = {"username": name, "password": password, "next": "/admin/"}
    return Client(REMOTE_ADDR=where, HTTP_USER_AGENT=browser).post(LOGIN, entered)


@pytest.mark.rule("S17")
def test_five_wrong_passwords_lock_a_name_at_an_address_for_fifteen_minutes(ada, caplog, boss):
    caplog.set_level(logging.INFO)
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for n in range(4):
            assert enter(f"wrong-{n}", browser=str(n)).status_code == 200
        fifth = enter("wrong-5")
        assert fifth.status_code == 429
        text = fifth.content.decode()
        assert "5 failed logins in a row. For 15 minutes nobody can log in with this name" in text
        # Not even with the right one; from elsewhere, and by another name, all is as before.
        clock.shift(timedelta(minutes=14))
        assert enter(GOOD).status_code == 429
        assert enter(GOOD, where="192.0.2.2").status_code == 302
        assert enter("wrong", name="eve").status_code == 200
        clock.shift(timedelta(minutes=1, seconds=1))  # to try meanwhile prolongs nothing
        assert enter(GOOD).status_code == 302
    lines = [one.getMessage() for one in caplog.records if one.name == "crm_sync.security.login"]
    assert lines == [
        *["login failed: ada from 192.0.2.1"] * 4,
        *["login failed: ada from 192.0.2.1, and is locked out"] * 2,
        "login: ada from 192.0.2.2",
        "login failed: an unknown name from 192.0.2.1",
        "login: ada from 192.0.2.1",
    ]
    assert "wrong" not in caplog.text
    assert GOOD not in caplog.text
    assert not AccessAttempt.objects.filter(post_data__contains="wrong-").exists()


def test_a_wrong_password_is_refused_in_the_words_of_the_form(ada):
    said = enter("wrong").context["form"].non_field_errors()
    assert said == [
        "No account with access has this name or mail address and this password. "
        "Capital and small letters count in the password."
    ]


def test_a_password_that_was_typed_as_a_name_is_kept_nowhere(ada, caplog):
    caplog.set_level(logging.INFO)
    for n in range(4):
        assert enter("wrong", name=GOOD, browser=str(n)).status_code == 200
    kept = AccessAttempt.objects.values()
    assert GOOD not in repr(list(kept)) + caplog.text
    assert {row["username"][:8] for row in kept} == {"unknown "}
    # It is counted all the same, and by itself.
    assert enter("wrong", name=f"{GOOD}.").status_code == 200
    assert enter("wrong", name=GOOD).status_code == 429
    assert enter("wrong", name=f"{GOOD}.").status_code == 200


@pytest.mark.rule("S17")
def test_a_login_a_logout_and_a_refusal_are_logged_with_the_person(ada, caplog):
    caplog.set_level(logging.INFO)
    User.objects.create_user("eve", password=GOOD, is_staff=True)
    browser = Client(REMOTE_ADDR="192.0.2.7")
    browser.post(LOGIN, {"username": "eve", "password": GOOD})
    assert browser.get("/admin/auth/user/").status_code == 403
    assert browser.post("/admin/auth/group/add/").status_code == 403
    browser.post("/admin/logout/")
    lines = [one.getMessage() for one in caplog.records if one.name.startswith("crm_sync.")]
    assert lines == [
        "login: eve from 192.0.2.7",
        "refused: eve from 192.0.2.7, GET /admin/auth/user/",
        "refused: eve from 192.0.2.7, POST /admin/auth/group/add/",
        "logout: eve from 192.0.2.7",
    ]


def test_an_address_that_has_to_wait_is_logged_once_a_minute(ada, caplog):
    for n in range(login_limits.FAILURES):
        enter("wrong", name=f"nobody-{n}")
    caplog.clear()
    assert [enter(GOOD).status_code for _ in range(5)] == [429] * 5
    lines = [
        one.getMessage() for one in caplog.records if one.name == "crm_sync.security.login_limits"
    ]
    assert lines == [
        "login refused: 192.0.2.1: 30 failed logins within a minute came from your address."
    ]


@pytest.mark.rule("S17")
def test_thirty_failures_from_one_address_close_it_to_every_name_for_a_minute(ada):
    for n in range(login_limits.FAILURES):
        assert enter("wrong", name=f"nobody-{n}").status_code == 200
    refused = enter(GOOD)
    wait = int(refused.headers["Retry-After"])
    assert (refused.status_code, 0 < wait <= 60) == (429, True)
    page = refused.content.decode()
    assert "30 failed logins within a minute came from your address." in page
    assert f"Try again in {wait} seconds." in page
    assert enter(GOOD, where="192.0.2.2").status_code == 302


def test_a_window_ends_after_a_minute_whatever_is_counted_in_it():
    counts = PerMinute()
    assert [counts.add("a", now) for now in (0.0, 30.0, 59.0)] == [1, 2, 3]
    assert counts.wait("a", 3, 59.0) == 1.0
    assert (counts.wait("a", 4, 59.0), counts.wait("b", 3, 59.0)) == (0.0, 0.0)
    assert counts.wait("a", 3, 60.0) == 0.0
    assert counts.add("a", 60.0) == 1


def test_who_logs_in_with_the_right_password_is_never_counted(ada):
    for _ in range(2 * login_limits.FAILURES):
        assert enter(GOOD).status_code == 302


@pytest.mark.rule("S17")
def test_while_two_passwords_are_hashed_a_third_login_is_asked_to_come_back(ada, settings):
    settings.PASSWORD_HASHERS = ["crm_sync.security.login_limits.BoundedHasher"]
    ada.set_password(GOOD)
    ada.save()
    with ExitStack() as others:
        for _ in range(login_limits.AT_ONCE):
            others.enter_context(login_limits.hashing)
        refused = enter(GOOD)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "2")
        assert "Several people are logging in at this moment." in refused.content.decode()
        assert not AccessAttempt.objects.exists()  # it is no failure of theirs
    assert enter(GOOD).status_code == 302


def test_behind_a_proxy_the_address_is_the_one_that_this_proxy_names(ada, settings, caplog):
    settings.TRUSTED_PROXIES = ["10.0.0.1"]
    named = {"HTTP_X_FORWARDED_FOR": "198.51.100.9, 192.0.2.7"}
    for where in ("10.0.0.1", "203.0.113.5"):  # the proxy, and somebody who says to be one
        Client(REMOTE_ADDR=where, **named).post(LOGIN, {"username": "ada", "password": "wrong"})
    lines = [one.getMessage() for one in caplog.records if one.name == "crm_sync.security.login"]
    assert lines == ["login failed: ada from 192.0.2.7", "login failed: ada from 203.0.113.5"]
    forged = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": "' or 1=1"}
    Client(**forged).post(LOGIN, {"username": "ada", "password": "wrong"})
    assert AccessAttempt.objects.filter(ip_address=None).count() == 1


def test_a_superuser_sees_failures_and_lets_somebody_in_again(ada, boss):
    for n in range(5):
        enter(f"wrong-{n}")
    page = boss.get("/admin/axes/accessattempt/").content.decode()
    assert "192.0.2.1" in page
    row = AccessAttempt.objects.get()
    assert boss.get(f"/admin/axes/accessattempt/{row.pk}/change/").status_code == 200
    boss.post("/admin/axes/accessattempt/", {"action": "unlock", "_selected_action": [row.pk]})
    assert enter(GOOD).status_code == 302


def test_a_session_ends_after_eight_hours_and_old_ones_are_removed(ada, settings):
    settings.SESSION_IDLE = 0
    browser = Client()
    with time_machine.travel(timezone.now(), tick=False) as clock:
        browser.post(LOGIN, {"username": "ada", "password": GOOD})
        clock.shift(timedelta(hours=7, minutes=59))
        assert browser.get("/admin/").status_code == 200
        clock.shift(timedelta(minutes=2))
        assert browser.get("/admin/").status_code == 302
        enter(GOOD)
        assert Session.objects.count() == 2
        assert clear_deliveries() == {"sessions": 1}
        assert Session.objects.get().expire_date > timezone.now()


@pytest.mark.rule("S17")
def test_credentials_ask_for_the_password_ten_minutes_after_the_login(box, workspace, ada):
    browser, address = Client(), credentials(workspace)
    entered = {name: value for name, value in ENTERED.items() if name != "slug"}
    with time_machine.travel(timezone.now(), tick=False) as clock:
        browser.post(LOGIN, {"username": "ada", "password": GOOD})
        assert "Your own password" not in browser.get(address).content.decode()
        clock.shift(timedelta(minutes=10, seconds=1))
        assert "Your own password" in browser.get(address).content.decode()
        before = Workspace.objects.get().credentials_at
        for password in ("", "wrong"):
            answer = browser.post(address, entered | {"password": password})
            assert str(login.WRONG) in answer.content.decode()
            assert Workspace.objects.get().credentials_at == before
        assert "token=****" in AccessAttempt.objects.get().post_data
        assert browser.post(address, entered | {"password": GOOD}).status_code == 302
        assert Workspace.objects.get().credentials_at == timezone.now()
        # That was asked just now.
        assert "Your own password" not in browser.get(address).content.decode()
        for n in range(4):  # wrong ones count as at the login
            clock.shift(timedelta(minutes=11))
            browser.post(address, entered | {"password": f"wrong-{n}"})


def test_the_secret_of_a_webhook_is_rotated_only_after_the_password(box, workspace, ada):
    browser, address = Client(), f"/admin/crm_sync/workspace/{workspace.pk}/webhook/"
    secret = Workspace.objects.get().auth_secret
    with time_machine.travel(timezone.now(), tick=False) as clock:
        browser.post(LOGIN, {"username": "ada", "password": GOOD})
        clock.shift(timedelta(minutes=11))
        answer = browser.post(address, {"action": "rotate"}, follow=True)
        assert f"{login.WRONG} Nothing was changed." in answer.content.decode()
        assert answer.content.decode().count("Your own password") == 3
        assert Workspace.objects.get().auth_secret == secret
        for n in range(5):
            last = browser.post(address, {"action": "rotate", "password": f"wrong-{n}"})
        assert last.status_code == 429
        clock.shift(timedelta(minutes=16))
        browser.post(address, {"action": "rotate", "password": GOOD})
        assert Workspace.objects.get().auth_secret != secret


ASKED = "Your own password"


@pytest.fixture
def late(ada):
    """Return the browser of somebody who logged in eleven minutes ago."""
    browser = Client()
    with time_machine.travel(timezone.now(), tick=False) as clock:
        browser.post(LOGIN, {"username": "ada", "password": GOOD})
        clock.shift(timedelta(minutes=11))
        yield browser


@pytest.mark.rule("S17")
def test_a_token_of_the_api_is_made_only_after_the_password(main, late):
    address = "/admin/crm_sync/apitoken/add/"
    entered = {"workspace": main.pk, "name": "ERP", "properties:read": "on"}
    assert late.get(address).content.decode().count(ASKED) == 1
    for password in ({}, {"password": "wrong"}):
        text = late.post(address, entered | password).content.decode()
        assert str(login.WRONG) in text
        assert not ApiToken.objects.exists()
    late.post(address, entered | {"password": GOOD})
    assert ApiToken.objects.get().name == "ERP"
    assert ASKED not in late.get(address).content.decode()


def test_a_secret_of_a_subscription_is_shown_only_after_the_password(main, late):
    listed = "/admin/crm_sync/subscription/"
    entered = {"workspace": main.pk, "kinds": ["property.in_sync"], "address": "https://a.test/"}
    assert ASKED in late.get(f"{listed}add/").content.decode()
    for password in ({}, {"password": "wrong"}):
        text = late.post(f"{listed}add/", entered | password).content.decode()
        assert str(login.WRONG) in text
        assert not Subscription.objects.exists()
    assert "whsec_" in late.post(f"{listed}add/", entered | {"password": GOOD}).content.decode()
    assert Subscription.objects.exists()


def test_an_address_of_a_subscription_is_changed_with_the_password_in_the_same_form(main, late):
    row = subscribe(main, "https://a.test/")
    changed = {"address": "https://b.test/", "kinds": row.kinds, "password": GOOD}
    late.post(f"/admin/crm_sync/subscription/{row.pk}/change/", changed)
    assert Subscription.objects.get().address == "https://b.test/"


@pytest.mark.rule("S17")
def test_a_secret_of_a_subscription_is_changed_only_after_the_password(main, late):
    row, listed = subscribe(main, "https://a.test/"), "/admin/crm_sync/subscription/"
    act = {"action": "rotate", "_selected_action": row.pk}
    first = late.post(listed, act).content.decode()
    assert (ASKED in first, str(login.WRONG) in first) == (True, False)
    assert str(login.WRONG) in late.post(listed, act | {"password": "wrong"}).content.decode()
    assert Subscription.objects.get().secret == row.secret
    # Nor do messages go to another address before.
    other = {"address": "https://b.test/", "kinds": ["property.in_sync"]}
    assert str(login.WRONG) in late.post(f"{listed}{row.pk}/change/", other).content.decode()
    assert Subscription.objects.get().address == "https://a.test/"
    shown = late.post(listed, act | {"password": GOOD}).content.decode()
    assert str(Subscription.objects.get().secret) in shown
    assert Subscription.objects.get().previous_secret == row.secret
    late.post(f"{listed}{row.pk}/change/", other)
    assert Subscription.objects.get().address == "https://b.test/"


def test_who_has_no_password_here_is_not_asked_for_one(rf):
    request = client_of(superuser=True).get("/admin/").wsgi_request
    request.user.set_unusable_password()
    request.session = {}
    assert not login.needs_password(request, timezone.now())
