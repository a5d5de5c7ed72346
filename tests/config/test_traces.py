"""Traces: one leads from a callback to the message about it, and none holds a value or a secret."""

import hashlib
import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import StringIO

import pytest
from celery import current_app
from django.core.management import call_command
from django.test import Client
from django.utils.timezone import now

from config import task_ids
from crm_sync import tracing
from crm_sync.management.base import Failed
from crm_sync.models import OutgoingMessage, ReceivedEvent
from crm_sync.observing import open_telemetry, recording
from crm_sync.platform.errors import SyncError
from crm_sync.tasks import work
from crm_sync.tracing import Span, SpanKind, Trace
from crm_sync.work import leases, queues, row_spans
from crm_sync.work.queues import RowOutcome
from orders.models import Order
from properties.domain.editing import create
from properties.models import Property
from tests.api import program
from tests.conftest import PLATFORM
from tests.crm_sync.receivers import receiving, subscribe
from tests.journeys.test_kinds import placed
from tests.platforms import Between
from tests.processes import ROOT, free_port, wait_until
from tests.spans import Seen, collecting, recorded

Read = Callable[[], list[Seen]]
OF_OTHERS = "4bf92f3577b34da6a3ce929d0e0e4736"  # a trace of somebody else, and a span in it
THEIRS = "00f067aa0ba902b7"
SENT = f"00-{OF_OTHERS}-{THEIRS}-01"
HOST = {"Host": "crm.test"}


@pytest.fixture
def spans() -> Iterator[Read]:
    with recorded() as read:  # the first call of a program in `tests.api` reads the description
        yield lambda: [one for one in read() if one.name != "GET /api/v1/schema/"]


@pytest.fixture
def receiver(settings):
    settings.OUTGOING_INTERNAL_HOSTS = ["127.0.0.1"]
    with receiving() as one:
        yield one


def tree(spans: list[Seen], trace: str) -> dict[str, list[str]]:
    """Return what follows each span of a trace, by name; "" is the beginning."""
    mine = {one.id: one for one in spans if one.trace == trace}
    found: dict[str, list[str]] = {}
    for one in mine.values():
        parent = mine[one.parent].name if one.parent in mine else one.parent
        found.setdefault(parent, []).append(one.name)
    return {parent: sorted(names) for parent, names in found.items()}


def span(name: str = "x", **attributes: str) -> Span:
    begun = Trace(tracing.new(), span="00f067aa0ba902b7")
    return Span(name, SpanKind.CLIENT, begun, time.time_ns(), time.time_ns(), {**attributes})


CALLBACK = "POST /webhooks/<uuid:workspace_uuid>/"


def test_a_callback_its_event_the_read_of_its_order_and_the_messages_are_one_trace(
    box, workspace, drain_all, receiver, spans
):
    placed(workspace, drain_all)
    subscribe(workspace, receiver.url, "order.status_changed")
    before = len(spans())
    box.step()
    box.deliver()
    drain_all()
    found = spans()[before:]
    messages = OutgoingMessage.objects.order_by("pk")
    events = ReceivedEvent.objects.order_by("-pk")[:3]
    assert len({one.digest for one in events}) == 3  # applied together, and each is its own trace
    assert {one.outcome for one in map(Applied, found) if one.is_event} == {"APPLIED"}
    told = {json.loads(one.payload)["data"]["newStatus"]: one.traceparent for one in messages}
    assert len(told) == len(messages) == 2
    news = {tracing.of_digest(one.digest): json.loads(bytes(one.body)) for one in events}
    for trace, event in news.items():
        here = tree(found, trace)
        assert here[""][0] == CALLBACK
        assert here[CALLBACK] == ["received_events"]
        status = event.get("newStatus")
        if status:
            assert told[status].startswith(f"00-{trace}-")
            assert "POST" in here["received_events"]
    newest = tracing.of_digest(events[0].digest)
    here = tree(found, newest)
    assert "assignments" in here["received_events"]
    assert here["assignments"] == ["GET"]
    assert sorted(headers["traceparent"][3:35] for _, headers, _ in receiver.came) == sorted(
        one[3:35] for one in told.values()
    )


