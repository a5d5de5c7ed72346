"""send_event: an event of our own to our own address, and what became of it."""

import json
from io import StringIO

import pytest
import requests
from django.core.management import CommandError, call_command
from django.db import connection

from config.wsgi import application
from crm_sync.inbox import store
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.platform import transport
from crm_sync.webhook import sample_events, test_event
from crm_sync.webhook.configuration import configure
from crm_sync.work import turn
from orders.models import Assignment, Order
from tests.conftest import OURS, _keeping_connections
from tests.orders.conftest import now
from tests.wsgi import WsgiAdapter

FAILED, USAGE, PARTLY = 1, 2, 3


class Web:
    """Our own web server; a worker applies what it has stored before anybody looks."""

    def __init__(self) -> None:
        self.app = _keeping_connections(application)
        self.has_worker, self.status = True, ""

    def __call__(self, environ, start_response):
        if self.status:
            start_response(self.status, [])
            return [b""]
        answer = self.app(environ, start_response)
        if self.has_worker:
            turn.take(store.RECEIVED_EVENTS, Workspace.objects.get().pk, seconds=20.0)
        return answer


@pytest.fixture
def web(workspace) -> Web:
    server = Web()
    transport.MOUNTS[OURS] = WsgiAdapter(server)
    return server


def run(*words: str) -> str:
    out = StringIO()
    call_command("send_event", *words, stdout=out)
    return out.getvalue()


def printed(*words: str) -> dict:
    return json.loads(run(*words, "--json"))


def failure(*words: str) -> tuple[int, str]:
    with pytest.raises(CommandError) as error:
        run(*words)
    return error.value.returncode, str(error.value)


@pytest.mark.rule("2.3 all", "6.1 rule 1")
@pytest.mark.parametrize("auth_type", ["HEADER", "BEARER_TOKEN", "QUERY_PARAMETER", "NONE"])
@pytest.mark.parametrize("kind", sample_events.KINDS)
def test_an_event_of_each_kind_goes_through_each_authentication(
    box, web, workspace, settings, kind, auth_type
):
    settings.CALLBACK_ALLOW_NONE = True
    configure(workspace, auth_type=auth_type, now=now())
    found = printed(kind, "main")
    settings.CALLBACK_ALLOW_NONE = False
    assert (found["status"], found["state"]) == (200, "APPLIED")
    stored = ReceivedEvent.objects.get()
    assert (stored.pk, stored.kind, stored.source) == (found["delivery"], kind, "CALLBACK")
    assert json.loads(bytes(stored.body)) == found["payload"]
    assert stored.headers["X-Trial"] == "sent by ourselves, not by the platform"
    assert str(workspace.auth_secret) not in json.dumps([found, stored.headers])


@pytest.mark.parametrize("auth_type", ["HEADER", "BEARER_TOKEN", "QUERY_PARAMETER"])
def test_a_secret_of_any_script_goes_through_each_authentication(web, workspace, auth_type):
    Workspace.objects.update(auth_type=auth_type, auth_secret="sécret-ключ-🔑")
    found = printed("VISUALS_READY", "main")
    assert (found["status"], found["state"]) == (200, "APPLIED")
    assert "sécret" not in json.dumps(ReceivedEvent.objects.get().headers, ensure_ascii=False)


def test_by_default_it_is_about_the_newest_order_and_the_truth_comes_back(
    box, web, place, drain_all
):
    place()
    order = place("GROUND_PHOTO")
    assignment = order.assignments.get()
    found = printed("ASSIGNMENT_STATUS_UPDATED", "main", "--status", "SCHEDULED")
    payload = found["payload"]
    assert (payload["orderId"], payload["assignmentId"]) == (
        order.platform_id,
        assignment.platform_id,
    )
    assert (payload["previousStatus"], payload["newStatus"]) == ("CREATED", "SCHEDULED")
    assert payload["assignmentType"] == assignment.assignment_type
    assert (Assignment.objects.get(pk=assignment.pk).status, found["read"]) == (
        "SCHEDULED",
        order.platform_id,
    )
    drain_all()
    assert Assignment.objects.get(pk=assignment.pk).status == "CREATED"


def test_an_order_that_is_named_is_taken_and_the_read_can_be_left_out(web, place):
    first, _ = place(), place()
    Order.objects.update(due_at=None)
    words = ("--order", first.platform_id, "--status", "IN_PROGRESS", "--no-read")
    text = run("order_status_updated", "main", *words).splitlines()
    assert text[-2:] == [
        "answered 200",
        f"received event {ReceivedEvent.objects.get().pk} Applied: order {first.platform_id}:"
        " Placed → In progress",
    ]
    assert Order.objects.get(pk=first.pk).due_at is None


def test_other_fields_moment_and_previous_status_are_as_they_were_given(web):
    words = ("--at", "2026-01-31T10:00:00Z", "--assignment", "7", "--order", "3")
    payload = printed("APPOINTMENT_DATE_UPDATED", "main", *words, "--set", "scheduledAt=null")[
        "payload"
    ]
    assert payload == {
        "event": "APPOINTMENT_DATE_UPDATED",
        "occurredAt": "2026-01-31T10:00:00Z",
        "orderId": "3",
        "assignmentId": "7",
        "scheduledAt": None,
    }
    words = (*words, "--previous", "A", "--status", "B", "--set", "more=true")
    payload = printed("ASSIGNMENT_STATUS_UPDATED", "main", *words)["payload"]
    assert (payload["previousStatus"], payload["newStatus"], payload["more"]) == ("A", "B", True)


