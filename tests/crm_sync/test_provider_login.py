"""One login: the provider says who somebody is and what they may do; nobody else can (S25)."""

import hashlib
import logging
import time
from datetime import timedelta
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from joserfc.jwk import ECKey

from crm_sync.models import AuthenticatorApp, ProviderAccount, Workspace
from crm_sync.security import login_limits, provider, provider_login, second_factor
from tests.crm_sync.admin_pages import make_workspace
from tests.crm_sync.provider_server import (
    CLIENT,
    DISCOVERY,
    KEYS,
    SECRET,
    TOKEN,
    Provider,
    rsa,
    serving,
)
from tests.problems import noted
from tests.together import crossing

pytestmark = [pytest.mark.django_db, pytest.mark.once]
LOGIN, START = "/admin/login/", "/admin/login/provider/"
GOOD = "a-very-good-password"
STRANGE = "does not belong to this login, so nobody was logged in"


@pytest.fixture
def there(settings) -> Provider:
    """Return the provider of this installation."""
    with serving() as one:
        let_log_in(settings, one)
        yield one


def let_log_in(settings, one: Provider) -> None:
    settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = one.issuer, CLIENT
    settings.OIDC_CLIENT_SECRET = SECRET
    settings.OIDC_INTERNAL_HOSTS = ["127.0.0.1"]
    settings.PUBLIC_BASE_URL = "http://testserver"
    provider.forget()
    provider_login.begun.forget()


def new_browser(where: str = "192.0.2.1") -> Client:
    return Client(REMOTE_ADDR=where)


def begin(browser: Client, wanted: str = "/admin/") -> str:
    """Go to the provider; return where that leads."""
    answer = browser.get(START, {"next": wanted})
    assert answer.status_code == 302
    return answer["Location"]


def enter(there: Provider, browser: Client | None = None, wanted: str = "/admin/"):
    """Log in there; return the answer to the way back."""
    browser = browser or new_browser()
    return browser.get(there.authorize(begin(browser, wanted)))


def said(answer) -> str:
    """Return what the login says after this answer, which leads there."""
    assert urlsplit(answer["Location"]).path == LOGIN
    shown = answer.client.get(answer["Location"])
    assert shown.status_code == 200
    (text,) = [str(one) for one in shown.context["messages"]]
    return text


def is_in(browser: Client) -> bool:
    return browser.get("/admin/").status_code == 200


def lines(caplog) -> list[str]:
    names = ("crm_sync.security.login", "crm_sync.security.provider_login")
    return [one.getMessage() for one in caplog.records if one.name in names]


def connected(name: str = "ada", subject: str = "s-1", **columns) -> User:
    person = User.objects.create_user(name, password=GOOD, is_staff=True, **columns)
    provider_login.connect(person, subject)
    return person


@pytest.mark.rule("S25")
@pytest.mark.parametrize(
    ("site", "leads_to"),
    [
        *(("cross-site", LOGIN), ("same-site", LOGIN)),
        *(("same-origin", "/authorize"), ("none", "/authorize"), (None, "/authorize")),
    ],
)
def test_a_page_of_somebody_else_leads_nobody_to_the_provider(there, site, leads_to):
    headers = {"Sec-Fetch-Site": site} if site else {}
    answer = new_browser().get(START, {"next": "/admin/orders/order/"}, headers=headers)
    assert answer.status_code == 302
    where = urlsplit(answer["Location"])
    assert where.path == leads_to
    if leads_to == LOGIN:
        assert parse_qs(where.query) == {"next": ["/admin/orders/order/"]}


def groups_of(person: User) -> list[str]:
    return sorted(person.groups.values_list("name", flat=True))


def slugs_of(person: User) -> list[str]:
    return sorted(person.workspaces.values_list("slug", flat=True))


