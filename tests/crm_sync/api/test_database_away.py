"""While the database is down, locked or full the API says when to call again (docs/api.md)."""

import pytest
from django.db import OperationalError, connection
from django.urls import path

from config.urls import urlpatterns
from properties.models import Property
from tests.api import Program, error, program
from tests.crm_sync.locking import held_by_another

LIST = "/properties"
AWAY = (503, "database_unavailable")
pytestmark = pytest.mark.django_db(transaction=True)


def asked(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def refused(erp: Program, method: str) -> None:
    """Call, and look at the refusal: its shape, and when to call again."""
    answer = erp.call(method, f"{LIST}/A", {"title": "T"} if method == "PUT" else None)
    assert (error(answer)[:2], answer["Retry-After"]) == (AWAY, "30")
    assert answer.json()["message"] == (
        "The database does not answer now: repeat the call, with its key if it has one."
    )


def test_a_write_that_the_database_does_not_take_is_503_and_succeeds_later(main, caplog):
    erp = program(main)
    kind = connection.vendor
    switch = {
        "sqlite": "PRAGMA query_only = {}",
        "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION READ {}",
    }[kind]
    on, off = ("1", "0") if kind == "sqlite" else ("ONLY", "WRITE")
    asked(switch.format(on))
    try:
        refused(erp, "PUT")
    finally:
        asked(switch.format(off))
    assert "the database did not take a call of the API: " in caplog.text
    assert erp.call("PUT", f"{LIST}/A", {"title": "T"}).status_code == 201


def test_a_write_that_waits_for_a_lock_in_vain_is_503(main):
    erp = program(main)
    wait = {"sqlite": "PRAGMA busy_timeout = {}", "postgresql": "SET lock_timeout = {}"}
    asked(wait[connection.vendor].format(200))
    try:
        with held_by_another("properties_property"):
            refused(erp, "PUT")
    finally:
        connection.close()
    assert not Property.objects.exists()


def test_a_call_is_503_while_nobody_can_connect(main, settings):
    erp = program(main)
    known = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = "/nowhere/at/all"
    try:
        refused(erp, "GET")
        refused(erp, "PUT")
    finally:
        connection.settings_dict["NAME"] = known
        connection.close()


def test_what_fails_before_a_view_has_the_call_is_answered_alike(main, settings):
    def broken(request):
        raise OperationalError("canary: connection refused")

    class Broken:
        handler500 = "crm_sync.api.error_answers.server_error"
        urlpatterns = [path("api/v1/properties/A", broken), *urlpatterns]

    settings.ROOT_URLCONF = Broken
    refused(Program(""), "GET")
