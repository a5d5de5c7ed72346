"""One id from a callback to the read of its order; and no secret in a log, in either form (S4)."""

import hashlib
import json
import logging
import re
from collections.abc import Iterator
from io import StringIO

import pytest
from celery import current_app
from django.test import Client
from django.utils.timezone import now

from config import gunicorn, task_ids as middleware
from config.logs import Json, LineFormatter
from crm_sync import tracing
from crm_sync.models import ReceivedEvent
from crm_sync.tasks import work
from orders.models import Order
from properties.domain.editing import create
from tests.conftest import PLATFORM
from tests.journeys.test_kinds import placed
from tests.platforms import Between

Logs = dict[str, StringIO]


@pytest.fixture
def logs() -> Iterator[Logs]:
    """Return what both forms of the log hold of all that is said."""
    found: Logs = {"line": StringIO(), "json": StringIO()}
    handlers = [logging.StreamHandler(stream) for stream in found.values()]
    root = logging.getLogger()
    level, before = root.level, tracing.current()
    root.setLevel(logging.INFO)
    for handler, form in zip(handlers, (LineFormatter(), Json()), strict=True):
        handler.setFormatter(form)
        root.addHandler(handler)
    tracing.end()
    yield found
    for handler in handlers:
        root.removeHandler(handler)
    root.setLevel(level)
    tracing.begin(before.id) if before.id else tracing.end()


def lines(logs: Logs, key: str) -> list[str]:
    """Return the messages that stand under an id, and those that name it."""
    found = [json.loads(line) for line in logs["json"].getvalue().splitlines()]
    shown = [one for one in logs["line"].getvalue().splitlines() if f"[{key}]" in one]
    mine = [one["message"] for one in found if one.get("id") == key or key in one["message"]]
    assert len(shown) == len(mine)
    return mine


def test_one_id_leads_from_a_callback_to_its_event_and_to_the_read_of_its_order(
    box, workspace, drain_all, logs
):
    order = placed(workspace, drain_all)
    box.step()
    box.deliver()
    tracing.end()
    for stream in logs.values():
        stream.seek(0)
        stream.truncate()
    drain_all()
    newest = ReceivedEvent.objects.filter(order_platform_id=order.platform_id).latest("pk")
    found = lines(logs, tracing.of_digest(newest.digest))
    assert [line for line in found if line.startswith("received events: ")]
    assert [line for line in found if "GET /v1/assignments/" in line], found


def test_a_request_answers_with_its_id_and_takes_only_a_harmless_one(workspace, box):
    def answered(given: str | None) -> str:
        headers = {} if given is None else {"X-Request-ID": given}
        response = Client().get("/healthz", headers={"Host": "localhost"} | headers)
        return response.headers["X-Request-ID"]

    assert answered("abc.DEF-12:3_4") == "abc.DEF-12:3_4"
    made = {answered(given) for given in (None, "", "a b", "x" * 65, "a\x1b[31m", "ä", "a,b")}
    assert len(made) == 7
    assert all(re.fullmatch(r"[0-9a-f]{32}", one) for one in made)
    body = b'{"event": "X"}'
    headers = {"X-API-Key": workspace.auth_secret, "X-Request-ID": "mine", "Host": "crm.test"}
    address = f"/webhooks/{workspace.uuid}/"
    response = Client().post(address, body, content_type="application/json", headers=headers)
    assert (response.status_code, response.headers["X-Request-ID"]) == (
        200,
        tracing.of_digest(hashlib.sha256(body).hexdigest()),
    )


def test_who_rings_gives_the_task_its_rows_and_their_calls_one_id(box, workspace, logs):
    row = create(workspace, "H-1", {"title": "House"}, origin="API", now=now())
    current_app.conf.task_always_eager = False
    tracing.begin("from-the-web")
    sent: dict = {}
    middleware._send(headers=sent)
    assert sent == {middleware.IN_TASK: "from-the-web"}
    tracing.end()
    work.apply(args=["properties", workspace.pk], headers=sent)
    calls = [line for line in lines(logs, "from-the-web") if "by-reference/H-1: " in line]
    assert calls
    assert tracing.current() == tracing.Trace()
    assert row.pk


def test_an_id_ends_with_the_line_of_the_access_log():
    tracing.begin("one")
    logger = gunicorn.AccessLog.__new__(gunicorn.AccessLog)
    logger.cfg = type("Cfg", (), {"accesslog": None, "logconfig": None, "syslog": False})()
    logger.cfg.logconfig_dict = logger.cfg.logconfig_json = None
    logger.access(None, None, {}, None)
    assert tracing.current().id == ""


def test_no_secret_of_any_input_reaches_either_form_of_the_log(box, workspace, drain_all, logs):
    canary = workspace.auth_secret
    address = f"/webhooks/{workspace.uuid}/"
    headers = {"Host": "crm.test", "X-API-Key": f"wrong-{canary}", "X-Request-ID": canary}
    bodies = [json.dumps({"event": canary, "orderId": f"\n{canary}"}).encode(), canary.encode()]
    for body in bodies:
        post = Client().post
        where = f"{address}?other={canary}"
        refused = post(where, body, content_type="application/json", headers=headers)
        assert refused.status_code == 401
        good = headers | {"X-API-Key": canary}
        assert post(address, body, content_type="application/json", headers=good).status_code == 200
    between = Between(box, PLATFORM)
    echo = json.dumps({"message": f"token {workspace.fixed_token} of {canary}"}).encode()
    between.reword = lambda environ, answer: ("400 Bad", [("Date", "x")], echo)
    create(workspace, f"R-{canary}", {"title": canary}, origin="API", now=now())
    Order.objects.create(workspace=workspace, platform_id=f"O-{canary}", due_at=now())
    drain_all()
    for text in (stream.getvalue() for stream in logs.values()):
        assert "crm_sync.calls" in text
        assert "refused: 401" in text
        assert canary not in text
        assert workspace.fixed_token not in text.replace(PLATFORM, "")
        assert "***" in text
