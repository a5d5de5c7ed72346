"""Who forgot a password gets a link by mail: it works once, ends, and shows nothing to others."""

import logging
import re
from datetime import timedelta

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core import mail
from django.test import Client
from django.utils import timezone

from crm_sync.security import password_links
from crm_sync.sentence import Sentence
from tests.together import crossing

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]
FORGOTTEN, SET, LOGIN = "/admin/password/forgotten/", "/admin/password/set/", "/admin/login/"
OLD, NEW = "a-very-good-password", "another-very-good-one"
ON_ITS_WAY = "a link is on its way to it"


@pytest.fixture(autouse=True)
def mails(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    settings.PUBLIC_BASE_URL = "https://crm.example.com"
    password_links.asked.forget()
    password_links.mailed.forget()


def account(name: str = "ada", **columns) -> User:
    known = {"email": f"{name}@example.com", "password": OLD, "is_staff": True}
    return User.objects.create_user(name, **(known | columns))


def ask(email: str, source: str = "192.0.2.1"):
    answer = Client(REMOTE_ADDR=source).post(FORGOTTEN, {"email": email})
    password_links.outbox.submit(int).result()  # all mails before it are out
    return answer


def link_in(body: str) -> str:
    found = re.search(r"https?://[^/\s]+(/admin/password/set/\?link=\S+)", body)
    assert found is not None
    return found[1]


def follow(link: str, password: str = NEW, client: Client | None = None):
    """Open a link and set a password; return the answer to the form."""
    client = client or Client()
    answer = client.get(link)
    if answer.status_code == 302:
        assert answer["Location"] == SET
        assert client.get(SET).status_code == 200
    return client.post(SET, {"new_password1": password, "new_password2": password})


def enter(password: str, name: str = "ada") -> int:
    return Client().post(LOGIN, {"username": name, "password": password}).status_code


@pytest.mark.rule("S17")
def test_a_forgotten_password_is_replaced_by_a_link_that_works_once(settings):
    ada = account()
    elsewhere = Client()
    elsewhere.force_login(ada)
    assert "Forgotten your password?" in Client().get(LOGIN).content.decode()
    assert ON_ITS_WAY in ask("ADA@example.com").content.decode()
    (sent,) = mail.outbox
    assert sent.to == ["ada@example.com"]
    link = link_in(sent.body)
    answer = follow(link)
    assert (answer.status_code, answer["Location"]) == (302, LOGIN)
    assert (enter(OLD), enter(NEW)) == (200, 302)
    assert elsewhere.get("/admin/").status_code == 302  # the sessions of before have ended
    assert "does not work any more" in Client().get(link).content.decode()
    assert follow(link, "a-third-very-good-one").status_code == 200
    assert enter("a-third-very-good-one") == 200
    told = [Sentence.loaded(one.change_message) for one in LogEntry.objects.filter(user=ada)]
    assert told == ["Set the password with a link."]


@pytest.mark.rule("S17")
def test_a_link_ends_after_three_days_and_with_the_next_login():
    account()
    with time_machine.travel(timezone.now(), tick=False) as clock:
        ask("ada@example.com")
        clock.shift(timedelta(days=3, seconds=1))
        assert follow(link_in(mail.outbox[0].body)).status_code == 200
        assert enter(OLD) == 302
    password_links.mailed.forget()
    ask("ada@example.com")
    assert enter(OLD) == 302
    assert follow(link_in(mail.outbox[1].body)).status_code == 200
    assert enter(NEW) == 200


@pytest.mark.rule("S17")
def test_nothing_shows_whether_an_address_has_an_account():
    account()
    account("gone", is_active=False)
    account("guest", is_staff=False)
    account("proxy", password=None)
    account("empty", email="")
    names = ("ada", "gone", "guest", "proxy", "nobody")
    pages = {
        re.sub(r"nonce|csrf\S*", "", ask(f"{name}@example.com", f"192.0.2.{n}").content.decode())
        for n, name in enumerate(names)
    }
    assert len(pages) == 1
    assert [one.to for one in mail.outbox] == [["ada@example.com"]]


@pytest.mark.rule("S17")
def test_an_address_that_asks_too_often_waits_and_nobody_is_mailed_twice_in_a_minute():
    account()
    answers = [ask("ada@example.com") for _ in range(6)]
    assert [one.status_code for one in answers] == [200] * 5 + [429]
    assert 0 < int(answers[5]["Retry-After"]) <= 60
    assert len(mail.outbox) == 1
    assert ask("ada@example.com", "192.0.2.2").status_code == 200
    assert len(mail.outbox) == 1


@pytest.mark.rule("S3", "S4")
def test_no_log_line_and_no_session_of_others_holds_a_link(caplog):
    caplog.set_level(logging.DEBUG)
    account()
    ask("ada@example.com")
    link = link_in(mail.outbox[0].body)
    key, token = link.partition("link=")[2].split(".")
    for one in ("nonsense", f"{key}.nonsense", f"x.{token}", ".", f"{key}."):
        answer = Client().get(SET, {"link": one})
        assert "does not work any more" in answer.content.decode()
    assert Session.objects.count() == 0
    follow(link)
    lines = [one.getMessage() for one in caplog.records if one.name.startswith("crm_sync.")]
    assert lines == [
        "forgotten password: mailed a link to ada",
        "password set with a link: ada from 127.0.0.1",
    ]
    assert token not in caplog.text
    assert NEW not in caplog.text


def test_a_mail_server_that_is_down_shows_nothing_on_the_page(settings, caplog):
    settings.EMAIL_BACKEND = "tests.orders.test_notices.Down"
    account()
    assert ON_ITS_WAY in ask("ada@example.com").content.decode()
    (line,) = [one.getMessage() for one in caplog.records if "no mail to" in one.getMessage()]
    assert line.startswith("forgotten password: no mail to ada: ")


def test_without_mail_the_page_says_who_can_set_another_password(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    User.objects.create_superuser("olga")
    account()
    assert "olga can set another password for you" in ask("").content.decode()
    assert ON_ITS_WAY not in ask("ada@example.com").content.decode()


def test_a_password_that_is_too_easy_is_refused_and_the_link_goes_on():
    account()
    ask("ada@example.com")
    client, link = Client(), link_in(mail.outbox[0].body)
    assert "too common" in follow(link, "password", client).content.decode()
    assert follow(link, NEW, client).status_code == 302


@pytest.mark.parametrize("column", ["is_active", "is_staff"])
def test_the_link_of_somebody_who_may_not_log_in_any_more_does_not_work(column):
    account()
    ask("ada@example.com")
    User.objects.update(**{column: False})
    answer = Client().get(link_in(mail.outbox[0].body))
    assert "does not work any more" in answer.content.decode()


@pytest.mark.rule("S17")
@pytest.mark.parametrize("page", ["link", "own", "of another"])
def test_an_account_that_is_switched_off_while_its_password_is_set_stays_off(boss, page):
    ada, browser = account(), Client()
    browser.force_login(ada)
    both = {"new_password1": NEW, "new_password2": NEW}
    sets = {
        "link": lambda: follow(password_links.link_of(ada).partition("example.com")[2]),
        "own": lambda: browser.post("/admin/password_change/", both | {"old_password": OLD}),
        "of another": lambda: boss.post(
            f"/admin/auth/user/{ada.pk}/password/",
            {"password1": NEW, "password2": NEW, "usable_password": "true"},
        ),
    }

    def switch_off() -> None:
        User.objects.filter(pk=ada.pk).update(is_active=False)

    answer, _ = crossing(sets[page], switch_off, at='UPDATE "auth_user"')
    ada.refresh_from_db()
    assert (answer.status_code, ada.is_active, ada.check_password(NEW)) == (302, False, True)