# --- it works ---
@pytest.mark.rule("S25")
def test_somebody_new_gets_an_account_with_the_groups_and_workspaces_of_the_claims(there, caplog):
    caplog.set_level(logging.INFO)
    make_workspace()
    there.claims |= {
        "preferred_username": "ada",
        "email": "ada@example.com",
        "email_verified": True,
        "given_name": "Ada",
        "family_name": "Moser",
        "groups": ["Agents", "wheel"],
        "workspaces": ["main", "elsewhere"],
    }
    answer = enter(there, wanted="/admin/properties/property/")
    assert answer["Location"] == "/admin/properties/property/"
    assert is_in(answer.client)
    person = User.objects.get()
    found = (person.username, person.email, person.first_name, person.last_name)
    assert found == ("ada", "ada@example.com", "Ada", "Moser")
    assert (person.is_staff, person.is_superuser, person.has_usable_password()) == (
        True,
        False,
        False,
    )
    assert (groups_of(person), slugs_of(person)) == (["Agents"], ["main"])
    assert ProviderAccount.objects.values_list("user", "issuer", "subject").get() == (
        person.pk,
        there.issuer,
        "s-1",
    )
    assert noted() == [
        "Made at the first login with 127.0.0.1.",
        "Access by the provider: groups Agents; workspaces main.",
    ]
    assert lines(caplog) == ["login: ada from 192.0.2.1, with the provider"]
    # What it was asked for: a code, for one nonce and one verifier.
    assert there.sent[0]["scope"] == "openid profile email"
    assert there.sent[0]["redirect_uri"] == "http://testserver/admin/login/provider/back/"


def test_the_scopes_of_our_claims_are_asked_for_where_the_provider_has_them(there):
    there.metadata["scopes_supported"] = ["openid", "groups", "phone"]
    assert enter(there).status_code == 302
    assert there.sent[0]["scope"] == "openid profile email groups"


@pytest.mark.rule("S25")
def test_each_login_gives_what_the_claims_say_and_takes_the_rest(there):
    for slug in ("main", "north"):
        Workspace.objects.create(slug=slug, base_url="https://platform.invalid")
    there.claims |= {"groups": "Operators", "workspaces": ["main"]}
    person = connected()
    enter(there)
    assert (groups_of(person), slugs_of(person)) == (["Operators"], ["main"])
    there.claims |= {"groups": ["Agents", "Read-only"], "workspaces": ["north"]}
    enter(there)
    assert (groups_of(person), slugs_of(person)) == (["Agents", "Read-only"], ["north"])
    # By hand, from here: the next login takes it away.
    person.groups.add(Group.objects.get(name="Operators"))
    del there.claims["workspaces"]
    enter(there)
    assert (groups_of(person), slugs_of(person)) == (["Agents", "Read-only"], [])
    enter(there)  # and nothing is noted where nothing changes
    assert noted() == [
        "Access by the provider: groups Operators; workspaces main.",
        "Access by the provider: groups Agents, Read-only; workspaces north.",
        "Access by the provider: groups Agents, Read-only; workspaces -.",
    ]


@pytest.mark.rule("S25")
@pytest.mark.parametrize("groups", [None, [], "", ["wheel"], {"Agents": True}, [["Agents"]], 7])
def test_without_a_known_group_nobody_gets_in_and_all_is_taken_away(there, groups, caplog):
    person = connected()
    person.groups.add(Group.objects.get(name="Operators"))
    there.claims["groups"] = groups
    answer = enter(there)
    assert said(answer) == (
        "Your account at 127.0.0.1 gives no access here. Ask there for one of these groups: Agents,"
        " Operators or Read-only."
    )
    assert (groups_of(person), is_in(answer.client)) == ([], False)
    assert lines(caplog) == [
        "login with the provider failed: from 192.0.2.1: subject s-1 is in no group of OIDC_GROUPS"
    ]


def test_somebody_new_without_a_known_group_leaves_no_account(there):
    there.claims["groups"] = []
    assert "gives no access here" in said(enter(there))
    assert not User.objects.exists()


def test_the_claims_and_their_values_have_the_names_of_the_settings(there, settings):
    settings.OIDC_GROUPS_CLAIM, settings.OIDC_WORKSPACES_CLAIM = "roles", ""
    settings.OIDC_GROUPS = {"cn=agents,dc=example": "Agents", "x": "No such group"}
    main = make_workspace()
    person = connected()
    person.workspaces.add(main)
    there.claims |= {"roles": ["cn=agents,dc=example", "x", "Operators"], "groups": ["Operators"]}
    enter(there)
    assert (groups_of(person), slugs_of(person)) == (["Agents"], ["main"])