class Applied:
    """What a span says of a row."""

    def __init__(self, seen: Seen) -> None:
        self.is_event = seen.name == "received_events"
        self.outcome = seen.attributes.get("crm_sync.outcome")


def test_each_call_names_the_span_that_it_is(box, workspace, spans):
    came = []
    between = Between(box, PLATFORM)
    between.before = lambda environ: came.append(environ["HTTP_TRACEPARENT"])
    workspace.client().get_webhook()
    (one,) = spans()
    assert came == [f"00-{one.trace}-{one.id}-01"]
    assert (one.kind, one.name, one.parent, one.has_failed) == ("CLIENT", "GET", "", False)
    assert one.attributes == {
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "server.address": "sandbox.test",
        "server.port": 80,
        "url.path": "/v1/webhooks",
    }


def test_a_program_has_its_trace_continued_through_the_broker_to_the_platform(
    box, workspace, spans
):
    create(workspace, "H-1", {"title": "House"}, origin="API", now=now())
    Property.objects.update(due_at=None)
    current_app.conf.task_always_eager = False
    one, sent = program(workspace), {}
    with tracing.kept():
        answer = one.call("PATCH", "/properties/H-1", {"title": "Hut"}, traceparent=SENT)
        assert (answer.status_code, answer.headers["X-Request-ID"]) == (200, OF_OTHERS)
        (request,) = spans()
        # The ring is sent in the request, after its commit.
        tracing.begin(OF_OTHERS, cause=f"00-{OF_OTHERS}-{request.id}-01")
        task_ids._send(headers=sent)
    assert sent == {
        task_ids.IN_TASK: OF_OTHERS,
        "traceparent": f"00-{OF_OTHERS}-{request.id}-01",
    }
    work.apply(args=["properties", workspace.pk], headers=sent)
    route = "PATCH /api/v1/properties/<str:reference>"
    assert tree(spans(), OF_OTHERS) == {
        THEIRS: [route],
        route: ["properties"],
        "properties": ["GET", "POST"],
    }
    assert request.attributes == {
        "http.request.method": "PATCH",
        "http.response.status_code": 200,
        "http.route": "/api/v1/properties/<str:reference>",
        "server.address": "crm.test",
        "url.path": "/api/v1/properties/***",
        "url.scheme": "http",
    }
    assert tracing.current() == Trace()


@pytest.mark.parametrize(
    "given",
    [
        "",
        "x",
        SENT.upper(),
        SENT.replace("-01", "-00"),  # the caller does not record
        SENT.replace(OF_OTHERS, "0" * 32),
        SENT.replace(THEIRS, "0" * 16),
        SENT.replace("00-", "ff-", 1),
        f"{SENT}-more",
        f"{SENT}, {SENT}",
        f" {SENT}x",
    ],
)
def test_a_traceparent_that_is_not_well_formed_or_not_sampled_is_ignored(workspace, spans, given):
    answer = program(workspace).call("GET", "/properties", traceparent=given)
    (one,) = spans()
    assert one.parent == ""
    assert one.trace == answer.headers["X-Request-ID"] != OF_OTHERS


def test_a_later_version_may_say_more(workspace, spans):
    program(workspace).call("GET", "/properties", traceparent=SENT.replace("00-", "cc-", 1) + "-x")
    (one,) = spans()
    assert (one.trace, one.parent) == (OF_OTHERS, THEIRS)


def test_a_request_id_of_another_form_leads_to_its_trace_and_a_page_continues_none(boss, spans):
    headers = {"Host": "localhost", "X-Request-ID": "mesh-7", "traceparent": SENT}
    answer = boss.get("/admin/", headers=headers)
    (one,) = spans()
    assert answer.headers["X-Request-ID"] == "mesh-7"
    assert (one.trace, one.parent) == (hashlib.sha256(b"mesh-7").hexdigest()[:32], "")
    assert one.trace == tracing.trace_id("mesh-7")


def posted(workspace, body: bytes, **headers: str):
    named = HOST | {"X-API-Key": workspace.auth_secret} | headers
    where = f"/webhooks/{workspace.uuid}/"
    return Client().post(where, body, content_type="application/json", headers=named)


