"""Accounts, tokens, messages to other systems, calls and errors, in the pseudo-language."""

import re
from datetime import timedelta

import pytest
import time_machine
from axes.models import AccessAttempt
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, User
from django.core import mail
from django.core.exceptions import SuspiciousOperation
from django.test import Client, RequestFactory
from django.urls import resolve
from django.utils import timezone, translation
from lxml import html

from config import urls
from crm_sync import hooks
from crm_sync.api import tokens
from crm_sync.models import (
    ApiToken,
    AuthenticatorApp,
    Heartbeat,
    NamedView,
    OutgoingMessage,
    PlatformCall,
    Subscription,
)
from crm_sync.models.platform_call import CallResult
from crm_sync.platform.errors import ErrorKind, Problem
from crm_sync.security import login_limits, password_links, second_factor
from crm_sync.sentence import Sentence, sentence
from orders.models import PersonSettings
from tests.crm_sync.admin_pages import client_of, make_workspace
from tests.languages.pseudo import CODE, NAMES, longer, untranslated

USERS, GROUPS, SESSIONS = "/admin/auth/user/", "/admin/auth/group/", "/admin/auth/user/sessions/"
FAILURES, FACTORS = "/admin/axes/accessattempt/", "/admin/crm_sync/authenticatorapp/"
TOKENS, CALLS = "/admin/crm_sync/apitoken/", "/admin/crm_sync/platformcall/"
SUBSCRIPTIONS = "/admin/crm_sync/subscription/"
MESSAGES = "/admin/crm_sync/outgoingmessage/"
LISTS = [USERS, GROUPS, FAILURES, FACTORS, TOKENS, CALLS, SUBSCRIPTIONS, MESSAGES]
MINE, LOGIN = f"{FACTORS}mine/", "/admin/login/"
FORGOTTEN, SET = "/admin/password/forgotten/", "/admin/password/set/"
OTHERS = [
    *(SESSIONS, MINE, f"{USERS}add/", f"{GROUPS}add/", f"{TOKENS}add/", f"{SUBSCRIPTIONS}add/"),
    *("/admin/password_change/", "/admin/password_change/done/"),
]
# Names of accounts, groups and settings, which are data.
DATA = (
    *("User-0", "user-1", "User-1", "https://1.2?…", "API:"),
    *("PLATFORM_CALLS=all", "PLATFORM_CALLS=off", "127.0.0.1", "192.0.2.1", "Firefox", "Linux"),
    *("property.in_sync", "property.refused", "property.conflict", "material.ready"),
    *("order.status_changed", "Authorization: Bearer", "UTC"),
    *("alarm.workspace_paused", "alarm.source_away", "alarm.receiver_failing", "alarm.no_worker"),
    *("orders:read", "orders:write", "properties:read", "properties:write", "changes:read"),
    "sources:fetch",
)
# Names that pages of other rooms bring.
GOOD = "a-very-good-password"
# New tokens and secrets, the beginning of a token, and the ids of messages.
SECRETS = re.compile(r"crm_…|crm_[\w-]{43}|whsec_[\w+/]{43}=|msg_\w{32}")


@pytest.fixture(autouse=True)
def second_factors(settings):
    settings.ADMIN_SECOND_FACTOR = second_factor.OPTIONAL
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    for counts in (login_limits.failures, login_limits.refusals):
        counts.forget()
    password_links.asked.forget()
    password_links.mailed.forget()


@pytest.fixture
def person(reader) -> User:
    return User.objects.get()


@pytest.fixture
def stranger(reader) -> Client:
    """Return a browser of the pseudo-language in which nobody is logged in."""
    return Client(headers={"Accept-Language": CODE, "User-Agent": "Firefox/1 (Linux)"})


