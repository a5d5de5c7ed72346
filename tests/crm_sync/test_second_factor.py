"""The second factor of a login: set up, asked for, lost, and not there where it is off (S17)."""

import base64
import hashlib
import hmac
import importlib
import logging
import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
import time_machine
from axes.models import AccessAttempt
from cryptography.fernet import Fernet
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from crm_sync.models import AuthenticatorApp
from crm_sync.security import login, second_factor
from tests.problems import noted
from tests.together import crossing

pytestmark = pytest.mark.django_db
LOGIN, LISTED = "/admin/login/", "/admin/crm_sync/authenticatorapp/"
MINE = f"{LISTED}mine/"
GOOD = "a-very-good-password"
OFF, OPTIONAL, REQUIRED = second_factor.OFF, second_factor.OPTIONAL, second_factor.REQUIRED
ASKED = 'name="code"'
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def optional(settings) -> None:
    settings.ADMIN_SECOND_FACTOR = OPTIONAL


@pytest.fixture
def clock() -> Iterator[Any]:
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


@pytest.fixture
def ada(clock) -> User:
    return User.objects.create_superuser("ada", password=GOOD)


@pytest.fixture
def browser(ada) -> Client:
    """Return a browser in which ada has logged in by their password."""
    found = Client()
    assert enter(found).status_code == 302
    return found


@pytest.fixture
def secret(browser) -> str:
    """Set up the app of ada in that browser; return what the app was given."""
    return set_up(browser)[0]


