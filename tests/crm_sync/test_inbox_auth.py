"""Who may call is remembered and yet true at each callback (crm_sync/inbox/auth.py, S1, S6)."""

from datetime import timedelta

import pytest
from django.db import close_old_connections, connection
from django.test import Client
from django.utils import timezone

from crm_sync.inbox import auth, store
from crm_sync.models import ReceivedEvent, Workspace

OPEN = {"auth_secret": "old", "auth_type": "HEADER", "auth_header_name": "X-API-Key"}


@pytest.fixture
def hook(db) -> Workspace:
    return Workspace.objects.create(slug="main", base_url="http://x.test", **OPEN)


def call(workspace: Workspace, body: bytes, headers: dict[str, str], **extra: str) -> int:
    address = f"/webhooks/{workspace.uuid}/"
    response = Client().post(address, body, "application/json", headers=headers, **extra)
    return response.status_code


def bodies() -> list[bytes]:
    return [
        bytes(body) for body in ReceivedEvent.objects.order_by("pk").values_list("body", flat=True)
    ]


@pytest.mark.django_db(transaction=True)
def test_from_the_second_on_a_callback_is_one_statement(hook, django_assert_num_queries):
    assert call(hook, b"1", {"X-API-Key": "old"}) == 200
    with django_assert_num_queries(1) as seen:
        assert call(hook, b"2", {"X-API-Key": "old"}) == 200
    assert seen[0]["sql"].startswith("INSERT INTO")
    assert bodies() == [b"1", b"2"]


@pytest.mark.rule("S1")
@pytest.mark.parametrize(
    ("changed", "headers"),
    [
        ({"auth_secret": "new"}, {"X-API-Key": "new"}),
        ({"auth_header_name": "X-Other"}, {"X-Other": "old"}),
        ({"auth_type": "NONE"}, {}),
    ],
)
def test_what_is_changed_counts_from_the_next_callback_on(hook, settings, changed, headers):
    settings.CALLBACK_ALLOW_NONE = True
    assert call(hook, b"1", {"X-API-Key": "old"}) == 200
    Workspace.objects.update(**changed)
    assert call(hook, b"2", headers) == 200
    Workspace.objects.update(**OPEN)
    assert call(hook, b"3", headers) == 401
    assert call(hook, b"4", {"X-API-Key": "old"}) == 200
    assert bodies() == [b"1", b"2", b"4"]


def test_a_rotation_that_is_ended_early_ends_at_once(hook):
    now = timezone.now()
    Workspace.objects.update(
        auth_secret="new",
        previous_auth_secret="old",
        previous_auth_secret_until=now + timedelta(hours=1),
    )
    assert call(hook, b"1", {"X-API-Key": "old"}) == 200
    Workspace.objects.update(previous_auth_secret_until=now)
    assert call(hook, b"2", {"X-API-Key": "old"}) == 401
    assert call(hook, b"3", {"X-API-Key": "new"}) == 200
    assert bodies() == [b"1", b"3"]


def test_whoever_is_remembered_gets_the_same_refusals(hook):
    assert call(hook, b"1", {"X-API-Key": "old"}) == 200
    address = f"/webhooks/{hook.uuid}/"
    for body, text in ((b" \r\n", "empty body"), (b"", "empty body")):
        answer = Client().post(address, body, "text/plain", headers={"X-API-Key": "old"})
        assert (answer.status_code, answer.json()) == (400, {"error": text})
    assert bodies() == [b"1"]


def test_the_address_of_a_workspace_that_is_deleted_is_not_there(hook):
    assert call(hook, b"1", {"X-API-Key": "old"}) == 200
    ReceivedEvent.objects.all().delete()
    Workspace.objects.all().delete()
    assert call(hook, b"2", {"X-API-Key": "old"}) == 404


@pytest.mark.parametrize("secret", ["clé-à", "Å", "plain"])
@pytest.mark.parametrize("blanks", ["", " ", "\t "])
def test_a_bearer_token_may_end_in_any_letter(hook, secret, blanks):
    Workspace.objects.update(auth_type="BEARER_TOKEN", auth_secret=secret)
    wire = secret.encode().decode("latin-1")
    assert call(hook, b"1", {"Authorization": f"Bearer {blanks}{wire}{blanks}"}) == 200
    assert bodies() == [b"1"]


@pytest.mark.parametrize(
    "changed",
    [
        {"auth_secret": "new"},
        {"previous_auth_secret": "new"},
        {"previous_auth_secret_until": timezone.now()},
        {"auth_type": "BEARER_TOKEN"},
        {"auth_header_name": "X-Other"},
        {"auth_parameter_name": "other"},
        {"callback_sources": "192.0.2.1"},
        {"previous_auth_names": "other"},
        {"previous_auth_names_until": timezone.now()},
    ],
)
def test_what_was_let_in_before_a_change_is_not_stored_after_it(hook, changed):
    auth.read(hook.uuid)
    before = auth.remembered[hook.uuid].unchanged
    how = {"headers": {}, "method": "POST", "source": ReceivedEvent.Source.CALLBACK}
    Workspace.objects.update(**changed)
    for body in (b"1", b"1"):
        assert not store.store(hook.pk, body, **how, now=timezone.now(), given=before)
    assert bodies() == []
    auth.read(hook.uuid)
    after = auth.remembered[hook.uuid].unchanged
    assert store.store(hook.pk, b"1", **how, now=timezone.now(), given=after)
    # What is there already is not counted as a repetition before the database was asked.
    assert not store.store(hook.pk, b"1", **how, now=timezone.now(), given=after)
    assert not store.store(hook.pk, b"1", **how, now=timezone.now(), given=before)
    assert ReceivedEvent.objects.get().repeats == 0


def test_so_many_are_remembered_and_no_more(db):
    for number in range(auth.REMEMBERED + 3):
        one = Workspace.objects.create(slug=f"w{number}", base_url="http://x.test", **OPEN)
        assert call(one, b"1", {"X-API-Key": "old"}) == 200
    assert len(auth.remembered) <= auth.REMEMBERED
    assert call(one, b"2", {"X-API-Key": "old"}) == 200


@pytest.mark.rule("S9")
def test_no_name_of_a_host_and_no_plain_http_keeps_a_callback_out(hook, settings):
    settings.ALLOWED_HOSTS = ["elsewhere.test"]
    settings.SECURE_SSL_REDIRECT = True  # a redirect would be a lost event (S9)
    assert call(hook, b"1", {"X-API-Key": "old"}, HTTP_HOST="a proxy's own.name") == 200
    assert bodies() == [b"1"]
    assert Client().get("/healthz").status_code in (301, 400)


@pytest.mark.rule("I14")
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no connection to lose")
def test_a_connection_that_the_database_has_closed_is_made_anew(hook):
    assert call(hook, b"1", {"X-API-Key": "old"}) == 200
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (gone,) = cursor.fetchone()
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [gone])
    other.close()
    close_old_connections()  # so begins each request of a server, and not those of this client
    assert call(hook, b"2", {"X-API-Key": "old"}) == 200
    assert bodies() == [b"1", b"2"]