@pytest.mark.rule("S1")
def test_a_callback_continues_a_trace_once_its_secret_is_right(workspace, drain_all, spans, caplog):
    refused = posted(workspace, b'{"event": "A"}', **{"X-API-Key": "wrong", "traceparent": SENT})
    taken = posted(workspace, b'{"event": "B"}', traceparent=SENT)
    again = posted(workspace, b'{"event": "B"}')  # equal bytes, which wait
    assert [one.status_code for one in (refused, taken, again)] == [401, 200, 200]
    with caplog.at_level(logging.INFO):
        drain_all()
    assert f"QUARANTINED [{OF_OTHERS}]" in caplog.text  # the log has the same id
    first, second, third, applied = spans()
    assert (first.trace, first.parent) == (refused.headers["X-Request-ID"], "")
    assert (second.trace, second.parent) == (OF_OTHERS, THEIRS)
    assert (third.trace, third.parent) == (again.headers["X-Request-ID"], "")
    assert (applied.trace, applied.parent) == (OF_OTHERS, second.id)
    assert ReceivedEvent.objects.get().traceparent == f"00-{OF_OTHERS}-{second.id}-01"


def test_a_secret_that_looks_like_a_trace_is_masked_and_not_taken(workspace, spans):
    type(workspace).objects.update(auth_secret=OF_OTHERS)
    workspace.refresh_from_db()
    assert posted(workspace, b'{"event": "A"}', traceparent=SENT).status_code == 200
    assert OF_OTHERS not in spans()[0].said + spans()[0].trace
    assert ReceivedEvent.objects.get().headers["Traceparent"] == "***"


@pytest.mark.rule("S4", "S5")
def test_no_secret_value_query_or_body_is_in_a_span(
    box, workspace, drain_all, receiver, boss, spans
):
    canary = workspace.auth_secret
    where = f"{receiver.url}/hooks/{canary}?key={canary}"
    subscribe(workspace, where, "property.in_sync", "order.status_changed")
    create(workspace, f"R-{canary}", {"title": canary}, origin="API", now=now())
    Order.objects.create(workspace=workspace, platform_id=f"O-{canary}", due_at=now())
    body = json.dumps({"event": canary, "orderId": canary}).encode()
    for secret in (canary, f"wrong-{canary}"):
        posted(workspace, body, **{"X-API-Key": secret, "User-Agent": canary})
    Client().post(f"/webhooks/{workspace.uuid}/?key={canary}", body, "x/y", headers=HOST)
    one = program(workspace)
    one.call("GET", f"/properties/{canary}?reference={canary}")
    one.call("GET", f"/orders?reference={canary}", **{"X-Request-ID": canary})
    for path in (f"/admin/nowhere/{canary}/", f"/{canary}", f"/calendar.ics?key={canary}"):
        boss.get(path, headers={"Host": "localhost"})
        boss.generic(canary[:20], path, headers={"Host": "localhost"})
    boss.post("/admin/login/", {"username": canary, "password": canary})
    drain_all()
    with suppress(Failed):
        call_command("doctor", "main", stdout=StringIO(), stderr=StringIO())
    said = "\n".join(one.said for one in spans())
    assert len(spans()) > 20
    assert {one.kind for one in spans()} == {"SERVER", "CONSUMER", "CLIENT"}
    for hidden in (
        canary,
        canary[:20],
        str(workspace.uuid),
        workspace.fixed_token,
        "key=",
        "reference=",
    ):
        assert hidden not in said
    assert {name.split(".")[0] for one in spans() for name in one.attributes} == {
        *("crm_sync", "error", "http", "server", "url")
    }


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/workersz", "/metrics", "/nowhere"])
def test_what_is_asked_again_and_again_and_what_is_not_ours_is_not_recorded(db, spans, path):
    Client().get(path, headers={"Host": "localhost"})
    assert spans() == []


