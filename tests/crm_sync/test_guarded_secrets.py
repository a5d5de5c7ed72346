"""Passwords and secrets: guessed, rotated twice at once, made by a stolen session, or shown."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from crm_sync.inbox import view
from crm_sync.models import Workspace
from crm_sync.outgoing.sending import Receiver
from crm_sync.platform.errors import TransientError
from crm_sync.webhook.configuration import configure, rotate_secret
from crm_sync.work import leases
from tests.conftest import PLATFORM, TOKEN
from tests.crm_sync.receivers import receiving
from tests.platforms import Between

pytestmark = pytest.mark.django_db
GOOD = "a-very-good-password"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def fresh(db, box) -> Workspace:
    return Workspace.objects.create(slug="fresh", base_url=PLATFORM, fixed_token=TOKEN)


@pytest.mark.rule("S17")
def test_wrong_own_passwords_at_the_change_of_a_password_lock_the_name():
    User.objects.create_superuser("ada", password=GOOD)
    thief = Client(REMOTE_ADDR="192.0.2.1")
    thief.post("/admin/login/", {"username": "ada", "password": GOOD, "next": "/admin/"})
    new = {"new_password1": "another-good-one", "new_password2": "another-good-one"}
    for n in range(5):
        thief.post("/admin/password_change/", new | {"old_password": f"wrong-{n}"})
    thief.post("/admin/password_change/", new | {"old_password": GOOD})
    assert User.objects.get().check_password(GOOD)  # as anywhere else, it is locked by now


@pytest.mark.rule("S17")
def test_a_repair_makes_no_secret_without_the_password(box, fresh):
    User.objects.create_superuser("ada", password=GOOD)
    thief = Client()
    with time_machine.travel(timezone.now(), tick=False) as clock:
        thief.post("/admin/login/", {"username": "ada", "password": GOOD, "next": "/admin/"})
        clock.shift(timedelta(minutes=11))
        address = f"/admin/crm_sync/workspace/{fresh.pk}/webhook/"
        thief.post(address, {"action": "configure"})
        assert box.workspace.webhook is None
        thief.post(address, {"action": "repair"})
    assert box.workspace.webhook is None
    assert Workspace.objects.get().auth_secret == ""


@pytest.mark.rule("S22")
@pytest.mark.parametrize("method", ["POST", "DELETE", "PATCH"])
def test_above_the_limit_wrong_secrets_write_no_row_each_whatever_the_method(
    main, settings, method
):
    settings.CALLBACK_WRONG_A_MINUTE = 3
    view.wrong.forget()
    for _ in range(20):
        Client().generic(method, f"/webhooks/{main.uuid}/", b"{}", headers={"X-API-Key": "wrong"})
    main.refresh_from_db()
    assert main.refused_callbacks <= 4


@pytest.mark.rule("S6")
def test_of_two_rotations_at_once_one_that_is_refused_leaves_the_other(box, fresh):
    configure(fresh, auth_type="HEADER", now=NOW)
    between, pressed = Between(box, PLATFORM), []

    def again(environ):
        if environ["REQUEST_METHOD"] != "PUT" or pressed:
            return None
        pressed.append(1)  # a second click: its call overtakes, and the first one is too many
        rotate_secret(Workspace.objects.get(pk=fresh.pk), now=NOW)
        return "429 Slow", [], b""

    between.before = again
    with pytest.raises(TransientError):
        rotate_secret(fresh, now=NOW)
    held = box.workspace.webhook["authSecret"]
    assert held in Workspace.objects.get(pk=fresh.pk).valid_auth_secrets(NOW)


@pytest.mark.rule("S6")
def test_after_two_rotations_at_once_the_old_secret_ends(box, fresh):
    configure(fresh, auth_type="HEADER", now=NOW)
    old = box.workspace.webhook["authSecret"]
    between, second = Between(box, PLATFORM), []
    # The second click reads the row while the first call is under way, and is refused after it.
    between.before = lambda _: second.append(Workspace.objects.get(pk=fresh.pk))
    rotate_secret(fresh, now=NOW)
    between.before = lambda _: ("429 Slow", [], b"")
    with pytest.raises(TransientError):
        rotate_secret(second[0], now=NOW)
    later = Workspace.objects.get(pk=fresh.pk).valid_auth_secrets(NOW + timedelta(days=1))
    assert later == [box.workspace.webhook["authSecret"]]
    assert old not in later


@pytest.mark.rule("S6")
@pytest.mark.parametrize("is_refused", [True, False])
def test_a_rotation_with_a_row_from_before_another_one_keeps_what_the_platform_has(
    box, fresh, is_refused
):
    configure(fresh, auth_type="HEADER", now=NOW)
    stale = Workspace.objects.get(pk=fresh.pk)  # read by a second click, before the first wrote
    rotate_secret(fresh, now=NOW)
    held = box.workspace.webhook["authSecret"]
    if is_refused:
        Between(box, PLATFORM).before = lambda _: ("429 Slow", [], b"")
        with pytest.raises(TransientError):
            rotate_secret(stale, now=NOW)
    else:
        rotate_secret(stale, now=NOW)
    assert held in Workspace.objects.get(pk=fresh.pk).valid_auth_secrets(NOW)


@pytest.mark.rule("S6")
def test_a_rotation_that_stood_still_after_its_call_does_not_end_a_later_one(box, fresh):
    configure(fresh, auth_type="HEADER", now=NOW)
    between, calls = Between(box, PLATFORM), []

    def two_more(environ, answer):
        calls.append(environ["REQUEST_METHOD"])
        if calls == ["PUT"]:  # the first one waits; the second goes on with the same secret
            for times in range(2):
                other = Workspace.objects.get(pk=fresh.pk)
                rotate_secret(other, now=NOW + times * leases.LEASE)
        return answer

    between.reword = two_more
    rotate_secret(fresh, now=NOW)
    held, stored = box.workspace.webhook["authSecret"], Workspace.objects.get(pk=fresh.pk)
    assert (calls, stored.auth_secret) == (["PUT"] * 3, held)
    # All stay valid without end, since nobody knows which call arrived last.
    assert stored.valid_auth_secrets(NOW + timedelta(days=1))[0] == held
    assert len(stored.valid_auth_secrets(NOW + timedelta(days=1))) == 3


@pytest.mark.rule("S5")
@pytest.mark.parametrize("query", ["key=canary-1234567", "canary-1234567"])
def test_no_answer_shows_the_key_in_a_query(settings, query):
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    with receiving() as receiver:
        receiver.status, receiver.body = "404 Not Found", f"no /hook?{query} here".encode()
        sent = Receiver(f"{receiver.url}/hook?{query}", []).send("1", "{}", at=NOW)
    assert sent.status == 404
    assert "canary" not in sent.text


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("ada", "ada@example.com"),
        ("Ada@Example.com", "ada@example.com"),  # invited so
        ("ada@example.com", "Ada@example.com"),
    ],
)
def test_people_log_in_with_their_mail_address(name, typed):
    User.objects.create_superuser(name, "ada@example.com", GOOD)
    entered = {"username": typed, "password": GOOD, "next": "/admin/"}
    assert Client().post("/admin/login/", entered).status_code == 302