# --- who it is ---
@pytest.mark.rule("S25")
def test_an_account_is_never_connected_by_its_mail_address_or_name(there, caplog):
    User.objects.create_superuser("Boss", "boss@example.com", GOOD)
    text = (
        "An account with your name or mail address exists here, and is not connected with your"
        " account at 127.0.0.1. Ask Boss to enter this subject on its page: s-1"
    )
    mine = {"email": "BOSS@example.com", "email_verified": True}
    for claims in (mine, {"preferred_username": "boss"}, {"email": "boss"}):
        there.claims = {"sub": "s-1", "groups": ["Operators"], **claims}
        answer = enter(there)
        assert (said(answer), is_in(answer.client)) == (text, False)
    assert (User.objects.count(), ProviderAccount.objects.count()) == (1, 0)
    assert lines(caplog)[0] == (
        "login with the provider failed: from 192.0.2.1: subject s-1 is not connected, and its name"
        " or mail address is taken"
    )


def test_of_two_people_with_one_mail_address_the_second_asks(there):
    there.claims |= {"email": "team@example.com", "email_verified": True}
    assert is_in(enter(there).client)
    there.claims["sub"] = "s-2"
    assert "is not connected with your account" in said(enter(there))
    assert User.objects.count() == 1


def test_a_subject_of_another_issuer_is_somebody_else(there):
    person = connected()
    ProviderAccount.objects.update(issuer="https://elsewhere.example.com")
    there.claims["preferred_username"] = "eve"
    enter(there)
    assert sorted(User.objects.values_list("username", flat=True)) == ["ada", "eve"]
    assert groups_of(person) == []


def test_a_mail_address_that_is_not_verified_is_not_kept(there):
    there.claims |= {"email": "ada@example.com", "sub": "auth|1", "family_name": "x" * 151}
    enter(there)
    person = User.objects.get()
    assert (person.username, person.email, person.last_name) == ("ada@example.com", "", "")


def test_a_subject_that_is_no_name_gets_one(there):
    there.claims |= {"sub": "auth|1\0", "preferred_username": "Ada (away)"}
    assert is_in(enter(there).client)
    digest = hashlib.sha256(b"auth|1").hexdigest()  # no database stores a NUL
    assert User.objects.get().username == f"person-{digest[:12]}"


@pytest.mark.rule("S25")
@pytest.mark.parametrize("off", [{"is_active": False}, {"is_staff": False}])
def test_an_account_that_is_switched_off_stays_so(there, off):
    person = connected()
    User.objects.filter(pk=person.pk).update(**off)
    answer = enter(there)
    assert said(answer) == "Your account here is switched off. Ask a superuser."
    assert not is_in(answer.client)


@pytest.mark.rule("S25")
def test_no_claim_makes_a_superuser_and_none_ends_one(there):
    there.claims |= {"is_superuser": True, "groups": ["superusers", "Operators"]}
    enter(there)
    assert not User.objects.get().is_superuser
    provider_login.connect(User.objects.create_superuser("boss", password=GOOD), "s-2")
    there.claims["sub"] = "s-2"
    enter(there)
    assert User.objects.get(username="boss").is_superuser


# --- nobody else ---
def at(seconds: float) -> int:
    return int(time.time() + seconds)


