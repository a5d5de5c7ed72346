"""The callback endpoint: who may call, what is stored and answered (I15 to I17, S1 to S3, S9)."""

import json
from datetime import timedelta
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from crm_sync.models import ReceivedEvent, Workspace

SECRET = "canary-sécret+with/odd&chars"  # not one that we would generate: these are harder
BODY = b'{ "event":"X",\n "orderId" : "\\u0000" }'
TYPES = ["HEADER", "QUERY_PARAMETER", "BEARER_TOKEN"]
STORED = (200, {"status": "stored"})
REFUSED = (401, {"error": "not authenticated"})


@pytest.fixture
def hook(db, settings) -> Workspace:
    settings.ALLOWED_HOSTS = ["testserver"]
    return Workspace.objects.create(
        slug="main", base_url="http://x.test", fixed_token="t", auth_secret=SECRET
    )


def path(workspace: Workspace) -> str:
    return f"/webhooks/{workspace.uuid}/"


def call(
    workspace: Workspace, secret: str | None = SECRET, body: bytes = BODY, method="POST", **extra
) -> tuple[int, dict]:
    """Call as the platform does, with the authType of the workspace."""
    headers = {"Content-Type": "application/json", **extra.pop("headers", {})}
    address = path(workspace)
    if secret is not None:
        wire = secret.encode().decode("latin-1")  # as WSGI hands bytes over
        match workspace.auth_type:
            case "HEADER":
                headers[workspace.auth_header_name] = wire
            case "BEARER_TOKEN":
                headers["Authorization"] = f"Bearer {wire}"
            case "QUERY_PARAMETER":
                address += f"?{workspace.auth_parameter_name}={quote(secret, safe='')}"
    response = Client(raise_request_exception=False).generic(
        method, address, body, content_type=headers.pop("Content-Type"), headers=headers, **extra
    )
    return response.status_code, json.loads(response.content)


def refusals(workspace: Workspace) -> tuple[int, str]:
    workspace.refresh_from_db()
    return workspace.refused_callbacks, workspace.last_refusal


# --- who may call, §5.2, S1


@pytest.mark.rule("5.2 HEADER; QUERY_PARAMETER; BEARER_TOKEN", "6.1 rule 3")
@pytest.mark.parametrize("auth_type", TYPES)
def test_the_right_secret_is_taken(hook, auth_type):
    hook.auth_type = auth_type
    hook.save()
    assert call(hook) == STORED
    assert bytes(ReceivedEvent.objects.get().body) == BODY
    assert refusals(hook) == (0, "")


@pytest.mark.rule("S1")
@pytest.mark.parametrize("auth_type", TYPES)
@pytest.mark.parametrize(
    "secret",
    [None, "", " ", "wrong", SECRET[:-1], SECRET + "x", SECRET.upper(), "é€\u4e2d", "x" * 10_240],
    ids=lambda secret: repr(secret)[:12],
)
def test_any_other_secret_is_refused_and_counted_and_nothing_stored(hook, auth_type, secret):
    hook.auth_type = auth_type
    hook.save()
    assert call(hook, secret) == REFUSED
    assert refusals(hook) == (1, "POST: 401 not authenticated")
    assert not ReceivedEvent.objects.exists()


@pytest.mark.rule("S1")
@pytest.mark.parametrize("auth_type", [*TYPES, "NONE"])
@pytest.mark.parametrize("secret", [None, "", "None"])
def test_a_workspace_without_a_secret_lets_nobody_in(hook, auth_type, secret):
    Workspace.objects.update(auth_type=auth_type, auth_secret="", previous_auth_secret="")
    hook.refresh_from_db()
    assert call(hook, secret) == REFUSED
    assert not ReceivedEvent.objects.exists()


@pytest.mark.parametrize("scheme", ["Basic", "", "Token"])
def test_another_scheme_than_bearer_is_refused(hook, scheme):
    hook.auth_type = "BEARER_TOKEN"
    hook.save()
    value = f"{scheme} {SECRET}".encode().decode("latin-1")
    assert call(hook, None, headers={"Authorization": value}) == REFUSED


@pytest.mark.rule("5.1 separate")
@pytest.mark.parametrize("auth_type", TYPES)
def test_the_token_of_our_calls_lets_nobody_in(hook, auth_type):
    Workspace.objects.update(auth_type=auth_type, fixed_token="our-own-token", client_secret="ours")
    hook.refresh_from_db()
    assert [call(hook, word) for word in ("our-own-token", "ours")] == [REFUSED, REFUSED]
    assert not ReceivedEvent.objects.exists()