@pytest.fixture
def rows(person) -> None:
    now = timezone.now()
    main = make_workspace("1")
    make_workspace("2")
    person.workspaces.add(main)
    Group.objects.create(name="1")
    for screen in ("1", "crm_sync.apitoken"):
        NamedView.objects.create(person=person, screen=screen, name="1", hidden=["may"])
    LogEntry.objects.log_actions(person.pk, User.objects.all(), CHANGE, "1")
    failure = {"username": "1", "ip_address": "192.0.2.1", "user_agent": "1"}
    AccessAttempt.objects.create(**failure, failures_since_start=1)
    AuthenticatorApp.objects.create(user=person, name="1", confirmed=True)
    ends = ({}, {"revoked_at": now}, {"expires_at": now - timedelta(1)}, {"last_used_at": now})
    for number, columns in enumerate(ends):
        scopes = ["orders:read", "orders:write", "properties:read", "properties:write"]
        row, _ = tokens.issue(
            main, name=f"{number}", scopes=scopes[:number], now=now, created_by=person
        )
        ApiToken.objects.filter(pk=row.pk).update(**columns, prefix="1")
    for number, result in enumerate(CallResult.values):
        PlatformCall.objects.create(
            workspace=main,
            at=now,
            method="POST",
            address="/1",
            result=result,
            milliseconds=1000,
            about="crm_sync.workspace:1" if number else "",
            problem=Problem("5", ErrorKind.SLOW) if number % 2 else "",
            sent="1" if number else "",
        )
    known = {"workspace": main, "address": "https://1.2?3", "kinds": ["1"], "secret": "x"}
    until = now + timedelta(hours=1)
    active = Subscription.objects.create(
        **known, due_at=now, previous_secret="y", previous_secret_until=until
    )
    Subscription.objects.create(**known, due_at=now, failing_since=now, problem="5")
    Subscription.objects.create(**known, is_enabled=False, problem="5")
    Subscription.objects.create(**known, is_enabled=False)
    for number, state in enumerate([*OutgoingMessage.State.values, "PENDING"]):
        OutgoingMessage.objects.create(
            workspace=main,
            subscription=active,
            message_id=f"{number}",
            kind="1",
            payload="{}",
            state=state,
            due_at=now if state == "PENDING" else None,
            attempts=number,
            answer="1" if number else "",
        )


def shown(answer, *own: str) -> list[str]:
    """Return what a page shows that is not translated; a page that leads on is followed."""
    assert answer.status_code < 300 or answer.status_code >= 400
    page = SECRETS.sub("", answer.content.decode())
    return untranslated(page, (*own, *DATA, *NAMES))


@pytest.mark.parametrize("page", [*LISTS, *OTHERS])
def test_each_text_of_a_page_without_rows_is_translated(reader, page):
    assert shown(reader.get(page)) == []


@pytest.mark.parametrize("page", [*LISTS, *OTHERS])
def test_each_text_of_a_page_with_rows_is_translated(reader, rows, page):
    assert shown(reader.get(page)) == []
    if page in LISTS:
        assert shown(reader.get(f"{page}?q=nothing")) == []


@pytest.mark.parametrize("listed", LISTS)
def test_each_text_about_one_row_its_history_and_its_deletion_is_translated(reader, rows, listed):
    model = resolve(listed).func.model_admin.model
    for key in model.objects.values_list("pk", flat=True)[:5]:
        pages = ["change/", "history/", *(["delete/"] if listed in (USERS, GROUPS) else [])]
        pages += ["password/"] if listed == USERS else []
        found = [(page, shown(reader.get(f"{listed}{key}/{page}"))) for page in pages]
        assert found == [(page, []) for page in pages]


NOTES = ["Unlocked.", "Second factor: removed.", "Revoked.", "Sent again.", "Enabled."]


def test_each_fixed_text_of_a_history_is_translated_when_it_is_read(reader, person):
    for text in NOTES:
        stored = Sentence("", text).dumped
        LogEntry.objects.log_actions(person.pk, User.objects.all(), CHANGE, stored)
    reader.post(f"{USERS}{person.pk}/change/", {"username": "user-0", "is_superuser": "on"})
    assert shown(reader.get(f"{USERS}{person.pk}/history/")) == []


def chosen(model, **rows) -> list[int]:
    return list(model.objects.filter(**rows).values_list("pk", flat=True))


@pytest.mark.parametrize(
    ("listed", "action", "of"),
    [
        (FAILURES, "unlock", {}),
        (TOKENS, "revoke", {}),
        (TOKENS, "revoke", {"revoked_at__isnull": False}),
        (MESSAGES, "send_again", {}),
        (SUBSCRIPTIONS, "send_test", {}),
        (SUBSCRIPTIONS, "rotate", {}),
        (SUBSCRIPTIONS, "enable", {}),
        (SUBSCRIPTIONS, "disable", {}),
        (FACTORS, "remove", {}),
    ],
)
@pytest.mark.parametrize("asks", [False, True])
def test_each_text_of_an_answer_to_a_button_is_translated(
    reader, rows, monkeypatch, listed, action, of, asks
):
    monkeypatch.setattr(second_factor, "_stopped", lambda request: None)
    if asks:  # the password, since the last one is long ago
        User.objects.update(password="x")
        reader.force_login(User.objects.get())
        session = reader.session
        session["confirmed_at"] = "2020-01-01T00:00:00+00:00"
        session.save()
    model = resolve(listed).func.model_admin.model
    Subscription.objects.filter(problem="").exclude(is_enabled=True).delete()
    for keys in (chosen(model, **of), chosen(model, **of)[:1], []):
        posted = {"action": action, "_selected_action": keys}
        answer = reader.post(listed, posted, follow=True)
        own = ["Test", "test"] if action == "send_test" else []
        assert shown(answer, *own) == []
        if asks:
            wrong = reader.post(listed, posted | {"password": "1"}, follow=True)
            assert shown(wrong, *own) == []
            login_limits.failures.forget()


