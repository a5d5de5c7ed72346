"""Wrong secrets cost the database next to nothing, and no genuine callback (S22)."""

import json
import time

import pytest
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from config.environment import Env
from crm_sync.inbox import auth
from crm_sync.inbox.wrong_secrets import WrongSecrets
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.platform import callers
from crm_sync.security.per_minute import KEYS, MINUTE
from tests.crm_sync.test_inbox_view import REFUSED, SECRET, STORED, call, refusals

TOO_MANY = (429, {"error": "too many wrong secrets"})
ELSEWHERE = (403, {"error": "address not allowed"})


@pytest.fixture
def hook(db) -> Workspace:
    return Workspace.objects.create(slug="main", base_url="http://x.test", auth_secret=SECRET)


def body(number: int) -> bytes:
    return json.dumps({"event": "X", "number": number}).encode()


@pytest.mark.rule("S22")
def test_hundreds_of_wrong_secrets_write_few_rows_and_all_genuine_calls_are_stored(
    hook, settings, caplog
):
    settings.CALLBACK_WRONG_A_MINUTE = 5
    answers: dict[int, int] = {}
    began = time.monotonic()
    with CaptureQueriesContext(connection) as queries:
        for number in range(500):
            answer = call(hook, "wrong")
            answers[answer[0]] = answers.get(answer[0], 0) + 1
            if number % 50 == 0:
                assert call(hook, body=body(number)) == STORED
    assert answers == {401: 5, 429: 495}
    assert ReceivedEvent.objects.count() == 10
    changed = [one for one in queries if one["sql"].startswith('UPDATE "crm_sync_workspace"')]
    # One for each under the limit, then one in a second.
    assert 6 <= len(changed) <= 5 + 2 + (time.monotonic() - began)
    count, last = refusals(hook)
    assert 6 <= count <= 500
    assert last == "POST: 429 too many wrong secrets"
    lines = [one.getMessage() for one in caplog.records]
    assert len(lines) <= 2 * (5 + 2 + (time.monotonic() - began))


@pytest.mark.rule("S22")
def test_a_new_secret_is_taken_at_once_from_an_address_over_the_limit(hook, settings):
    settings.CALLBACK_WRONG_A_MINUTE = 1
    assert [call(hook, "new") for _ in range(3)] == [REFUSED, TOO_MANY, TOO_MANY]
    # Another process has written it; this one still has the old one in its memory.
    known = auth.remembered[hook.uuid]
    hook.auth_secret = "new"
    hook.save()
    auth.remembered[hook.uuid] = known
    assert call(hook, "new") == STORED


def test_who_is_over_the_limit_is_so_for_one_workspace_and_one_address(hook, settings):
    settings.CALLBACK_WRONG_A_MINUTE = 1
    other = Workspace.objects.create(slug="other", base_url="http://x.test", auth_secret="theirs")
    assert [call(hook, "wrong") for _ in range(2)] == [REFUSED, TOO_MANY]
    assert call(other, "wrong") == REFUSED
    assert call(hook, "wrong", REMOTE_ADDR="192.0.2.7") == REFUSED
    # An address that anybody can forge is no other address.
    forged = {"headers": {"X-Forwarded-For": "198.51.100.1"}}
    assert call(hook, "wrong", REMOTE_ADDR="192.0.2.7", **forged) == TOO_MANY
    # Many addresses at once are no way around it.
    more = [call(hook, "wrong", REMOTE_ADDR=f"198.51.100.{n}")[0] for n in range(20)]
    assert (more[:6], set(more[6:])) == ([401] * 6, {429})
    settings.CALLBACK_WRONG_A_MINUTE = 0
    assert call(hook, "wrong") == REFUSED


