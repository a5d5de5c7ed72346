"""A session alone is not enough for what lets somebody in: the own password again (S17)."""

from datetime import timedelta

import pytest
import time_machine
from axes.models import AccessAttempt
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from crm_sync.models import AuthenticatorApp
from crm_sync.security import login
from orders.models import CalendarFeed
from properties.models import Sender, Source

pytestmark = [pytest.mark.django_db, pytest.mark.once]
GOOD, OTHER = "a-very-good-password", "another-good-password"
ASKED = "Your own password"
PERSON = {"username": "eve", "date_joined_0": "2026-01-01", "date_joined_1": "12:00"}
NEW = {"username": "mallory", "usable_password": "true", "password1": OTHER, "password2": OTHER}
FEED = {
    "address": "https://feeds.test/a.xml",
    "delivery": "REPLACED",
    "sign_in": "PASSWORD",
    "every_minutes": "60",
}


@pytest.fixture
def late():
    """Return the browser of somebody who logged in eleven minutes ago."""
    User.objects.create_superuser("ada", password=GOOD)
    browser = Client()
    with time_machine.travel(timezone.now(), tick=False) as clock:
        browser.post("/admin/login/", {"username": "ada", "password": GOOD})
        clock.shift(timedelta(minutes=11))
        yield browser


@pytest.fixture
def eve(late) -> User:
    return User.objects.create_user("eve", password=GOOD, is_staff=True)


def accounts() -> list[object]:
    """Return all that lets somebody in."""
    people = User.objects.order_by("pk").values_list("username", "password", "is_superuser")
    return [*people, *Group.objects.order_by("pk").values_list("name", flat=True)]


def refuses(browser: Client, address: str, entered: dict[str, object], name: str) -> None:
    """See that nothing comes of a form without the password or with a wrong one."""
    before = accounts()
    assert browser.get(address).content.decode().count(ASKED) == 1
    for password in ({}, {name: "wrong"}):
        text = browser.post(address, entered | password, follow=True).content.decode()
        assert str(login.WRONG) in text
        assert accounts() == before


def test_an_account_is_added_only_after_the_password(late):
    refuses(late, "/admin/auth/user/add/", NEW, "own_password")
    late.post("/admin/auth/user/add/", NEW | {"own_password": GOOD})
    assert User.objects.filter(username="mallory").exists()
    assert ASKED not in late.get("/admin/auth/user/add/").content.decode()


@pytest.mark.rule("S17")
def test_nobody_becomes_a_superuser_before_the_password(late, eve):
    address = f"/admin/auth/user/{eve.pk}/change/"
    entered = PERSON | {"is_superuser": "on", "is_staff": "on", "is_active": "on"}
    refuses(late, address, entered, "own_password")
    late.post(address, entered | {"own_password": GOOD})
    assert User.objects.get(pk=eve.pk).is_superuser


@pytest.mark.rule("S17")
def test_nobody_gets_another_password_before_the_own_one(late, eve):
    address = f"/admin/auth/user/{eve.pk}/password/"
    entered = {name: NEW[name] for name in ("usable_password", "password1", "password2")}
    refuses(late, address, entered, "own_password")
    late.post(address, entered | {"own_password": GOOD})
    assert User.objects.get(pk=eve.pk).check_password(OTHER)


def test_an_account_is_deleted_only_after_the_password_and_never_with_others(late, eve):
    address = f"/admin/auth/user/{eve.pk}/delete/"
    refuses(late, address, {"post": "yes"}, "own_password")
    chosen = {"action": "delete_selected", "_selected_action": [eve.pk], "post": "yes"}
    late.post("/admin/auth/user/", chosen)
    assert User.objects.filter(pk=eve.pk).exists()
    late.post(address, {"post": "yes", "own_password": GOOD})
    assert not User.objects.filter(pk=eve.pk).exists()


def test_a_group_is_added_changed_and_deleted_only_after_the_password(late):
    group = Group.objects.create(name="Typists")
    row = f"/admin/auth/group/{group.pk}"
    for address, entered in (
        ("/admin/auth/group/add/", {"name": "Chiefs"}),
        (f"{row}/change/", {"name": "Bosses"}),
        (f"{row}/delete/", {"post": "yes"}),
    ):
        refuses(late, address, entered, "own_password")
    late.post(f"{row}/change/", {"name": "Bosses", "own_password": GOOD})
    late.post("/admin/auth/group/add/", {"name": "Chiefs"})
    assert set(Group.objects.values_list("name", flat=True)) >= {"Bosses", "Chiefs"}
    late.post(f"{row}/delete/", {"post": "yes"})
    assert not Group.objects.filter(pk=group.pk).exists()


def test_the_own_password_is_kept_with_no_failure(late, eve):
    late.post(f"/admin/auth/user/{eve.pk}/delete/", {"own_password": "not-quite-mine"})
    assert "not-quite-mine" not in repr(list(AccessAttempt.objects.values()))


@pytest.mark.rule("S17")
def test_a_second_factor_is_removed_only_after_the_password(late, eve, settings):
    settings.ADMIN_SECOND_FACTOR = "optional"
    listed = "/admin/crm_sync/authenticatorapp/"
    rows = [
        AuthenticatorApp.objects.create(user=person, name="App", confirmed=True)
        for person in (eve, User.objects.create_user("finn"))
    ]
    act = {"action": "remove", "_selected_action": [row.pk for row in rows]}
    first = late.post(listed, act).content.decode()
    assert (ASKED in first, str(login.WRONG) in first) == (True, False)
    assert "Of 2 accounts" in first
    assert str(login.WRONG) in late.post(listed, act | {"password": "wrong"}).content.decode()
    assert AuthenticatorApp.objects.count() == 2
    late.post(listed, act | {"password": GOOD})
    assert not AuthenticatorApp.objects.exists()


@pytest.mark.rule("S17")
def test_the_password_of_a_source_is_changed_only_after_the_own_one(late, main):
    sender = Sender.objects.create(workspace=main, name="Feed", language="de")
    entered = FEED | {"sender": sender.pk, "new_secret": "theirs"}
    for password in ({}, {"password": "wrong"}):
        page = late.post("/admin/properties/source/add/", entered | password).content.decode()
        assert str(login.WRONG) in page
        assert not Source.objects.exists()
    late.post("/admin/properties/source/add/", entered | {"password": GOOD})
    row = Source.objects.get()
    assert row.secret == "theirs"
    with time_machine.travel(timezone.now() + timedelta(minutes=11), tick=False):
        address = f"/admin/properties/source/{row.pk}/change/"
        assert late.get(address).content.decode().count(ASKED) == 1
        late.post(address, entered | {"new_secret": "mine"})
        assert Source.objects.get().secret == "theirs"
        late.post(address, entered | {"new_secret": "mine", "password": GOOD})
        assert Source.objects.get().secret == "mine"


def test_a_calendar_address_is_made_only_after_the_password(late):
    address = "/admin/orders/order/calendar/address/"
    assert late.get("/admin/orders/order/calendar/").content.decode().count(ASKED) == 1
    for password in ({}, {"password": "wrong"}):
        page = late.post(address, {"do": "renew"} | password, follow=True).content.decode()
        assert str(login.WRONG) in page
        assert not CalendarFeed.objects.exists()
    assert "?key=" in late.post(address, {"do": "renew", "password": GOOD}).content.decode()
    with time_machine.travel(timezone.now() + timedelta(minutes=11), tick=False):
        late.post(address, {"do": "revoke"})  # this opens nothing
        assert not CalendarFeed.objects.exists()
