"""What every call of the API has in common: tokens, scopes, limits, and one shape of errors."""

import gzip
import logging
import re
from datetime import timedelta

import pytest
import time_machine
from django.conf import settings as django_settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import path
from django.utils import timezone

from config.logs import Json, LineFormatter
from config.urls import urlpatterns
from crm_sync.api import tokens
from crm_sync.models import ApiToken
from tests.api import Program, error, program, row_of

LIST = "/properties"
pytestmark = pytest.mark.django_db


def test_a_token_is_shown_once_and_only_its_digest_is_kept(main):
    now = timezone.now()
    row, token = tokens.issue(main, name="ERP", scopes=["properties:read"], now=now)
    assert token.startswith("crm_")
    assert len(token) > 40
    kept = repr(ApiToken.objects.values_list().get())
    assert token not in kept
    assert token[10:] not in kept
    assert row.prefix == token[:10]
    assert tokens.find(token, now=now) == row
    assert tokens.find(token + "x", now=now) is None
    assert tokens.find("\ud800", now=now) is None


def test_a_call_without_a_valid_token_is_401(main):
    now = timezone.now()
    revoked, expired = program(main, name="r"), program(main, name="e", expires_at=now)
    assert tokens.revoke(ApiToken.objects.filter(name="r"), now=now) == 1
    assert tokens.revoke(ApiToken.objects.filter(name="r"), now=now) == 0
    for one in (revoked, expired, Program(""), Program("crm_none"), Program("ü")):
        answer = one.call("GET", LIST)
        assert error(answer)[0] == 401
        assert answer["WWW-Authenticate"] == "Bearer"
    token = program(main, name="good").token
    for header in (f"Basic {token}", f"Token {token}", token):
        assert error(Program(token).call("GET", LIST, Authorization=header))[0] == 401
    assert error(Program("").call("GET", f"{LIST}?token={token}"))[0] == 401


def test_a_call_by_http_is_refused_and_not_led_to_https(main, settings):
    erp = program(main)
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    for path_of_api in (LIST, "/nowhere"):
        answer = erp.call("GET", path_of_api)
        assert error(answer) == (403, "https_required", [])
    assert ApiToken.objects.get().last_used_at is None
    assert erp.call("GET", LIST, X_Forwarded_Proto="https").status_code == 200


def test_no_answer_is_kept_in_a_cache(main):
    for one, status in ((program(main), 200), (Program(""), 401)):
        answer = one.call("GET", LIST)
        assert (answer.status_code, answer["Cache-Control"]) == (status, "no-store")


def test_a_person_who_is_signed_in_has_no_way_into_the_api(boss):
    assert boss.get("/api/v1/properties").status_code == 401


def test_the_use_of_a_token_is_written_once_a_minute(main):
    erp = program(main)
    with time_machine.travel(timezone.now(), tick=False) as clock:
        erp.get(LIST)
        first = row_of(erp).last_used_at
        assert first == timezone.now()
        clock.shift(timedelta(seconds=59))
        with CaptureQueriesContext(connection) as captured:
            erp.get(LIST)
        assert [one["sql"][:6] for one in captured] == ["SELECT", "SELECT"]
        clock.shift(timedelta(seconds=2))
        erp.get(LIST)
        assert row_of(erp).last_used_at == first + timedelta(seconds=61)


def test_a_scope_that_is_missing_is_403_and_names_it(main):
    reader = program(main, ["orders:read"])
    answer = reader.call("GET", LIST)
    assert error(answer)[:2] == (403, "permission_denied")
    assert answer.json()["message"] == "The token lacks the scope properties:read."