def code(secret: str) -> str:
    """Return what an app shows now (RFC 6238)."""
    step = struct.pack(">Q", int(timezone.now().timestamp()) // 30)
    digest = hmac.new(base64.b32decode(secret), step, hashlib.sha1).digest()
    at = digest[-1] & 15
    return f"{int.from_bytes(digest[at : at + 4]) % 2**31 % 10**6:06}"


def enter(browser: Client | None = None, code: str = "", **entered: str):
    known = {"username": "ada", "password": GOOD, "next": "/admin/", "code": code}
    return (browser or Client()).post(LOGIN, known | entered)


def set_up(browser: Client) -> tuple[str, list[str]]:
    """Return the secret and the recovery codes, as the pages show them."""
    text = browser.post(MINE, {"step": "begin"}).content.decode()
    (shown,) = re.findall(r"<pre[^>]*>([A-Z2-7 ]+)</pre>", text)
    secret = shown.replace(" ", "")
    return secret, recovery_codes(browser.post(MINE, {"step": "confirm", "code": code(secret)}))


def recovery_codes(answer) -> list[str]:
    (block,) = re.findall(r"<pre[^>]*>([a-z2-7\n]+)</pre>", answer.content.decode())
    return block.split()


def test_where_it_is_off_nothing_asks_for_it_and_no_page_is_there(secret, settings, clock):
    settings.ADMIN_SECOND_FACTOR = OFF
    assert ASKED not in Client().get(LOGIN).content.decode()
    browser = Client()
    assert enter(browser)["Location"] == "/admin/"
    assert "Second factor" not in browser.get("/admin/").content.decode()
    assert [browser.get(one).status_code for one in (MINE, LISTED)] == [404, 403]
    assert browser.post(MINE, {"step": "remove"}).status_code == 404
    assert AuthenticatorApp.objects.count() == 1


@pytest.mark.rule("S17")
def test_an_app_that_is_set_up_is_asked_for_and_each_code_opens_once(secret, clock):
    clock.shift(30)
    assert "Enter the code that your app shows" in enter().content.decode()
    shown = code(secret)
    browser = Client()
    assert enter(browser, f"{shown[:3]} {shown[3:]}").status_code == 302
    assert browser.get("/admin/").status_code == 200
    assert "used before" in enter(code=shown).content.decode()
    clock.shift(30)
    assert enter(code=code(secret)).status_code == 302


def test_the_line_of_a_login_says_that_a_code_was_entered(secret, clock, caplog):
    caplog.set_level(logging.INFO)
    clock.shift(30)
    assert enter(code=code(secret)).status_code == 302
    (line,) = [one for one in caplog.messages if one.startswith("login: ")]
    assert line == "login: ada from 127.0.0.1, with a code"


def test_nothing_is_asked_for_before_the_first_code_was_right(browser, ada):
    text = browser.post(MINE, {"step": "begin"}).content.decode()
    assert "<svg" in text
    assert (
        "This code is wrong"
        in browser.post(MINE, {"step": "confirm", "code": "000000"}).content.decode()
    )
    assert enter().status_code == 302
    assert browser.get("/admin/").status_code == 200
    assert not StaticToken.objects.exists()


def test_a_wrong_code_does_not_show_the_key_again(browser):
    begun = browser.post(MINE, {"step": "begin"}).content.decode()
    (shown,) = re.findall(r"<pre[^>]*>([A-Z2-7 ]+)</pre>", begun)
    wrong = browser.post(MINE, {"step": "confirm", "code": "000000"}).content.decode()
    assert "This code is wrong" in wrong
    assert [
        one for one in (shown, shown.replace(" ", ""), "<svg role", "cs-qr") if one in wrong
    ] == []
    assert ASKED in wrong


def test_the_first_code_is_taken_only_after_the_password_that_began_it(browser, clock):
    clock.shift(timedelta(minutes=8))
    text = browser.post(MINE, {"step": "begin"}).content.decode()
    secret = re.findall(r"<pre[^>]*>([A-Z2-7 ]+)</pre>", text)[0].replace(" ", "")
    clock.shift(timedelta(minutes=3))
    for password in ({}, {"password": "wrong"}):
        entered = {"step": "confirm", "code": code(secret)} | password
        page = browser.post(MINE, entered).content.decode()
        assert f"{login.WRONG} Nothing was changed." in page
        assert (ASKED in page, 'name="password"' in page) == (True, True)
        assert not AuthenticatorApp.objects.filter(confirmed=True).exists()
    browser.post(MINE, {"step": "confirm", "code": code(secret), "password": GOOD})
    assert AuthenticatorApp.objects.get().confirmed


def test_an_app_waits_ten_minutes_for_its_first_code(browser, clock):
    text = browser.post(MINE, {"step": "begin"}).content.decode()
    secret = re.findall(r"<pre[^>]*>([A-Z2-7 ]+)</pre>", text)[0].replace(" ", "")
    clock.shift(timedelta(minutes=10))
    entered = {"step": "confirm", "code": code(secret), "password": GOOD}
    page = browser.post(MINE, entered, follow=True).content.decode()
    assert "Begin again: no app waits for its first code any more." in page
    assert not AuthenticatorApp.objects.filter(confirmed=True).exists()


def test_an_app_that_waits_for_its_first_code_ends_at_the_next_login(browser, clock):
    browser.post(MINE, {"step": "begin"})
    enter()
    assert not AuthenticatorApp.objects.exists()


def test_secret_and_recovery_codes_are_shown_once_and_kept_in_no_cache(browser):
    secret, codes = set_up(browser)
    assert len(set(codes)) == 10
    stored = AuthenticatorApp.objects.get().key
    for address in (
        MINE,
        LISTED,
        f"{LISTED}{AuthenticatorApp.objects.get().pk}/change/",
        "/admin/",
    ):
        answer = browser.get(address)
        text = answer.content.decode()
        assert answer.status_code == 200
        assert [one for one in (secret, secret[:4] + " ", stored, *codes) if one in text] == []
    assert "no-store" in browser.get(MINE)["Cache-Control"]
    assert browser.get(f"{LISTED}?key__startswith={stored[:2]}").status_code in (302, 400)


def test_a_recovery_code_opens_once_and_new_ones_end_the_old(browser, clock):
    _, (first, second, *_) = set_up(browser)
    clock.shift(60)
    other = Client()
    assert enter(other, f" {first.upper()} ").status_code == 302
    assert other.get("/admin/").status_code == 200
    assert "This code is wrong" in enter(code=first).content.decode()
    clock.shift(60)
    fresh = recovery_codes(browser.post(MINE, {"step": "codes"}))
    assert enter(code=second).status_code == 200
    clock.shift(60)
    assert enter(code=fresh[0]).status_code == 302
    assert StaticToken.objects.count() == 9


def test_wrong_codes_count_as_wrong_passwords_and_are_written_nowhere(secret, clock, caplog):
    caplog.set_level(logging.INFO)
    for n in range(5):
        clock.shift(timedelta(minutes=1))
        answer = enter(code=f"00000{n}")
    assert answer.status_code == 429
    clock.shift(30)
    assert enter(code=code(secret)).status_code == 429
    lines = [one.getMessage() for one in caplog.records if one.name == "crm_sync.security.login"]
    assert lines[:4] == ["login failed: ada from 127.0.0.1"] * 4
    assert "00000" not in caplog.text
    assert not AccessAttempt.objects.filter(post_data__contains="00000").exists()


def test_after_a_wrong_code_the_next_one_waits_twice_as_long_from_any_address(secret, clock):
    clock.shift(30)
    waits = []
    for n in range(4):
        answer = Client(REMOTE_ADDR=f"192.0.2.{n}")
        assert "This code is wrong" in enter(answer, "000000").content.decode()
        text = enter(Client(REMOTE_ADDR=f"198.51.100.{n}"), code(secret)).content.decode()
        waits += re.findall(r"Wait (\d+ seconds?)", text)
        clock.shift(2**n)
    assert waits == ["1 second", "2 seconds", "4 seconds", "8 seconds"]
    assert enter(Client(REMOTE_ADDR="192.0.2.9"), code(secret)).status_code == 302


def test_a_session_of_before_ends_once_the_app_is_set_up(browser):
    elsewhere = Client()
    enter(elsewhere)
    assert elsewhere.get("/admin/").status_code == 200
    set_up(browser)
    assert elsewhere.get("/admin/")["Location"] == f"{LOGIN}?next=/admin/"
    assert browser.get("/admin/").status_code == 200
    assert elsewhere.get(LOGIN).status_code == 200


@pytest.mark.rule("S17")
def test_where_it_is_required_no_other_page_opens_before_it_is_set_up(browser, settings):
    settings.ADMIN_SECOND_FACTOR = REQUIRED
    for address in ("/admin/", "/admin/password_change/", "/admin/auth/user/"):
        for answer in (browser.get(address), browser.post(address)):
            assert answer["Location"] == MINE
    assert "It is required here" in browser.get(MINE).content.decode()
    set_up(browser)
    assert browser.get("/admin/").status_code == 200
    text = browser.post(MINE, {"step": "remove"}, follow=True).content.decode()
    assert "It is required here" in text
    assert AuthenticatorApp.objects.count() == 1


def test_another_app_takes_the_place_of_the_first_after_its_first_code(browser, secret, clock):
    clock.shift(60)
    browser.post(MINE, {"step": "begin"})
    assert enter(code=code(secret)).status_code == 302
    other, _ = set_up(browser)
    clock.shift(30)
    assert enter(code=code(secret)).status_code == 200
    clock.shift(30)
    assert enter(code=code(other)).status_code == 302


@pytest.mark.parametrize("step", ["begin", "codes", "remove"])
def test_a_change_asks_for_the_password_ten_minutes_after_the_login(browser, secret, clock, step):
    before = list(StaticToken.objects.values_list("token", flat=True))
    clock.shift(timedelta(minutes=11))
    for password in ({}, {"password": "wrong"}):
        text = browser.post(MINE, {"step": step} | password, follow=True).content.decode()
        assert f"{login.WRONG} Nothing was changed." in text
    assert list(StaticToken.objects.values_list("token", flat=True)) == before
    assert AuthenticatorApp.objects.count() == 1
    browser.post(MINE, {"step": step, "password": GOOD})
    changed = list(StaticToken.objects.values_list("token", flat=True)) != before
    assert (changed, AuthenticatorApp.objects.count()) == (
        step != "begin",
        {"begin": 2, "codes": 1, "remove": 0}[step],
    )


def test_a_superuser_removes_that_of_a_lost_phone_and_the_history_says_so(secret, boss, clock):
    row = AuthenticatorApp.objects.get()
    boss.get(LISTED)
    boss.post(LISTED, {"action": "remove", "_selected_action": [row.pk]})
    assert not AuthenticatorApp.objects.exists()
    assert not StaticDevice.objects.exists()
    said = noted()
    assert said == ["Second factor: set up.", "Second factor: removed."]
    ada = User.objects.get(username="ada")
    assert set(LogEntry.objects.values_list("object_id", flat=True)) == {str(ada.pk)}
    assert enter().status_code == 302


def test_who_is_no_superuser_sees_only_their_own(secret, clock):
    User.objects.create_user("eve", password=GOOD, is_staff=True)
    browser = Client()
    enter(browser, username="eve")
    assert browser.get(LISTED).status_code == 403
    row = AuthenticatorApp.objects.get()
    browser.post(LISTED, {"action": "remove", "_selected_action": [row.pk]})
    browser.post(MINE, {"step": "remove"})
    assert AuthenticatorApp.objects.get() == row


def test_a_code_from_the_server_lets_the_last_superuser_in_who_lost_the_phone(secret, capsys):
    call_command("addstatictoken", "ada", "--token", "rescue234567")
    browser = Client()
    assert enter(browser, "rescue234567").status_code == 302
    browser.post(MINE, {"step": "remove"})
    assert enter().status_code == 302


def test_whom_a_proxy_lets_in_is_asked_for_nothing(ada, settings):
    settings.ADMIN_SECOND_FACTOR = REQUIRED
    ada.set_unusable_password()
    ada.save()
    browser = Client()
    browser.force_login(ada)
    assert browser.get("/admin/").status_code == 200
    assert browser.get(MINE).status_code == 404


def test_the_gate_asks_for_nobody_who_has_no_session(client, settings):
    settings.ADMIN_SECOND_FACTOR = REQUIRED
    assert client.get("/healthz").status_code == 200
    assert client.get(reverse("admin:index"))["Location"] == f"{LOGIN}?next=/admin/"


# --- at rest (S5) ---
def raw() -> str:
    """Return all that the database holds of apps and recovery codes."""
    with connection.cursor() as cursor:
        found = []
        for table in ("crm_sync_authenticatorapp", "otp_static_statictoken", "otp_totp_totpdevice"):
            cursor.execute(f"SELECT * FROM {table}")
            found += cursor.fetchall()
    return repr(found)


def in_the_clear(secret: str, codes: list[str]) -> list[str]:
    """Return which of the secrets stand in the database or in a dump of its data."""
    dump = StringIO()
    call_command("dumpdata", stdout=dump)
    key = base64.b32decode(secret).hex()
    return [one for one in (secret, key, *codes) if one in raw() + dump.getvalue()]


@pytest.mark.rule("S5")
def test_neither_the_database_nor_a_dump_holds_a_key_or_a_recovery_code(browser):
    assert in_the_clear(*set_up(browser)) == []
    assert (AuthenticatorApp.objects.count(), StaticToken.objects.count()) == (1, 10)


@pytest.mark.rule("S5")
def test_what_is_stored_of_a_recovery_code_opens_nothing(secret, clock):
    clock.shift(30)
    stored = StaticToken.objects.first().token
    assert "This code is wrong" in enter(code=stored).content.decode()
    assert StaticToken.objects.count() == 10


def test_an_app_whose_key_was_left_out_of_a_dump_opens_nothing(secret, clock):
    clock.shift(30)
    AuthenticatorApp.objects.update(key="")
    assert "cannot be read here any more" in enter(code=code("")).content.decode()


def test_where_the_key_at_rest_is_lost_every_page_and_the_recovery_codes_still_open(
    browser, settings, clock
):
    secret, (first, *_) = set_up(browser)
    settings.SECRET_KEYS_AT_REST = [Fernet.generate_key().decode()]
    assert {browser.get(one).status_code for one in ("/admin/", MINE, LISTED)} == {200}
    clock.shift(30)
    assert "cannot be read here any more" in enter(code=code(secret)).content.decode()
    other = Client()
    assert enter(other, first).status_code == 302
    secret, _ = set_up(other)
    clock.shift(60)
    assert enter(code=code(secret)).status_code == 302


@pytest.mark.rule("S5")
def test_a_rotated_key_is_read_without_the_old_one(secret, settings, clock):
    fresh = Fernet.generate_key().decode()
    settings.SECRET_KEYS_AT_REST = [fresh, *settings.SECRET_KEYS_AT_REST]
    call_command("rotate_keys", stdout=StringIO())
    settings.SECRET_KEYS_AT_REST = [fresh]
    clock.shift(30)
    assert enter(code=code(secret)).status_code == 302


def test_the_app_of_before_is_taken_over_and_given_back(ada, clock):
    migration = importlib.import_module("crm_sync.migrations.0004_take_over_apps")
    key = "3132333435363738393031323334353637383930"
    device = TOTPDevice.objects.create(user=ada, name="App", key=key, drift=1, last_t=7)
    secret = base64.b32encode(bytes.fromhex(key)).decode()
    clock.shift(timedelta(days=1))
    migration.take_over(apps, None)
    assert in_the_clear(secret, []) == []
    app = AuthenticatorApp.objects.get()
    assert (app.user, app.drift, app.last_t, app.created_at) == (ada, 1, 7, device.created_at)
    assert enter(code=code(secret)).status_code == 302
    migration.give_back(apps, None)
    assert not AuthenticatorApp.objects.exists()
    back = TOTPDevice.objects.get()
    assert (back.user, back.key, back.created_at) == (ada, key, device.created_at)


@pytest.mark.rule("S17")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_confirmed_first", [True, False])
def test_an_app_that_is_begun_anew_while_it_is_confirmed_is_set_up_or_its_page_says_so(
    ada, browser, is_confirmed_first
):
    other = Client()
    enter(other)
    text = browser.post(MINE, {"step": "begin"}).content.decode()
    (shown,) = re.findall(r"<pre[^>]*>([A-Z2-7 ]+)</pre>", text)
    entered = code(shown.replace(" ", ""))

    def confirm():
        return browser.post(MINE, {"step": "confirm", "code": entered})

    def begin_again():
        return other.post(MINE, {"step": "begin"})

    if is_confirmed_first:
        _, answer = crossing(begin_again, confirm, at='DELETE FROM "crm_sync_authenticatorapp"')
    else:
        answer, _ = crossing(
            confirm, begin_again, at='UPDATE "crm_sync_authenticatorapp" SET "confirmed"'
        )
    is_set_up = AuthenticatorApp.objects.filter(confirmed=True).exists()
    assert is_set_up == bool(re.findall(r"<pre[^>]*>([a-z2-7\n]+)</pre>", answer.content.decode()))