@pytest.mark.parametrize(
    ("page", "posted"),
    [
        (f"{TOKENS}add/", {}),
        (f"{TOKENS}add/", {"workspace": "1", "name": "1", "valid_until": "2020-01-01"}),
        (f"{TOKENS}add/", {"workspace": "1", "name": "1", "orders:read": "on"}),
        (f"{TOKENS}add/", {"workspace": "1", "name": "9", "orders:read": "on"}),
        (f"{SUBSCRIPTIONS}add/", {}),
        (f"{SUBSCRIPTIONS}add/", {"workspace": "1", "kinds": ["1"], "address": "http://1.2"}),
        (f"{SUBSCRIPTIONS}add/", {"workspace": "1", "address": "https://1:2@3"}),
        (f"{SUBSCRIPTIONS}add/", {"workspace": "1", "address": "1"}),
        (f"{USERS}add/", {}),
        (f"{USERS}add/", {"username": "user-0", "password1": "1", "password2": "2"}),
        (f"{USERS}add/", {"username": "/", "password1": "1", "password2": "1"}),
        (f"{USERS}1/change/", {}),
        (f"{USERS}1/password/", {"password1": "1", "password2": "1"}),
        (f"{USERS}1/password/", {"password1": "user-0", "password2": "user-1"}),
        (f"{GROUPS}add/", {}),
        (f"{GROUPS}add/", {"name": "2"}),
        (f"{GROUPS}4/delete/", {"post": "yes"}),
        ("/admin/password_change/", {}),
        ("/admin/password_change/", {"new_password1": "1", "new_password2": "1"}),
        (SESSIONS, {"end": "others"}),
    ],
)
def test_each_text_of_an_answer_to_a_form_is_translated(reader, rows, page, posted):
    posted = dict(posted)
    if posted.get("workspace"):
        posted["workspace"] = Subscription.objects.values_list("workspace", flat=True)[0]
    page = page.replace("/1/", f"/{User.objects.get().pk}/")
    page = page.replace("/4/", f"/{Group.objects.get(name='1').pk}/")
    answer = reader.post(page, posted, follow=True)
    assert shown(answer) == []


def test_each_text_of_a_login_is_translated(stranger, person, settings):
    person.set_password(GOOD)
    person.save()
    guest = User.objects.create_user("user-1", password=GOOD)
    AuthenticatorApp.objects.create(user=person, name="1", confirmed=True)
    right = {"username": "user-0", "password": GOOD}
    assert shown(stranger.get(LOGIN)) == []
    for posted in ({}, {"username": "1"}, {"username": "1", "password": "2"}, right):
        assert shown(stranger.post(LOGIN, posted)) == []
    for code in ("123456", "123456", "1" * 16, "12"):
        assert shown(stranger.post(LOGIN, right | {"code": code})) == []
    AccessAttempt.objects.all().delete()
    stranger.force_login(guest)
    assert shown(stranger.get("/admin/", follow=True)) == []


def test_each_text_for_somebody_who_is_locked_out_is_translated(
    stranger, person, settings, monkeypatch
):
    monkeypatch.setattr(login_limits, "FAILURES", 8)
    for _ in range(5):
        answer = stranger.post(LOGIN, {"username": "user-0", "password": "1"})
    assert (answer.status_code, shown(answer)) == (429, [])
    for number in range(login_limits.FAILURES):
        answer = stranger.post(LOGIN, {"username": f"{number}", "password": "1"})
    assert (answer.status_code, shown(answer)) == (429, [])
    login_limits.failures.forget()
    settings.PASSWORD_HASHERS = ["crm_sync.security.login_limits.BoundedHasher"]
    for _ in range(login_limits.AT_ONCE):
        login_limits.hashing.acquire()
    try:
        answer = stranger.post(LOGIN, {"username": "1", "password": "1"})
    finally:
        login_limits.hashing.release(login_limits.AT_ONCE)
    assert (answer.status_code, shown(answer)) == (429, [])