FORGED = {
    "nonce": ({"nonce": "another"}, "nonce"),
    "no nonce": ({"nonce": None}, "nonce"),
    "audience": ({"aud": "another"}, "aud"),
    "audiences, none ours": ({"aud": ["a", "b"]}, "aud"),
    "no audience": ({"aud": None}, "aud"),
    "for another party": ({"aud": [CLIENT, "b"], "azp": "b"}, "azp"),
    "audience is odd": ({"aud": {CLIENT: 1}}, "aud"),
    "issuer": ({"iss": "https://elsewhere.example.com"}, "iss"),
    "no issuer": ({"iss": None}, "iss"),
    "expired": ({"exp": -90}, "exp"),
    "no end": ({"exp": None}, "exp"),
    "end is odd": ({"exp": "tomorrow"}, "exp"),
    "from the future": ({"iat": 90}, "issued in the future"),
    "not yet": ({"nbf": 90}, "not yet valid"),
    "no subject": ({"sub": None}, "sub"),
    "empty subject": ({"sub": ""}, "sub"),
    "subject is a number": ({"sub": 1}, "sub"),
    "subject is too long": ({"sub": "x" * 256}, "subject"),
    "another access token": ({"at_hash": "x"}, "at_hash"),
}


@pytest.mark.rule("S25")
@pytest.mark.parametrize(("changed", "named"), FORGED.values(), ids=FORGED)
def test_a_token_that_is_not_for_this_login_logs_nobody_in(there, changed, named, caplog):
    connected()
    clocks = ("exp", "iat", "nbf")
    there.changed = {
        name: at(one) if name in clocks and isinstance(one, int) else one
        for name, one in changed.items()
    }
    answer = enter(there)
    assert STRANGE in said(answer)
    assert not is_in(answer.client)
    (line,) = lines(caplog)
    assert line.startswith("login with the provider failed: from 192.0.2.1: ")
    assert named in line


@pytest.mark.parametrize("changed", [{"exp": -30}, {"iat": 30}, {"nbf": 30}])
def test_a_minute_between_the_clocks_is_allowed(there, changed):
    connected()
    there.changed = {name: at(seconds) for name, seconds in changed.items()}
    assert is_in(enter(there).client)


def unsigned(there: Provider) -> None:
    there.alg = "none"


def signed_with_the_public_key(there: Provider) -> None:
    there.alg = "HS256"


def by_another_key(there: Provider) -> None:
    there.key = rsa("one")


def by_an_unknown_key(there: Provider) -> None:
    there.key = rsa("two")


def cut(there: Provider) -> None:
    there.answers[TOKEN] = 200, {"id_token": "a.b"}


def missing(there: Provider) -> None:
    there.answers[TOKEN] = 200, {"access_token": "a"}


def refused(there: Provider) -> None:
    there.answers[TOKEN] = 400, {"error": "invalid_grant"}


@pytest.mark.rule("S25")
@pytest.mark.parametrize(
    "forge",
    [
        unsigned,
        signed_with_the_public_key,
        by_another_key,
        by_an_unknown_key,
        cut,
        missing,
        refused,
    ],
)
def test_a_token_without_a_signature_of_the_provider_logs_nobody_in(there, forge):
    connected()
    forge(there)
    answer = enter(there)
    assert STRANGE in said(answer)
    assert not is_in(answer.client)


@pytest.mark.rule("S25")
def test_an_answer_for_another_browser_or_another_login_logs_nobody_in(there):
    connected()
    mine, other = new_browser(), new_browser()
    text = (
        "This login was finished already, began in another window, or took longer than ten minutes."
        " Begin again."
    )
    back = there.authorize(begin(mine))
    assert said(other.get(back)) == text  # it has begun none
    begin(other)
    assert said(other.get(back)) == text  # it has begun another
    wrong = back.replace("state=", "state=x")
    assert said(mine.get(wrong)) == text
    assert said(mine.get(back)) == text  # a state has one try
    assert there.codes  # no code was used
    assert not Session.objects.filter(pk=mine.session.session_key, expire_date=None).exists()
    assert (is_in(mine), is_in(other)) == (False, False)


@pytest.mark.rule("S25")
def test_an_answer_works_once(there):
    connected()
    browser = new_browser()
    back = there.authorize(begin(browser))
    asked = there.sent[-1]
    assert browser.get(back)["Location"] == "/admin/"
    browser.post("/admin/logout/")
    assert "was finished already" in said(browser.get(back))
    # Nor does the code, with a state that waits.
    begin(browser)
    state = browser.session[provider_login.PENDING]["state"]
    code = parse_qs(urlsplit(back).query)["code"][0]
    assert asked["state"] != state
    again = f"{START}back/?{urlencode({'code': code, 'state': state})}"
    assert STRANGE in said(browser.get(again))
    assert not is_in(browser)