def test_a_failure_is_marked_by_its_kind_and_never_by_its_text(box, workspace, drain_all, spans):
    between = Between(box, PLATFORM)
    client = workspace.client()

    def lost(_: object) -> None:
        raise TimeoutError("canary")

    between.before = lambda _: ("500 Oops", [("Date", "x")], b"canary")
    with pytest.raises(SyncError):
        client.get_webhook()
    between.before = lost
    with pytest.raises(SyncError):
        client.get_webhook()
    answered, broken = spans()
    assert (answered.has_failed, answered.attributes["error.type"]) == (True, "500")
    assert (broken.has_failed, broken.attributes["error.type"]) == (True, "ReadTimeout")
    assert "http.response.status_code" not in broken.attributes
    between.before = lambda _: None
    create(workspace, "H-1", {"title": "House"}, origin="API", now=now())
    type(workspace).objects.update(fixed_token="", client_id="", client_secret="")
    drain_all()
    pushed = next(one for one in spans() if one.name == "properties")
    assert pushed.attributes["crm_sync.row"] == f"properties.property:{Property.objects.get().pk}"
    assert pushed.attributes["crm_sync.attempt"] == 1
    assert "canary" not in "".join(one.said for one in spans())


def test_the_work_on_a_row_says_how_it_ended_and_what_is_given_back_is_no_failure(main, spans):
    rows = [Order.objects.create(workspace=main, platform_id=str(n), due_at=now()) for n in (1, 2)]
    claims = leases.claim_some(Order.objects.order_by("pk"), now=now(), limit=2)
    with pytest.raises(queues.Stop), row_spans.work_on("orders", main.pk, claims[:1]):
        raise queues.Stop
    with row_spans.work_on("orders", main.pk, claims) as note:
        note([RowOutcome.FAILED, "read"])
    found = [
        (one.attributes["crm_sync.row"], one.attributes["crm_sync.outcome"], one.has_failed)
        for one in spans()
    ]
    first, second = (f"orders.order:{row.pk}" for row in rows)
    assert found == [
        (first, "given back", False),
        (second, "read", False),
        (first, "failed", True),
    ]


def test_a_trace_that_the_sampler_leaves_out_is_left_out_everywhere(
    box, workspace, drain_all, monkeypatch
):
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    came = []
    between = Between(box, PLATFORM)
    between.before = lambda environ: came.append(environ["HTTP_TRACEPARENT"])
    with recorded() as spans:
        posted(workspace, b'{"event": "A"}')
        with tracing.recorded("GET", SpanKind.SERVER):
            workspace.client().get_webhook()
        drain_all()
        assert spans() == []
        assert came[0].endswith("-00")
        # What a caller records is recorded here, too.
        program(workspace).call("GET", "/properties", traceparent=SENT)
        assert [one.trace for one in spans()] == [OF_OTHERS]


def test_where_nothing_is_recorded_no_call_and_no_row_says_so(box, workspace, drain_all, receiver):
    subscribe(workspace, receiver.url)
    came = []
    between = Between(box, PLATFORM)
    between.before = lambda environ: came.append(environ.get("HTTP_TRACEPARENT"))
    order = placed(workspace, drain_all)
    posted(workspace, b'{"event": "A"}', traceparent=SENT)
    answer = program(workspace).call("GET", f"/orders/{order.platform_id}", traceparent=SENT)
    drain_all()
    assert answer.headers["X-Request-ID"] != OF_OTHERS
    assert set(came) == {None}
    assert OutgoingMessage.objects.exists()
    assert set(OutgoingMessage.objects.values_list("traceparent", flat=True)) == {None}
    assert set(ReceivedEvent.objects.values_list("traceparent", flat=True)) == {None}
    assert [headers for _, headers, _ in receiver.came if "traceparent" in headers] == []


LOADED = "print(sorted(one for one in sys.modules if one.startswith('opentelemetry')))"
ALL = f"import sys, config.wsgi, config.celery, config.gunicorn, crm_sync.tasks; {LOADED}"
BEGUN = (
    f"import sys, config.wsgi; from crm_sync.observing import recording as r; r.begin(); {LOADED}"
)
WITHOUT = "import sys; sys.modules['opentelemetry'] = None; "