def test_each_error_has_the_one_shape(main):
    erp = program(main)
    erp.call("PUT", f"{LIST}/A", {"title": "T"})
    wrong = [
        (erp.call("GET", "/nowhere"), 404, "not_found"),
        (erp.call("POST", "/nowhere"), 404, "not_found"),
        (erp.call("OPTIONS", "/nowhere"), 404, "not_found"),
        (Program("").call("GET", "/nowhere"), 401, "not_authenticated"),
        (Program("").call("POST", "/schema/"), 405, "method_not_allowed"),
        (Program("").call("GET", "/schema/", Accept="text/html"), 406, "not_acceptable"),
        (erp.call("DELETE", f"{LIST}/A"), 405, "method_not_allowed"),
        (erp.call("OPTIONS", LIST), 405, "method_not_allowed"),
        (erp.call("GET", LIST, Accept="text/html"), 406, "not_acceptable"),
        (erp.call("PUT", f"{LIST}/A", "a=b", Content_Type="text/plain"), 415, "unsupported"),
        *(
            (erp.call("PUT", f"{LIST}/A", body), 400, "parse_error")
            for body in ("{", "[]", '"x"', "{'a': 1}", b"\xff", '{"a": NaN}', "[" * 99_999)
        ),
        *(
            (erp.call(method, f"{LIST}/A", '{"new": -1e999}'), 400, "parse_error")
            for method in ("PUT", "PATCH")
        ),
        (erp.call("PUT", f"{LIST}/A", '{"a":' * 45 + "1" + "}" * 45), 400, "parse_error"),
        (erp.call("PUT", f"{LIST}/A", '{"a": ' + "9" * 5000 + "}"), 400, "parse_error"),
    ]
    for answer, status, code in wrong:
        assert error(answer)[0] == status, answer.content
        assert answer.json()["code"].startswith(code), answer.content


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/properties", "GET, HEAD"),
        ("/properties/A", "GET, PUT, PATCH, HEAD"),
        *(("/schema/", "GET, HEAD"), ("/docs/", "GET, HEAD")),
    ],
)
@pytest.mark.parametrize("method", ["DELETE", "OPTIONS"])
def test_a_refused_method_names_those_that_are_taken(main, path, allowed, method):
    token = program(main).token
    headers = {"Authorization": f"Bearer {token}"}
    answer = Client().generic(method, f"/api/v1{path}", headers=headers)
    assert (answer.status_code, answer["Allow"]) == (405, allowed)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"a": ' + "9" * 5000 + "}", "The body holds a number that is too long."),
        (b'{"a": "\xff"}', "The body is not UTF-8."),
        (gzip.compress(b'{"a": 1}', mtime=0), "The body is not UTF-8."),
        ('{"a": 1, "b": 2, "a": 3}', "The body holds “a” twice in one object."),
        ('{"c": [{"b": 2, "b": 2}]}', "The body holds “b” twice in one object."),
        (r'{"\ud800": 1, "\ud800": 2}', "The body holds “\ufffd” twice in one object."),
        ("{'a': 1}", "The body is not JSON: the mistake is at line 1, column 2."),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_in_plain_words(main, body, message):
    answer = program(main).call("PUT", f"{LIST}/A", body)
    assert error(answer) == (400, "parse_error", [])
    assert answer.json()["message"] == message


def test_a_body_is_bounded_whoever_sends_it(main, settings):
    settings.API_BODY_LIMIT = 1000
    erp = program(main)
    assert error(erp.call("PUT", f"{LIST}/A", {"a": "x" * 1000}))[:2] == (413, "too_large")
    assert erp.call("PUT", f"{LIST}/A", {"title": "x" * 200}).status_code == 201
    large = {"a": "x" * django_settings.CALLBACK_BODY_LIMIT}
    assert error(erp.call("PUT", f"{LIST}/A", large))[:2] == (413, "too_large")
    assert error(Program("").call("PUT", f"{LIST}/A", large))[0] == 401


def test_a_fault_of_ours_is_500_in_the_same_shape_and_a_page_elsewhere(main, settings):
    def broken(request):
        raise ZeroDivisionError

    class Broken:
        handler500 = "crm_sync.api.error_answers.server_error"
        urlpatterns = [path("api/v1/broken", broken), path("broken", broken), *urlpatterns]

    settings.ROOT_URLCONF = Broken
    assert error(Program("").call("GET", "/broken"))[:2] == (500, "failed")
    page = Client(raise_request_exception=False).get("/broken")
    assert (page.status_code, page["Content-Type"].partition(";")[0]) == (500, "text/html")


