"""The figures for Prometheus: who gets them, what they say, and that they cost a few queries."""

import json
import re
from datetime import datetime, timedelta

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from crm_sync.models import (
    Gap,
    Heartbeat,
    OutgoingMessage,
    ReceivedEvent,
    Subscription,
    WebhookMonitor,
    Workspace,
)
from crm_sync.outgoing import outbox
from properties.models import Property
from tests.crm_sync.admin_pages import make_received_event
from tests.processes import ROOT

TOKEN = "metrics-canary"


@pytest.fixture(autouse=True)
def _token(settings) -> None:
    settings.METRICS_TOKEN = TOKEN


def soon() -> datetime:
    return timezone.now() + timedelta(seconds=60)


def ask(token: str = TOKEN):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return Client(SERVER_NAME="localhost").get("/metrics", headers=headers)


def figures() -> dict[tuple[str, ...], float]:
    """Return each figure by its name and the values of its labels."""
    families = text_string_to_metric_families(ask().content.decode())
    return {
        (one.name.removeprefix("crm_sync_"), *one.labels.values()): one.value
        for family in families
        for one in family.samples
    }


@pytest.fixture
def place(db) -> Workspace:
    found = Workspace.objects.create(slug="main", base_url="https://x.test", refused_callbacks=3)
    WebhookMonitor.objects.create(workspace=found, due_at=soon())
    return found


def test_without_a_token_in_the_settings_the_address_does_not_exist(db, settings):
    settings.METRICS_TOKEN = ""
    assert [ask(token).status_code for token in ("", TOKEN)] == [404, 404]


@pytest.mark.parametrize("token", ["", "other", "métrics", f"{TOKEN} "])
def test_with_another_token_nothing_is_said(place, token):
    answer = ask(token)
    assert (answer.status_code, answer.content) == (401, b"unauthorized\n")


def test_a_token_may_have_any_characters(place, settings):
    settings.METRICS_TOKEN = "geheime-Schlüssel"
    assert ask("geheime-Schlüssel".encode().decode("latin-1")).status_code == 200


def test_an_installation_at_rest_says_so(place):
    assert figures() == {
        ("processes_alive", "worker"): 0,
        ("processes_alive", "beat"): 0,
        ("refused_callbacks", "main"): 3,
    }


def test_what_is_due_is_counted_by_queue_and_workspace_with_the_age_of_the_first(place):
    now = timezone.now()
    other = Workspace.objects.create(slug="other", base_url="https://x.test")
    for n, seconds in enumerate((60, 600, -60)):
        Property.objects.create(
            workspace=place, object_reference_id=f"A-{n}", due_at=now - timedelta(seconds=seconds)
        )
    make_received_event(other, due_at=now - timedelta(seconds=5))
    found = figures()
    assert {key: value for key, value in found.items() if key[0] == "rows_due"} == {
        ("rows_due", "properties", "main"): 2,
        ("rows_due", "received_events", "other"): 1,
    }
    age = "oldest_due_seconds"
    assert found[(age, "properties", "main")] == pytest.approx(600, abs=30)
    assert found[(age, "received_events", "other")] == pytest.approx(5, abs=30)


def test_a_message_waits_since_it_is_due_and_not_since_the_last_drain(place):
    now = timezone.now()
    last = now - timedelta(days=3)
    quiet = {"address": "https://x.test", "kinds": ["test"], "due_at": last}
    row = Subscription.objects.create(workspace=place, secret="whsec_x", **quiet)
    message = outbox.test(row, now=now - timedelta(seconds=60))
    Subscription.objects.update(due_at=last)
    age = ("oldest_due_seconds", "outgoing", "main")
    assert figures()[age] == pytest.approx(60, abs=30)
    # While the address pauses nothing is due, and after that since its pause ended.
    Subscription.objects.update(due_at=now - timedelta(seconds=5))
    assert figures()[age] == pytest.approx(5, abs=30)
    OutgoingMessage.objects.filter(pk=message.pk).update(state="DELIVERED", due_at=None)
    assert age not in figures()