@pytest.mark.rule("S25")
def test_a_code_of_somebody_else_does_not_fit_the_verifier(there):
    connected()
    thief, victim = new_browser(), new_browser()
    stolen = parse_qs(urlsplit(there.authorize(begin(victim))).query)["code"][0]
    begin(thief)
    state = thief.session[provider_login.PENDING]["state"]
    answer = thief.get(f"{START}back/", {"code": stolen, "state": state})
    assert STRANGE in said(answer)
    assert not is_in(thief)


def test_a_login_that_takes_longer_than_ten_minutes_begins_again(there):
    connected()
    browser = new_browser()
    with time_machine.travel(timezone.now(), tick=True) as clock:
        back = there.authorize(begin(browser))
        clock.shift(timedelta(minutes=10, seconds=1))
        assert "took longer than ten minutes" in said(browser.get(back))
        assert not is_in(browser)


def test_an_answer_of_another_issuer_is_refused(there):
    connected()
    browser = new_browser()
    back = there.authorize(begin(browser)).partition("&iss=")[0]
    assert STRANGE in said(browser.get(f"{back}&iss=https://elsewhere.example.com"))


def test_a_person_who_gives_up_at_the_provider_is_told_so(there, caplog):
    browser = new_browser()
    begin(browser)
    state = browser.session[provider_login.PENDING]["state"]
    answer = browser.get(f"{START}back/", {"error": "access_denied", "state": state})
    assert said(answer) == "127.0.0.1 did not log you in. Begin again, or ask there."
    assert lines(caplog) == [
        "login with the provider failed: from 192.0.2.1: the provider said 'access_denied'"
    ]


@pytest.mark.rule("S25")
@pytest.mark.parametrize(
    "wanted", ["https://evil.example.com/", "//evil.example.com", "/\\evil.example.com", "x:y", ""]
)
def test_a_login_leads_to_no_other_site(there, wanted):
    connected()
    assert enter(there, wanted=wanted)["Location"] == "/admin/"


# --- keys ---
def test_the_documents_are_fetched_once_and_the_keys_again_for_an_unknown_one(there):
    connected()
    for _ in range(2):
        assert is_in(enter(there).client)
    assert there.asked == [DISCOVERY, TOKEN, KEYS, TOKEN]
    there.asked.clear()
    there.key = rsa("two")
    there.publish(there.key)
    assert is_in(enter(there).client)
    assert there.asked == [TOKEN, KEYS]
    assert is_in(enter(there).client)
    assert there.asked == [TOKEN, KEYS, TOKEN]
    there.key = rsa("three")  # which it does not publish
    there.asked.clear()
    assert STRANGE in said(enter(there))
    assert there.asked == [TOKEN, KEYS]


def test_a_key_of_a_curve_works_and_one_of_an_unknown_kind_beside_it_does_no_harm(there):
    connected()
    there.alg, there.key = "ES256", ECKey.generate_key("P-256", {"kid": "curve"})
    there.publish(there.key)
    there.published += [{"kty": "LATTICE", "kid": "new"}, {}, 7]
    assert is_in(enter(there).client)


# --- the provider is away ---
AWAY = (
    "127.0.0.1 cannot be reached for a login now. Log in with your password, or try again in some"
    " minutes."
)
ODD = {
    "an error": (500, "broken"),
    "no JSON": (200, "<html>"),
    "a list": (200, []),
    "nested too deeply": (200, "[" * 100_000),
    "nothing": (200, b""),
    "too much": (200, b" " * (provider.BODY_LIMIT + 1)),
}


@pytest.mark.parametrize("path", [DISCOVERY, TOKEN, KEYS])
@pytest.mark.parametrize("answer", ODD.values(), ids=ODD)
def test_an_odd_answer_is_a_sentence_at_the_login(there, path, answer):
    connected()
    there.answers[path] = answer
    browser = new_browser()
    first = browser.get(START)
    if path != DISCOVERY:
        first = browser.get(there.authorize(first["Location"]))
    assert said(first) == AWAY
    entered = {"username": "ada", "password": GOOD}
    assert browser.post(LOGIN, entered).status_code == 302  # a password still works
    assert is_in(browser)