def test_the_memory_is_bounded_and_a_minute_later_all_is_forgiven():
    wrong = WrongSecrets()
    for number in range(KEYS + 500):
        wrong.are_too_many(1, f"{number}", most=10**9, now=0.0)
    assert len(wrong) == KEYS
    assert [wrong.are_too_many(2, "a", most=1, now=5.0) for _ in range(2)] == [False, True]
    assert not wrong.are_too_many(2, "a", most=1, now=5.0 + MINUTE)
    notes = [wrong.to_note(2, now=now) for now in (0.0, 0.2, 0.9, 1.0, 1.5)]
    assert notes == [1, 0, 0, 3, 0]


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "found"),
    [
        ([], "10.0.0.1", "192.0.2.1", "10.0.0.1"),
        (["10.0.0.0/8"], "10.0.0.1", "192.0.2.1", "192.0.2.1"),
        (["10.0.0.0/8"], "10.0.0.1", "1.1.1.1, 192.0.2.1, 10.0.0.2", "192.0.2.1"),
        (["10.0.0.0/8"], "::ffff:10.0.0.1", "192.0.2.1", "192.0.2.1"),
        (["10.0.0.0/8"], "192.0.2.9", "192.0.2.1", "192.0.2.9"),
        (["unix"], "", "192.0.2.1", "192.0.2.1"),
        (["10.0.0.1"], "", "192.0.2.1", ""),
        (["10.0.0.1"], "10.0.0.1", "x" * 500, "x" * callers.LONGEST),
    ],
)
def test_the_source_is_who_connected_or_whom_a_trusted_proxy_names(
    settings, proxies, peer, forwarded, found
):
    settings.TRUSTED_PROXIES = proxies
    headers = {"X-Forwarded-For": forwarded}
    request = RequestFactory().post("/", headers=headers, REMOTE_ADDR=peer)
    assert callers.source(request) == found


@pytest.mark.rule("S22")
def test_only_allowed_addresses_are_taken_and_others_are_shown(hook):
    hook.callback_sources = "192.0.2.0/24, 2001:db8::7"
    hook.save()
    assert call(hook, body=body(1), REMOTE_ADDR="192.0.2.200") == STORED
    assert call(hook, body=body(2), REMOTE_ADDR="2001:db8::7") == STORED
    assert call(hook, body=body(3), REMOTE_ADDR="203.0.113.5") == ELSEWHERE
    assert refusals(hook) == (1, "POST: 403 address not allowed (from 203.0.113.5)")
    # Whoever does not know the secret does not learn from where one may call.
    assert call(hook, "wrong", REMOTE_ADDR="203.0.113.5") == REFUSED
    assert ReceivedEvent.objects.count() == 2
    # Another process has opened it: the memory of this one refuses nobody.
    known = auth.remembered[hook.uuid]
    Workspace.objects.update(callback_sources="")
    auth.remembered[hook.uuid] = known
    assert call(hook, body=body(3), REMOTE_ADDR="203.0.113.5") == STORED
    # And has closed it.
    known = auth.remembered[hook.uuid]
    Workspace.objects.update(callback_sources="192.0.2.1")
    auth.remembered[hook.uuid] = known
    assert call(hook, body=body(4), REMOTE_ADDR="203.0.113.5") == ELSEWHERE


def test_sources_that_nobody_is_are_refused_where_they_are_entered(hook, settings):
    hook.base_url = "https://platform.example.com"
    hook.callback_sources = "192.0.2.0/24 here"
    with pytest.raises(ValidationError, match="here is neither an address nor a network"):
        hook.clean()
    hook.callback_sources = "192.0.2.0/24"
    hook.clean()
    settings.HTTPS = True
    with pytest.raises(ValidationError, match="TRUSTED_PROXIES"):
        hook.clean()
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    hook.clean()


def test_a_proxy_that_is_no_address_ends_the_start_in_one_line(monkeypatch):
    monkeypatch.setenv("TRUSTED_PROXIES", "10.0.0.0/8,proxy")
    with pytest.raises(ImproperlyConfigured, match="TRUSTED_PROXIES holds 'proxy'"):
        Env().networks("TRUSTED_PROXIES")
    monkeypatch.setenv("TRUSTED_PROXIES", "10.0.0.0/8, unix")
    assert Env().networks("TRUSTED_PROXIES") == ["10.0.0.0/8", "unix"]