def test_each_text_for_somebody_who_forgot_the_password_is_translated(
    stranger, person, settings, monkeypatch
):
    sent = []
    monkeypatch.setattr(password_links.outbox, "submit", lambda *call: sent.append(call))
    for posted in (None, {"email": "1"}, {"email": "1@example.com"}):
        answer = stranger.post(FORGOTTEN, posted) if posted else stranger.get(FORGOTTEN)
        assert shown(answer) == []
    for _ in range(password_links.MOST):
        answer = stranger.post(FORGOTTEN, {"email": "1@example.com"})
    assert (answer.status_code, shown(answer)) == (429, [])
    assert [call[2] for call in sent] == [CODE] * password_links.MOST
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    assert shown(stranger.get(FORGOTTEN)) == []
    assert shown(stranger.get(SET)) == []
    User.objects.update(is_superuser=False)
    assert shown(stranger.get(FORGOTTEN)) == []


def test_each_text_of_a_link_is_translated(stranger, person):
    person.set_password(GOOD)
    person.save()
    assert shown(stranger.get(SET)) == []
    link = password_links.link_of(person)
    assert shown(stranger.get(link, follow=True)) == []
    for posted in ({}, {"new_password1": "1", "new_password2": "1"}, {"new_password1": "1"}):
        assert shown(stranger.post(SET, posted)) == []


@pytest.mark.parametrize(
    ("asks_in", "chosen_language", "is_translated"),
    [("en", CODE, True), (CODE, "", True), (CODE, "en", False)],
)
def test_a_mail_about_a_password_is_in_the_language_of_who_gets_it(
    person, monkeypatch, asks_in, chosen_language, is_translated
):
    monkeypatch.setattr(password_links, "close_old_connections", lambda: None)
    PersonSettings.objects.update(language=chosen_language)
    User.objects.update(email="1@example.com", password="x")
    password_links._mail_links("1@example.com", asks_in)
    (sent,) = mail.outbox
    assert "⟦" in sent.subject if is_translated else "Another password" in sent.subject
    if is_translated:
        text = re.sub(r"http\S+", "", f"{sent.subject}\n{sent.body}")
        assert untranslated(f"<p>{text}</p>", (*DATA, *NAMES)) == []


def test_an_invitation_is_in_the_language_of_who_gets_it(person):
    User.objects.update(email="1@example.com")
    password_links.invite(User.objects.get())
    (sent,) = mail.outbox
    text = re.sub(r"http\S+", "", f"{sent.subject}\n{sent.body}")
    assert untranslated(f"<p>{text}</p>", (*DATA, *NAMES)) == []
    with translation.override(CODE):
        PersonSettings.objects.update(language="en")
        password_links.invite(User.objects.get())
    assert "Your account for" in mail.outbox[1].subject


def test_each_text_of_the_page_of_a_second_factor_is_translated(reader, person, settings):
    User.objects.update(password="x")
    reader.force_login(User.objects.get())
    for step in ("confirm", "remove", "codes", "begin"):
        answer = reader.post(MINE, {"step": step}, follow=True)
        key = re.findall(r"<pre[^>]*>([^<]+)</pre>", answer.content.decode())
        assert shown(answer, *key) == []
    for code in ("", "1", "000000", "000000"):
        assert shown(reader.post(MINE, {"step": "confirm", "code": code})) == []
    with time_machine.travel(timezone.now() + timedelta(minutes=11)):
        Heartbeat.objects.update(seen_at=timezone.now())
        for step in ("confirm", "begin", "codes"):
            assert shown(reader.post(MINE, {"step": step, "password": "1"}, follow=True)) == []


@pytest.mark.parametrize("required", [False, True])
def test_each_text_of_a_second_factor_that_is_set_up_is_translated(
    reader, rows, settings, monkeypatch, required
):
    settings.ADMIN_SECOND_FACTOR = second_factor.REQUIRED if required else second_factor.OPTIONAL
    monkeypatch.setattr(second_factor, "_stopped", lambda request: None)
    User.objects.update(password="x")
    reader.force_login(User.objects.get())
    assert shown(reader.get(MINE)) == []
    answer = reader.post(MINE, {"step": "codes"})
    codes = "".join(re.findall(r"<pre[^>]*>([^<]+)</pre>", answer.content.decode())).split()
    assert shown(answer, *codes) == []
    assert shown(reader.post(MINE, {"step": "remove"}, follow=True)) == []
    action = {"action": "remove", "_selected_action": chosen(AuthenticatorApp)}
    assert shown(reader.post(FACTORS, action, follow=True)) == []
    AuthenticatorApp.objects.all().delete()
    assert shown(reader.get(MINE)) == []