@pytest.mark.rule("S25")
@pytest.mark.parametrize(
    "changed",
    [
        {"issuer": "https://elsewhere.example.com"},
        {"issuer": None},
        {"token_endpoint": "http://10.0.0.1/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": None},
    ],
    ids=repr,
)
def test_a_discovery_document_of_another_provider_is_not_used(there, changed):
    there.metadata = changed
    assert said(new_browser().get(START)) == AWAY
    assert there.asked == [DISCOVERY]


@pytest.mark.rule("S13")
def test_a_provider_in_our_network_has_to_be_named(there, settings):
    settings.OIDC_INTERNAL_HOSTS = []
    assert said(new_browser().get(START)) == AWAY
    assert there.asked == []


@pytest.mark.parametrize("path", [DISCOVERY, TOKEN])
def test_a_provider_that_is_slow_holds_nobody_for_long(there, path, monkeypatch):
    connected()
    monkeypatch.setattr(provider, "DEADLINE", 0.3)

    def slow() -> tuple[int, str]:
        time.sleep(1.5)
        return 200, "{}"

    there.answers[path] = slow
    browser, began = new_browser(), time.monotonic()
    first = browser.get(START)
    if path == TOKEN:
        first = browser.get(there.authorize(first["Location"]))
    assert time.monotonic() - began < 1.4
    assert said(first) == AWAY


def test_a_provider_that_is_away_is_not_asked_again_at_once_and_is_no_failure_of_the_person(there):
    there.answers[DISCOVERY] = 503, {}
    for _ in range(3):
        assert said(new_browser().get(START)) == AWAY
    assert there.asked == [DISCOVERY]
    assert len(login_limits.failures) == 0


def test_a_wrong_secret_of_ours_is_no_failure_of_the_person(there, caplog):
    connected()
    there.answers[TOKEN] = 401, {"error": "invalid_client"}
    assert said(enter(there)) == AWAY
    assert lines(caplog) == [
        "the provider of logins cannot be used: token_endpoint answered 401: invalid_client"
    ]
    assert len(login_limits.failures) == 0


def test_nobody_hears_of_it_before_they_choose_it(there):
    there.answers[DISCOVERY] = 503, {}
    page = new_browser().get(LOGIN, {"next": "/admin/auth/user/"}).content.decode()
    assert "Log in with 127.0.0.1" in page
    assert f'href="{START}?next=/admin/auth/user/"' in page
    assert there.asked == []


# --- beside the password ---
def test_without_an_issuer_nothing_is_there(settings):
    assert settings.OIDC_ISSUER == ""
    assert START not in new_browser().get(LOGIN).content.decode()
    assert new_browser().get(START).status_code == 404
    assert new_browser().get(f"{START}back/").status_code == 404


def test_a_session_of_the_provider_ends_when_it_is_switched_off(there, settings):
    connected()
    browser = enter(there).client
    assert is_in(browser)
    settings.OIDC_ISSUER = ""
    assert not is_in(browser)


@pytest.mark.rule("S25")
@pytest.mark.parametrize("how", ["optional", "required"])
def test_a_second_factor_is_asked_for_only_with_a_password(there, settings, how):
    settings.ADMIN_SECOND_FACTOR = how
    person = connected()
    second_factor.finish(person, second_factor.begin(person))
    assert AuthenticatorApp.objects.get().confirmed
    assert is_in(enter(there).client)
    browser = new_browser()
    answer = browser.post(LOGIN, {"username": "ada", "password": GOOD})
    assert answer.context["form"].non_field_errors() == [
        "Enter the code that your app shows, or a recovery code."
    ]
    assert not is_in(browser)