def test_a_token_that_calls_too_often_waits_for_the_next_minute(main, settings):
    settings.API_CALLS_A_MINUTE = 2
    with time_machine.travel("2026-03-01T12:00:30Z", tick=False) as clock:
        one, other = program(main), program(main, name="other")
        for _ in range(2):
            one.get(LIST)
        late = one.call("GET", LIST)
        assert (error(late)[:2], late["Retry-After"]) == ((429, "throttled"), "30")
        other.get(LIST)
        clock.shift(timedelta(seconds=30))
        one.get(LIST)


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "POST", "DELETE"])
def test_each_method_counts_towards_the_limit_of_its_token(main, settings, method):
    settings.API_CALLS_A_MINUTE = 1
    with time_machine.travel("2026-03-01T12:00:30Z", tick=False):
        one = program(main)
        assert one.call(method, f"{LIST}/none", {}).status_code < 429
        assert one.call(method, f"{LIST}/none", {}).status_code == 429


def test_a_token_is_neither_cached_nor_logged_where_it_is_made(main, boss, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    entered = {"workspace": main.pk, "name": "ERP", "properties:read": "on"}
    made = boss.post("/admin/crm_sync/apitoken/add/", entered)
    (token,) = set(re.findall(r"crm_[\w-]{40,}", made.content.decode()))
    assert "no-store" in made["Cache-Control"]
    assert tokens.find(token, now=timezone.now()) == ApiToken.objects.get()
    written = caplog.text + "".join(capfd.readouterr())
    assert token not in written
    assert token not in str(list(LogEntry.objects.values()))


def test_calls_that_lack_a_scope_are_counted_too(main, settings):
    settings.API_CALLS_A_MINUTE = 2
    with time_machine.travel("2026-03-01T12:00:30Z", tick=False):
        one = program(main, scopes=["orders:read"])
        codes = [one.call("GET", LIST).status_code for _ in range(3)]
    assert codes == [403, 403, 429]


def test_a_token_ends_with_the_account_that_made_it(main, boss):
    maker = User.objects.create_user("maker")
    one = program(main, created_by=maker)
    one.get(LIST)
    User.objects.filter(pk=maker.pk).update(is_active=False)
    assert error(one.call("GET", LIST))[0] == 401
    page = boss.get("/admin/crm_sync/apitoken/").content.decode()
    assert "Account disabled" in page


def test_a_new_token_has_an_end_unless_somebody_takes_it_out(boss):
    page = boss.get("/admin/crm_sync/apitoken/add/").content.decode()
    in_a_year = timezone.localdate() + timedelta(days=365)
    assert f'value="{in_a_year.isoformat()}"' in page


def test_a_counter_that_is_away_stops_nobody_and_is_logged(main, settings, caplog):
    away = {"BACKEND": "django.core.cache.backends.redis.RedisCache"}
    settings.CACHES = settings.CACHES | {"api": away | {"LOCATION": "redis://127.0.0.1:1/0"}}
    _, token = tokens.issue(main, name="E", scopes=["properties:read"], now=timezone.now())
    Program(token).get(LIST)
    assert "was not counted" in caplog.text


def test_no_line_of_the_log_carries_a_token(main):
    erp = program(main)
    for text in (f"a {erp.token} b", f'"{erp.token}"', f"key={erp.token}&x=1"):
        record = logging.makeLogRecord({"msg": "%s", "args": (text,), "levelname": "INFO"})
        for form in (LineFormatter(), Json()):
            line = form.format(record)
            assert erp.token[4:] not in line
            assert "***" in line


def test_the_rate_is_counted_where_processes_share_it():
    assert caches["api"] is not caches["default"]