def test_what_needs_a_person_and_what_is_paused_stand_there(place):
    now = timezone.now()
    place.paused_until = now + timedelta(seconds=90)
    place.save()
    WebhookMonitor.objects.update(drift_since=now)
    Gap.objects.create(workspace=place, why="OVERFLOW", began_at=now, ended_at=now, noticed_at=now)
    for state in ("QUARANTINED", "FAILED", "FAILED", "APPLIED"):
        make_received_event(place, state=state, received_at=now, due_at=None)
    earlier = now - timedelta(minutes=6)
    make_received_event(place, state="APPLIED", received_at=earlier, due_at=None)
    found = figures()
    assert found[("paused_seconds", "main")] == pytest.approx(90, abs=30)
    assert {key: found[key] for key in found if key[0] not in {"paused_seconds"}} == {
        ("processes_alive", "worker"): 0,
        ("processes_alive", "beat"): 0,
        ("received_events_5m", "main"): 4,
        ("received_events_for_a_person", "QUARANTINED", "main"): 1,
        ("received_events_for_a_person", "FAILED", "main"): 2,
        ("refused_callbacks", "main"): 3,
        ("webhook_wrong", "main"): 1,
        ("gaps", "main"): 1,
    }


def test_who_is_alive_and_how_long_nobody_was_seen(place):
    now = timezone.now()
    for name, seconds in (("a", 2), ("b", 3), ("c", 300)):
        at = now - timedelta(seconds=seconds)
        Heartbeat.objects.create(kind="worker", name=name, started_at=at, seen_at=at)
    at = now - timedelta(seconds=200)
    Heartbeat.objects.create(kind="tick", name="tick", started_at=at, seen_at=at)
    found = figures()
    assert found[("process_silence_seconds", "tick")] == pytest.approx(200, abs=30)
    assert found[("processes_alive", "worker")] == 2
    assert found[("process_silence_seconds", "worker")] == pytest.approx(2, abs=30)
    assert ("process_silence_seconds", "beat") not in found


def test_ten_times_the_rows_and_workspaces_take_the_same_queries(place):
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            figures()
        return len(queries)

    now = timezone.now()
    Property.objects.create(workspace=place, object_reference_id="A", due_at=now)
    before = cost()
    for n in range(10):
        other = Workspace.objects.create(slug=f"w{n}", base_url="https://x.test")
        WebhookMonitor.objects.create(workspace=other, failed=1, due_at=soon())
        Property.objects.create(workspace=other, object_reference_id="A", due_at=now)
        make_received_event(other, received_at=now, due_at=now)
    assert cost() == before <= 32
    assert ReceivedEvent.objects.count() == 10


def test_while_the_database_is_away_the_answer_is_503(transactional_db):
    def broken(*_):
        raise OperationalError("canary: the server closed the connection")

    with connection.execute_wrapper(broken):
        answer = ask()
    assert (answer.status_code, answer.content) == (503, b"no database\n")


DASHBOARD = ROOT / "docs" / "deploy" / "grafana.json"
ALERTS = ROOT / "docs" / "deploy" / "alerts.yaml"


def test_each_alert_asks_for_a_figure_that_there_is_and_leads_to_what_to_do(place):
    text = ALERTS.read_text()
    asked = set(re.findall(r"crm_sync_\w+", text))
    described = set(re.findall(r"^# HELP (crm_sync_\w+)", ask().content.decode(), re.MULTILINE))
    assert (asked - described, len(asked)) == (set(), 11)
    page = (ROOT / "docs" / "alerts.md").read_text()
    headings = {
        one.lower().replace(" ", "-") for one in re.findall(r"^## (.*)$", page, re.MULTILINE)
    }
    by_mail = {"alarms-by-mail-and-as-a-message"}  # those that need no Prometheus
    assert set(re.findall(r"runbook: (\S+)", text)) == headings - by_mail


def test_the_dashboard_shows_each_figure_that_there_is_and_no_other(place):
    board = json.loads(DASHBOARD.read_text())
    panels = board["panels"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    asked += [one["query"] for one in board["templating"]["list"]]
    described = re.findall(r"^# HELP (crm_sync_\w+)", ask().content.decode(), re.MULTILINE)
    assert set(re.findall(r"crm_sync_\w+", " ".join(asked))) == set(described)
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(places)) == len(places)
    assert max(x for x, _ in places) < 24
