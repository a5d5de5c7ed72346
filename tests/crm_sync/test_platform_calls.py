"""Calls to the platform: which are kept, without secrets and statements; figures of all of them."""

import logging
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from config.environment import Env
from crm_sync import tracing
from crm_sync.models import CallCount, PlatformCall, Workspace, call_log
from crm_sync.models.platform_call import TOTAL, CallResult
from crm_sync.platform.errors import SyncError
from crm_sync.platform.exchange import Result
from crm_sync.tasks import clear_deliveries
from properties.domain.editing import create
from tests.conftest import PLATFORM
from tests.platforms import Between

LIST = "/admin/crm_sync/platformcall/"


def push(workspace: Workspace, drain_all, reference: str):
    row = create(workspace, reference, {"title": "House"}, origin="API", now=now())
    drain_all()
    return row


def totals() -> dict[str, int]:
    return dict(CallCount.objects.filter(hour=TOTAL).values_list("result", "count"))


def test_errors_alone_are_kept_with_what_was_sent_and_answered_and_without_secrets(
    box, workspace, drain_all, boss, settings
):
    call_log.forget()
    between = Between(box, PLATFORM)
    body = f'{{"message": "no {workspace.fixed_token}", "code": "\\u0074itle"}}'.encode()

    def refuse(environ):
        if environ["REQUEST_METHOD"] == "POST":
            return "400 Bad Request", [("Date", "x")], body
        return None

    between.before = refuse
    row = push(workspace, drain_all, f"R-{workspace.auth_secret}")
    assert call_log.flush() == 1
    (call,) = PlatformCall.objects.all()
    assert (call.method, call.address, call.status) == ("POST", "/v1/real-estate-properties", 400)
    assert (call.result, call.about, call.attempt) == (
        "refused",
        f"properties.property:{row.pk}",
        1,
    )
    assert call.request_id
    assert '"title": "House"' in call.sent
    assert '"objectReferenceId": "R-***"' in call.sent
    assert call.answer == '{"message": "no ***", "code": "title"}'
    assert call.problem.startswith("POST /v1/real-estate-properties: 400 no ***")
    assert totals() == {"not_found": 1, "refused": 1}
    shown = boss.get(LIST).content.decode()
    page = boss.get(f"{LIST}{call.pk}/change/").content.decode()
    for text in (shown, page):
        assert "Refused 400" in text
        assert f"/admin/properties/property/{row.pk}/change/" in text
        assert f">property {row.pk}</a>" in text
    assert "&quot;code&quot;: &quot;title&quot;\n}" in page  # a line for each member
    assert "House" in page
    assert "House" not in shown
    assert "1 result" in boss.get(f"{LIST}?q={call.request_id}").content.decode()
    assert "No call" not in boss.get(f"{LIST}?about={call.about}").content.decode()
    assert f"{LIST}?about=" in boss.get(
        f"/admin/properties/property/{row.pk}/change/"
    ).content.decode().replace("&amp;", "&")
    settings.METRICS_TOKEN = "figures"
    headers = {"Host": "localhost", "Authorization": "Bearer figures"}
    figures = Client().get("/metrics", headers=headers).content.decode()
    line = 'crm_sync_platform_calls_total{result="refused",workspace="main"} 1.0'
    assert line in figures.splitlines()
    assert 'crm_sync_platform_call_seconds_total{result="refused"' in figures


@pytest.mark.parametrize(("kept", "rows"), [("off", 0), ("errors", 0), ("all", 2)])
def test_the_setting_says_what_is_kept_and_a_call_costs_no_statement(
    box, workspace, drain_all, settings, kept, rows
):
    call_log.forget()
    settings.PLATFORM_CALLS = kept
    with CaptureQueriesContext(connection) as queries:
        push(workspace, drain_all, "H-1")
    assert not [one for one in queries.captured_queries if "platformcall" in one["sql"]]
    assert not [one for one in queries.captured_queries if "callcount" in one["sql"]]
    call_log.flush()
    assert PlatformCall.objects.count() == rows
    assert totals() == {"not_found": 1, "ok": 1}
    push(workspace, drain_all, "H-2")  # another process adds to what is there
    call_log.flush()
    assert totals() == {"not_found": 2, "ok": 2}
    hours = CallCount.objects.exclude(hour=TOTAL).values_list("result", "count")
    assert dict(hours) == totals()
    with CaptureQueriesContext(connection) as queries:
        assert call_log.flush() == 0
    assert not queries.captured_queries