def test_a_dry_run_shows_the_call_without_the_secret_and_sends_nothing(web, workspace):
    found = printed("VISUALS_READY", "main", "--dry-run")
    assert (found["url"], found["headers"]["X-API-Key"]) == (workspace.callback_url, "***")
    assert found["payload"]["orderId"] == "TRIAL-ORDER"
    text = run("VISUALS_READY", "main", "--dry-run")
    assert text.splitlines()[0] == f"POST {workspace.callback_url}"
    assert str(workspace.auth_secret) not in text + json.dumps(found)
    assert not ReceivedEvent.objects.exists()


def test_without_a_worker_it_says_so(web):
    web.has_worker = False
    text = run("VISUALS_READY", "main", "--wait", "0")
    assert text.splitlines()[-1] == (
        f"received event {ReceivedEvent.objects.get().pk} pending: nobody has applied it yet;"
        " start a worker, or run manage.py work"
    )


def test_it_waits_for_a_worker_that_comes_a_little_later(web, workspace):
    web.has_worker = False
    one = test_event.call(workspace, sample_events.sample("VISUALS_READY", at=now(), fields={}))
    test_event.send(one)
    looks: list[str] = []

    def look(execute, sql, *rest):
        looks.append(sql)
        if len(looks) == 2:
            turn.take(store.RECEIVED_EVENTS, workspace.pk, seconds=20.0)
        return execute(sql, *rest)

    with connection.execute_wrapper(look):
        found = test_event.outcome(workspace, one, seconds=20.0)
    assert found.state == "APPLIED"


def test_the_same_event_again_is_a_duplicate(web):
    words = ("ORDER_STATUS_UPDATED", "main", "--at", "2026-01-31T10:00:00Z", "--order", "3")
    words = (*words, "--previous", "PLACED")
    first = printed(*words)["delivery"]
    again = printed(*words)
    assert (again["state"], again["effect"]) == (
        "DUPLICATE",
        f"the same as received event {first}",
    )


def test_the_same_event_again_is_counted_while_no_worker_has_come(web):
    web.has_worker = False
    words = ("ORDER_STATUS_UPDATED", "main", "--at", "2026-01-31T10:00:00Z", "--order", "3")
    words = (*words, "--previous", "PLACED", "--wait", "0")
    assert [printed(*words)["repeats"] for _ in range(3)] == [0, 1, 2]


def test_what_is_stored_and_not_applied_ends_with_3(web):
    words = ("ORDER_STATUS_UPDATED", "main", "--at", "2099-01-01T00:00:00Z")
    code, text = failure(*words)
    assert code == PARTLY
    assert text.startswith("it was stored, but not applied: dated ")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("ORDER_ARCHIVED", "main"), "no event 'ORDER_ARCHIVED'; there is: VISUALS_READY, "),
        (("VISUALS_READY", "nowhere"), "no workspace 'nowhere'; there is: main"),
        (("VISUALS_READY", "main", "--at", "soon"), "--at is not a timestamp: 'soon'"),
        (("VISUALS_READY", "main", "--order", "€"), "X-Order-ID cannot be '€': it is a header"),
        (("VISUALS_READY", "main", "--set", "x"), "--set takes NAME=VALUE, not 'x'"),
        (("VISUALS_READY", "main", "--set", "product=null"), "VISUALS_READY without product"),
    ],
)
def test_wrong_use_ends_with_2_and_sends_nothing(web, words, line):
    code, text = failure(*words)
    assert (code, text[: len(line)]) == (USAGE, line)
    assert not ReceivedEvent.objects.exists()


def test_what_does_not_arrive_ends_with_1_and_says_what_to_check(web, workspace, settings):
    web.status = "404 Not Found"
    assert failure("VISUALS_READY", "main") == (
        FAILED,
        f"{workspace.callback_url} answered 404: nothing of ours is there: is PUBLIC_BASE_URL"
        " right, and does the proxy pass /webhooks/?",
    )
    web.status = "301 Moved"
    assert failure("VISUALS_READY", "main")[1].endswith("without a redirect?")
    web.status = "200 OK"
    assert failure("VISUALS_READY", "main")[1].startswith(
        f"{workspace.callback_url} answered 200, but nothing was stored here"
    )
    settings.PUBLIC_BASE_URL = "http://127.0.0.1:1"
    assert failure("VISUALS_READY", "main") == (
        FAILED,
        f"POST http://127.0.0.1:1/webhooks/{workspace.uuid}/: cannot connect: is the web server"
        " running, and is PUBLIC_BASE_URL right?",
    )
    Workspace.objects.update(auth_secret="")
    assert failure("VISUALS_READY", "main") == (
        FAILED,
        "main has no webhook yet: manage.py configure_webhook main",
    )


def test_what_is_sent_is_what_was_digested(workspace):
    one = test_event.call(
        workspace, sample_events.sample("VISUALS_READY", at=now(), fields={"x": "é"})
    )
    assert requests.Request("POST", one.url, json=one.payload).prepare().body == one.body