def run(tmp_path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {"DATA_DIR": str(tmp_path / "data"), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False, timeout=60
    )


def test_without_a_receiver_nothing_of_it_is_imported(tmp_path):
    for code in (ALL, BEGUN):
        done = run(tmp_path, code)
        assert (done.stdout, done.stderr) == ("[]\n", "")


def test_without_the_package_the_work_goes_on_and_the_check_says_what_is_missing(tmp_path):
    there = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    done = run(tmp_path, WITHOUT + BEGUN, **there)
    assert done.returncode == 0
    assert done.stderr.count(recording.LACKING) == 1
    assert "WARNING" in done.stderr
    check = "sys.argv = ['manage.py', 'check']; from config.command_line import main; main()"
    said = run(tmp_path, WITHOUT + check, **there)
    assert said.returncode == 0
    assert f"(crm_sync.W003) {recording.LACKING}" in said.stderr
    assert recording.REMEDY in said.stderr
    both = run(tmp_path, "import sys; " + check, **there)
    assert "W003" not in both.stderr + both.stdout
    grpc = run(tmp_path, "import sys; " + check, **there, OTEL_EXPORTER_OTLP_PROTOCOL="grpc")
    assert "(crm_sync.W003) Traces are sent by http/protobuf, and not by grpc." in grpc.stderr


def test_a_variable_of_theirs_that_is_wrong_stops_no_work(settings, monkeypatch, caplog):
    settings.OTLP_ENDPOINT = "http://127.0.0.1:1"
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-1")
    monkeypatch.setattr(recording, "_begun_in", 0)
    with caplog.at_level(logging.WARNING):
        recording.begin()
    assert "Nothing is recorded." in caplog.text
    assert not tracing.is_recording()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.3")
    monkeypatch.setattr(open_telemetry, "PATIENCE", 0.2)


def test_a_receiver_that_is_away_or_hangs_delays_nothing_and_is_logged_once(
    quick, monkeypatch, caplog
):
    with collecting() as collector, caplog.at_level(logging.INFO):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.server.url)
        recorder = open_telemetry.started(collector.server.url)
        collector.status = "503 Busy"
        recorder.record(span())
        wait_until("it is logged", lambda: lines(caplog), limit=10)
        collector.hangs.clear()
        started = time.monotonic()
        for _ in range(5_000):
            recorder.record(span())
        assert time.monotonic() - started < 5  # and 5,000 calls to the platform take minutes
        time.sleep(1)  # some batches fail
        assert len(lines(caplog)) == 1
        assert "takes no traces" in lines(caplog)[0]
        collector.status = "200 OK"
        collector.hangs.set()
        wait_until("it is back", lambda: len(lines(caplog)) == 2, limit=20)
        assert "takes traces again" in lines(caplog)[1]
        recorder.stop()


def test_a_receiver_that_hangs_delays_no_end(quick, monkeypatch):
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_TIMEOUT")  # ten seconds
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.server.url)
        collector.hangs.clear()
        recorder = open_telemetry.started(collector.server.url)
        recorder.record(span())
        started = time.monotonic()
        recorder.stop()
        assert time.monotonic() - started < 3


def lines(caplog) -> list[str]:
    ours = (one for one in caplog.records if one.name.startswith("crm_sync."))
    return [record.getMessage() for record in ours]


def test_an_address_where_nobody_listens_is_named_without_its_password(quick, monkeypatch, caplog):
    url = f"http://user:canary@127.0.0.1:{free_port()}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    recorder = open_telemetry.started(url)
    with caplog.at_level(logging.INFO):
        recorder.record(span())
        wait_until("it is logged", lambda: lines(caplog), limit=10)
    recorder.stop()
    assert "canary" not in caplog.text
    assert lines(caplog)[0].startswith(url.replace("http://user:canary@", ""))


def test_the_name_of_the_service_can_be_chosen(monkeypatch):
    with recorded() as spans, tracing.recorded("a", SpanKind.CLIENT):
        pass
    assert spans()[0].resource["service.name"] == "crm-sync"
    monkeypatch.setenv("OTEL_SERVICE_NAME", "crm-north")
    with recorded() as spans, tracing.recorded("a", SpanKind.CLIENT):
        pass
    assert spans()[0].resource["service.name"] == "crm-north"