def test_each_text_after_an_app_is_set_up_is_translated(reader, person, monkeypatch):
    User.objects.update(password="x")
    reader.force_login(User.objects.get())
    reader.post(MINE, {"step": "begin"})
    monkeypatch.setattr(second_factor, "refusal", lambda *call: "")
    answer = reader.post(MINE, {"step": "confirm", "code": "1"})
    codes = "".join(re.findall(r"<pre[^>]*>([^<]+)</pre>", answer.content.decode())).split()
    assert len(codes) == second_factor.RECOVERY_CODES
    assert shown(answer, *codes) == []


def test_each_text_after_a_logout_is_translated(reader):
    reader.defaults["HTTP_ACCEPT_LANGUAGE"] = CODE
    assert shown(reader.post("/admin/logout/", follow=True)) == []


def test_each_text_of_the_other_sessions_is_translated(reader, person):
    for agent in ("", "Firefox/1 (Linux)", "curl"):
        other = Client(headers={"User-Agent": agent})
        other.force_login(person)
    assert shown(reader.get(SESSIONS), "curl") == []
    name = re.findall(r'name="end" value="(\w{16})"', reader.get(SESSIONS).content.decode())[0]
    for end in (name, name, "others"):
        assert shown(reader.post(SESSIONS, {"end": end}, follow=True), "curl") == []


@pytest.mark.parametrize("who", ["reader", "stranger"])
def test_each_text_of_an_error_is_translated(request, reader, stranger, who):
    client = request.getfixturevalue(who)
    for page in ("/nothing/", "/admin/nothing/"):
        answer = client.get(page, follow=True)
        if answer.status_code == 404:
            assert shown(answer) == []
    assert shown(client.get("/nothing/")) == []
    assert shown(client.get("/admin/", headers={"Host": "x", "Accept-Language": CODE})) == []
    strict = Client(enforce_csrf_checks=True, headers={"Accept-Language": CODE})
    answer = strict.post(LOGIN, {"username": "1"})
    assert (answer.status_code, shown(answer)) == (403, [])


def test_each_text_of_an_error_of_ours_is_translated(reader):
    asked = RequestFactory(headers={"Accept-Language": CODE}).get("/admin/")
    for handler in (urls.handler400, urls.handler404, urls.handler500):
        module, _, name = handler.rpartition(".")
        answer = getattr(__import__(module, fromlist=[name]), name)
        given = () if handler == urls.handler500 else (SuspiciousOperation(),)
        assert shown(answer(asked, *given)) == []


def test_each_text_for_somebody_without_the_permission_is_translated(reader):
    viewer = client_of("crm_sync.view_outgoingmessage")
    key = viewer.session["_auth_user_id"]
    PersonSettings.objects.create(person_id=key, language=CODE)
    answer = viewer.get(USERS)
    assert (answer.status_code, shown(answer)) == (403, [])
    assert shown(viewer.get(MESSAGES)) == []


def test_each_text_that_a_script_shows_is_translated(reader):
    tree = html.fromstring(reader.get("/admin/").content.decode())
    (words,), (palette,) = tree.xpath("//*[@id='words']"), tree.xpath("//*[@id='palette']")
    said = [value for name, value in words.items() if name.startswith("data-")]
    said += [palette.get(f"data-{name}") for name in ("silent", "one", "several")]
    (note,) = tree.xpath("//*[@id='logged-out']")
    said.append(note.text_content())
    assert untranslated(f"<p>{'</p><p>'.join(said)}</p>") == []
    assert len(said) == 11


def test_each_kind_of_message_and_each_scope_is_translated(reader):
    with translation.override(CODE):
        every = [str(one.text) for one in hooks.plugged().message_kinds]
        every += [str(one.meaning) for one in hooks.plugged().api_scopes]
    assert untranslated(f"<p>{'</p><p>'.join(every)}</p>") == []


def test_a_stored_problem_is_said_in_the_language_of_the_reader(reader):
    problem = sentence("nobody answers there")
    to = {"address": "https://1.2", "problem": problem, "is_enabled": False}
    Subscription.objects.create(workspace=make_workspace("9"), failing_since=timezone.now(), **to)
    for page in (SUBSCRIPTIONS, "/admin/"):
        assert longer(problem) in reader.get(page).content.decode()