def test_what_waits_is_bounded_and_a_database_that_is_away_costs_only_figures(
    box, workspace, settings, caplog, monkeypatch
):
    call_log.forget()
    settings.PLATFORM_CALLS = "all"
    monkeypatch.setattr(call_log, "WAITING", 3)
    for _ in range(5):
        workspace.client().get_webhook()
    with caplog.at_level(logging.WARNING):
        assert call_log.flush() == 3
    assert "2 calls were counted and not kept" in caplog.text
    assert totals() == {"ok": 5}
    workspace.client().get_webhook()
    with caplog.at_level(logging.WARNING), connection.execute_wrapper(_away):
        assert call_log.flush() == 0
    assert "1 calls are neither counted nor kept" in caplog.text
    assert (call_log.flush(), totals()) == (0, {"ok": 5})


def _away(execute, sql, *rest):
    from django.db import OperationalError

    raise OperationalError("the server closed the connection")


def test_old_calls_and_more_than_are_kept_are_removed_by_the_hourly_cleaning(main, settings):
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"calls": 2}
    settings.PLATFORM_CALLS_KEEP_ROWS = 3
    for days in (5, 3, 1, 1, 1, 0):
        at = now() - timedelta(days=days)
        PlatformCall.objects.create(
            workspace=main, at=at, method="GET", milliseconds=1, result="failed"
        )
    for hour in (TOTAL, now() - timedelta(days=3), now()):
        CallCount.objects.create(workspace=main, hour=hour, result="ok", count=1, milliseconds=1)
    newest = list(PlatformCall.objects.order_by("-pk").values_list("pk", flat=True)[:3])
    clear_deliveries()
    assert list(PlatformCall.objects.order_by("-pk").values_list("pk", flat=True)) == newest
    assert CallCount.objects.count() == 2
    assert set(CallResult.values) == set(Result)


def test_each_way_in_which_a_call_ends_has_its_result_and_no_body_of_a_token_is_kept(
    box, workspace, settings
):
    settings.PLATFORM_CALLS = "all"
    Workspace.objects.update(fixed_token="", client_id="client", client_secret="secret")
    between = Between(box, PLATFORM)
    answers = {
        "404 Not Found": "not_found",
        "403 Forbidden": "not_allowed",
        "429 Busy": "busy",
        "500 Wrong": "failed",
        "409 Conflict": "refused",
        "200 OK": "failed",  # no JSON
    }
    client = Workspace.objects.get().client()
    client.get_webhook()
    call_log.forget()
    for status in answers:
        between.before = lambda environ, status=status: (status, [("Date", "x")], b"<p>")
        with pytest.raises(SyncError):
            client.put_webhook({})

    def lost(_):
        raise TimeoutError

    between.before = lost
    with pytest.raises(SyncError):
        client.put_webhook({})
    call_log.flush()
    found = list(PlatformCall.objects.order_by("pk").values_list("result", flat=True))
    assert found == [*answers.values(), "no_answer"]
    PlatformCall.objects.all().delete()
    from crm_sync.platform import credentials

    credentials.tokens.clear()
    tracing.end()
    between.before = lambda _: None
    Workspace.objects.get().client().get_webhook()
    call_log.flush()
    bought = PlatformCall.objects.get(address="/auth/token")
    assert (bought.sent, bought.answer, bought.result) == ("", "", "ok")


def test_a_wrong_word_in_the_setting_ends_the_start():
    from django.core.exceptions import ImproperlyConfigured

    env = Env()
    env.ENVIRON = {"PLATFORM_CALLS": "some"}
    with pytest.raises(ImproperlyConfigured, match="PLATFORM_CALLS is 'some'"):
        env.one_of("PLATFORM_CALLS", "errors", call_log.WANTED)