@pytest.mark.rule("5.2 NONE")
@pytest.mark.parametrize("allowed", [True, False])
def test_none_lets_everybody_in_only_with_the_setting(hook, settings, allowed):
    settings.CALLBACK_ALLOW_NONE = allowed
    hook.auth_type = "NONE"
    hook.save()
    assert call(hook) == (STORED if allowed else REFUSED)
    assert ReceivedEvent.objects.count() == allowed


@pytest.mark.rule("S6")
def test_two_secrets_are_valid_in_a_rotation_and_the_old_one_not_after_it(hook):
    now = timezone.now()
    hook.auth_secret, hook.previous_auth_secret = "new", "old"
    hook.previous_auth_secret_until = now + timedelta(minutes=1)
    hook.save()
    assert [call(hook, word, word.encode()) for word in ("new", "old")] == [STORED, STORED]
    Workspace.objects.update(previous_auth_secret_until=now - timedelta(seconds=1))
    assert [call(hook, word, word.encode() * 2) for word in ("new", "old")] == [STORED, REFUSED]
    assert ReceivedEvent.objects.count() == 3


@pytest.mark.rule("S12")
def test_the_secret_of_one_workspace_opens_no_other(hook):
    other = Workspace.objects.create(slug="other", base_url="http://x.test", auth_secret="theirs")
    assert call(other, SECRET) == REFUSED
    assert call(hook) == STORED
    assert call(other, "theirs") == STORED  # the same bytes are another received event there (S12)
    owners = ReceivedEvent.objects.values_list("workspace__slug", flat=True)
    assert sorted(owners) == ["main", "other"]
    assert (refusals(hook)[0], refusals(other)[0]) == (0, 1)


# --- what is stored, I17


@pytest.mark.rule("S9")
@pytest.mark.parametrize("method", ["POST", "GET", "PUT"])
@pytest.mark.parametrize("slash", [True, False])
def test_any_method_with_a_body_is_stored_raw_and_never_redirected(hook, method, slash):
    address = path(hook) if slash else path(hook)[:-1]
    headers = {"X-API-Key": SECRET.encode().decode("latin-1"), "X-Event-Type": "X"}
    response = Client().generic(method, address, BODY, "text/plain", headers=headers)
    assert (response.status_code, json.loads(response.content)) == STORED
    received_event = ReceivedEvent.objects.get()
    assert (bytes(received_event.body), received_event.method, received_event.state) == (
        BODY,
        method,
        "RECEIVED",
    )
    assert received_event.headers["X-Event-Type"] == "X"
    assert received_event.due_at == received_event.received_at


BODIES = [
    b"\x00",
    b"\xff\xfe",
    b"{",
    b"NaN",
    b'"\\ud800"',
    b"[" * 200_000,
    b"9" * 5_000,
    b"a=1&b=2",
]


@pytest.mark.rule("I17", "6.1 rule 2")
@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:9]))
@pytest.mark.parametrize(
    "kind",
    ["application/json", "application/x-www-form-urlencoded", "multipart/form-data", "?", ""],
)
def test_whatever_the_bytes_are_and_are_called_they_are_stored(hook, body, kind):
    assert call(hook, body=body, headers={"Content-Type": kind}) == STORED
    assert bytes(ReceivedEvent.objects.get().body) == body


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "text/plain", "nonsense", ""])
def test_what_the_platform_accepts_as_an_answer_is_no_reason_to_lose_an_event(hook, accept):
    assert call(hook, headers={"Accept": accept}) == STORED
    response = Client().generic("GET", f"{path(hook)}?format=xml", b"", headers={"Accept": accept})
    assert response.status_code == 401


@pytest.mark.rule("S9")
@pytest.mark.parametrize(("method", "status"), [("POST", 400), ("PUT", 400), ("GET", 405)])
@pytest.mark.parametrize("body", [b"", b" \r\n"])
def test_a_call_without_a_body_is_refused_counted_and_shown(hook, method, status, body):
    text = "a body is needed" if method == "GET" else "empty body"
    assert call(hook, body=body, method=method) == (status, {"error": text})
    assert refusals(hook) == (1, f"{method}: {status} {text}")
    assert hook.last_refusal_at is not None
    assert not ReceivedEvent.objects.exists()