@pytest.mark.rule("S25")
def test_only_superusers_keep_their_password_where_a_setting_says_so(there, settings):
    connected()
    User.objects.create_superuser("boss", password=GOOD)
    settings.OIDC_ONLY = True
    refused = new_browser().post(LOGIN, {"username": "ada", "password": GOOD})
    assert refused.context["form"].non_field_errors() == [
        "Only superusers log in with a password here. Log in with 127.0.0.1."
    ]
    there.answers[DISCOVERY] = 503, {}
    assert new_browser().post(LOGIN, {"username": "boss", "password": GOOD}).status_code == 302
    settings.OIDC_ISSUER = ""
    assert new_browser().post(LOGIN, {"username": "ada", "password": GOOD}).status_code == 302


def test_failures_close_an_address_to_the_provider_too(there):
    connected()
    there.changed = {"nonce": "x"}
    for _ in range(login_limits.FAILURES):
        enter(there)
    assert new_browser().get(START).status_code == 429
    assert new_browser().get(f"{START}back/").status_code == 429
    assert new_browser("192.0.2.2").get(START).status_code == 302


def test_an_address_begins_only_so_many_logins_in_a_minute(there):
    for _ in range(provider_login.BEGINNINGS):
        begin(new_browser())
    answer = new_browser().get(START)
    assert answer.status_code == 429
    assert "60 logins within a minute began at your address." in answer.content.decode()


def test_a_login_that_was_only_begun_is_removed_after_ten_minutes(there):
    begin(new_browser())
    assert Session.objects.get().expire_date <= timezone.now() + provider_login.LASTS


def test_a_login_has_a_new_session_that_ends_as_each_does(there):
    connected()
    browser = new_browser()
    back = there.authorize(begin(browser))
    before = browser.session.session_key
    browser.get(back)
    assert browser.session.session_key != before
    (row,) = Session.objects.all()
    left = (row.expire_date - timezone.now()).total_seconds()
    assert 8 * 3600 - 60 < left <= 8 * 3600
    browser.post("/admin/logout/")
    assert not Session.objects.exists()


# --- who connects an account ---
def saved(boss: Client, person: User, subject: str):
    page = f"/admin/auth/user/{person.pk}/change/"
    form = boss.get(page).context["adminform"].form
    values = {name: form[name].value() for name in form.fields}
    plain = {name: one for name, one in values.items() if one not in (None, False)}
    return boss.post(
        page,
        plain
        | {"provider_subject": subject, "date_joined_0": "2026-03-01", "date_joined_1": "12:00"},
    )


def test_a_superuser_connects_an_account_on_its_page(there, boss):
    ada, eve = connected(subject="s-9"), User.objects.create_user("eve", is_staff=True)
    assert saved(boss, eve, "s-1").status_code == 302
    assert provider_login.person_of("s-1") == eve
    refused = saved(boss, ada, "s-1")
    assert refused.context["adminform"].form.errors == {
        "provider_subject": ["This is the subject of eve. Remove it there first."]
    }
    assert provider_login.subject_of(ada) == "s-9"
    assert saved(boss, eve, "").status_code == 302
    assert provider_login.person_of("s-1") is None


def test_without_a_provider_the_page_of_an_account_keeps_its_subject(there, boss, settings):
    ada, issuer = connected(), settings.OIDC_ISSUER
    settings.OIDC_ISSUER = ""
    page = boss.get(f"/admin/auth/user/{ada.pk}/change/").content.decode()
    assert "provider_subject" not in page
    assert saved(boss, ada, "s-2").status_code == 302
    settings.OIDC_ISSUER = issuer
    assert provider_login.subject_of(ada) == "s-1"


@pytest.mark.rule("S25")
@pytest.mark.django_db(transaction=True)
def test_a_person_who_logs_in_twice_at_once_for_the_first_time_is_in_both_times(there):
    browsers = [new_browser(), new_browser()]
    ways = [there.authorize(begin(browser)) for browser in browsers]
    answers = crossing(
        lambda: browsers[0].get(ways[0]),
        lambda: browsers[1].get(ways[1]),
        at='INSERT INTO "auth_user"',
    )
    assert [urlsplit(one["Location"]).path for one in answers] == ["/admin/", "/admin/"]
    assert User.objects.count() == 1
