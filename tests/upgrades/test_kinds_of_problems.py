"""The text of a problem gets its kind, and all that is no call stays as it is."""

import importlib

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from crm_sync.migrations import _problems
from crm_sync.models import Workspace
from crm_sync.platform.errors import ErrorKind, Problem, kind_of_status
from crm_sync.platform.problems import explain
from properties.models import Property
from tests.problems import answered

pytestmark = pytest.mark.django_db
STATUSES = (302, 400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 415, 418, 422, 423, 429, 500)
TEXTS = {
    "GET /v1/x: cannot connect": ErrorKind.UNREACHABLE,
    "PUT /v1/x: no whole answer within 20 s": ErrorKind.SLOW,
    "GET /v1/x: no answer (ProtocolError)": ErrorKind.BROKEN_OFF,
    "GET /v1/x: the certificate is not accepted (self-signed)": ErrorKind.BAD_CERTIFICATE,
    "GET /v1/x: the answer is larger than 5242880 bytes": ErrorKind.UNREADABLE,
    "GET /v1/x: 200, but the body is not JSON": ErrorKind.UNREADABLE,
    "workspace main has no credentials: see `manage.py add_workspace`": ErrorKind.NO_CREDENTIALS,
    "GET /v1/x: page 2 repeats the one before": ErrorKind.OTHER,
    "Its list is not read yet.": ErrorKind.OTHER,
    '{"message": "odd"}': ErrorKind.OTHER,
    "": ErrorKind.OTHER,
}


def apps_before(app: str, name: str):
    return MigrationLoader(connection).project_state((app, name)).apps


def migration(app: str, number: str):
    return importlib.import_module(f"{app}.migrations.{number}_problems_with_their_kind")


def raw(table: str, column: str, text: str) -> None:
    """Write a text as it was stored before."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {column} = %s", [text])


def stored(table: str, column: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM {table}")
        return cursor.fetchone()[0]


@pytest.mark.parametrize("status", STATUSES)
def test_a_text_of_an_answer_becomes_what_is_stored_of_such_an_answer_today(status):
    today = answered("PATCH /v1/x", status, "title: too long")
    old = _problems.dumped(str(today))
    again = Problem.loaded(old)
    assert (again, again.kind, again.words) == (today, kind_of_status(status), "title: too long")


@pytest.mark.parametrize(("text", "kind"), TEXTS.items())
def test_each_text_of_ours_gets_its_kind(text, kind):
    old = _problems.dumped(text)
    again = Problem.loaded(old)
    assert (again, again.kind) == (text, kind)


def test_a_column_is_converted_and_back(workspace):
    table = Workspace._meta.db_table
    text = "GET /v1/users: 401 the token is invalid; Unauthorized"
    raw(table, "problem", text)
    historical = apps_before("crm_sync", "0007_days_in_one_setting")
    conversion = migration("crm_sync", "0008").Migration.operations[0]
    conversion.code(historical, None)
    workspace.refresh_from_db()
    assert explain(workspace.problem).kind is ErrorKind.UNAUTHORIZED
    conversion.reverse_code(historical, None)
    assert stored(table, "problem") == text


def test_a_refusal_of_a_whole_property_is_converted_and_back(workspace):
    text = "PATCH /v1/real-estate-properties/1: 400 Bad Request; title: odd"
    before = {"REFUSED": {"": text, "title": "odd"}, "CONFLICT": {"notes": "Both sides"}}
    row = Property.objects.create(
        workspace=workspace, object_reference_id="A-1", problem=before, last_answer="in sync"
    )
    historical = apps_before("properties", "0008_urgent")
    migration("properties", "0009").convert(historical, None)
    row.refresh_from_db()
    (problem,) = row.problems_at("")
    assert explain(problem).sentence == "The platform refused it: title: odd."
    assert (row.problems_at("title"), row.last_answer) == (["odd"], "in sync")
    migration("properties", "0009").revert(historical, None)
    row.refresh_from_db()
    assert row.problem == before