@pytest.mark.parametrize("method", ["DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_no_other_method_gets_a_good_answer_and_each_is_counted(hook, method):
    text = f"the method {method} is not taken"
    assert call(hook, method=method) == (405, {"error": text})
    assert refusals(hook) == (1, f"{method}: 405 {text}")
    assert not ReceivedEvent.objects.exists()


@pytest.mark.parametrize("method", ["DELETE", "OPTIONS"])
def test_the_refusal_of_a_method_names_only_those_that_are_taken(hook, client, method):
    answer = client.generic(method, f"/webhooks/{hook.uuid}/")
    assert (answer.status_code, answer["Allow"]) == (405, "GET, POST, PUT, HEAD")


@pytest.mark.rule("S7")
@pytest.mark.parametrize(("length", "stored"), [(1000, True), (1001, False)])
def test_a_body_over_the_limit_is_refused_before_it_is_read(hook, settings, length, stored):
    settings.CALLBACK_BODY_LIMIT = 1000
    answer = call(hook, body=b"x" * length)
    assert answer == (STORED if stored else (413, {"error": "body too large"}))
    assert ReceivedEvent.objects.count() == stored
    assert refusals(hook) == ((0, "") if stored else (1, "POST: 413 body too large"))


@pytest.mark.parametrize(
    ("length", "answer"),
    [
        ("x", (400, {"error": "bad content length"})),
        ("-5", (400, {"error": "empty body"})),
        ("9" * 30, (413, {"error": "body too large"})),
    ],
)
def test_a_length_that_is_none_is_refused(hook, length, answer):
    assert call(hook, CONTENT_LENGTH=length) == answer
    assert not ReceivedEvent.objects.exists()


@pytest.mark.parametrize(("method", "status"), [("POST", 200), ("GET", 200), ("DELETE", 405)])
def test_the_answer_says_how_long_it_is(hook, method, status):
    headers = {"X-API-Key": SECRET.encode().decode("latin-1")}
    response = Client().generic(method, path(hook), BODY, headers=headers)
    length = len(response.content)
    assert (response.status_code, response.headers["Content-Length"]) == (status, str(length))
    assert length > 0


def test_an_unknown_address_is_not_there(hook):
    address = "/webhooks/00000000-0000-4000-8000-000000000000/"
    response = Client().post(address, BODY, "application/json")
    assert (response.status_code, response.json()) == (404, {"error": "unknown callback address"})
    assert refusals(hook)[0] == 0
    assert not ReceivedEvent.objects.exists()


@pytest.mark.rule("I16", "6.1 rule 5")
def test_a_repeated_delivery_is_counted_and_not_stored_twice(hook):
    assert [call(hook) for _ in range(3)] == [STORED] * 3
    assert ReceivedEvent.objects.get().repeats == 2


# --- secrets in what is stored, S3 to S5


@pytest.mark.rule("S3")
@pytest.mark.parametrize("auth_type", TYPES)
def test_no_stored_header_holds_the_secret(hook, auth_type):
    hook.auth_type, hook.auth_header_name = auth_type, "X-Our-Key"
    hook.previous_auth_secret = "canary-old&secret"
    hook.save()
    wire = SECRET.encode().decode("latin-1")
    more = {
        "X-Original-URI": f"/webhooks/?token={quote(SECRET, safe='')}",
        "X-Forwarded-Uri": f"/webhooks/?token={quote('canary-old&secret', safe='')}",
        "Referer": f"http://x.test/{wire}",
        "X-Api-Key": "another-canary",
        "Cookie": "canary=1",
        "Proxy-Authorization": "canary",
        "X-Order-ID": "12",
        "X-Long": "y" * 5_000,
    }
    assert call(hook, headers=more) == STORED
    headers = ReceivedEvent.objects.get().headers
    assert "canary" not in json.dumps(headers)
    assert (headers["X-Order-Id"], headers["Referer"], len(headers["X-Long"])) == (
        "12",
        "***",
        1000,
    )


# --- when it cannot be stored, I15

TRIGGERS = {
    "sqlite": [
        "CREATE TRIGGER no_room BEFORE INSERT ON crm_sync_receivedevent"
        " BEGIN SELECT RAISE(ABORT, 'canary: disk full'); END"
    ],
    "postgresql": [
        "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'canary: disk full'; END $$",
        "CREATE TRIGGER no_room BEFORE INSERT ON crm_sync_receivedevent"
        " FOR EACH ROW EXECUTE FUNCTION no_room()",
    ],
}


@pytest.mark.rule("S16", "2.2 responseBody", "8 response body")
def test_what_the_database_does_not_take_gets_a_503_with_a_fixed_text(hook):
    with connection.cursor() as cursor:
        for statement in TRIGGERS[connection.vendor]:
            cursor.execute(statement)
    assert call(hook) == (503, {"error": "cannot store it now"})
    assert not ReceivedEvent.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute(
            "DROP TRIGGER no_room"
            + (" ON crm_sync_receivedevent" if connection.vendor == "postgresql" else "")
        )
    assert call(hook) == STORED


def test_a_secret_that_cannot_be_decrypted_gets_a_503_with_a_fixed_text(hook, settings):
    settings.SECRET_KEYS_AT_REST = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    assert call(hook) == (503, {"error": "cannot store it now"})
    assert not ReceivedEvent.objects.exists()
