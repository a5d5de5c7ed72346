"""Real processes record one trace from a callback to the message about it, and end with it sent."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.crm_sync.receivers import Receiver, receiving
from tests.journeys.rows import ask
from tests.processes import Installation, wait_until
from tests.spans import Collector, Seen, collecting

pytestmark = pytest.mark.processes
LIMIT = 60  # seconds for all work to be done, or for a process to end
SUBSCRIPTION = """
version: 1
workspaces:
  - slug: main
    subscriptions:
      - address: {address}
        kinds:
          - order.status_changed
"""
DONE = """
select count(*) > 0 and sum(case when {open} then 1 else 0 end) = 0 from {table} where {mine}
"""
TABLES = (
    ("crm_sync_receivedevent", "state = 'RECEIVED'", "1 = 1"),
    ("crm_sync_outgoingmessage", "state = 'PENDING'", "1 = 1"),
    ("orders_assignment", "read_at is null", "status <> 'CREATED'"),
)
CALLBACK = "POST /webhooks/<uuid:workspace_uuid>/"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as one:
        yield one


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as one:
        yield one


@pytest.fixture
def installation(
    tmp_path: Path, database_url: str, collector: Collector, receiver: Receiver
) -> Iterator[Installation]:
    one = Installation(
        tmp_path,
        database_url,
        WEB_CONCURRENCY="2",
        OUTGOING_INTERNAL_HOSTS="127.0.0.1",
        OTEL_EXPORTER_OTLP_ENDPOINT=collector.server.url,
        OTEL_BSP_SCHEDULE_DELAY="3600000",  # so that what comes was sent by a process that ends
    )
    one.start_sandbox(step=3600)
    one.run("-m", "tests.journeys.driver", "setup")
    wanted = tmp_path / "wanted.yaml"
    wanted.write_text(SUBSCRIPTION.format(address=receiver.url))
    one.manage("config", "apply", str(wanted))
    yield one
    one.stop()


def is_done(url: str) -> bool:
    queries = (DONE.format(table=table, open=open_, mine=mine) for table, open_, mine in TABLES)
    return all(ask(url, query)[0][0] for query in queries)


def test_one_trace_leads_from_a_callback_through_the_worker_to_the_platform_and_to_the_receiver(
    installation, collector, receiver, database_url
):
    installation.start_web()
    installation.start_worker()
    installation.start_beat()
    assert requests.post(f"{installation.sandbox}/_sandbox/step", json={}, timeout=10).ok
    wait_until("all is done", lambda: is_done(database_url), limit=LIMIT)
    for name in ("web", "worker", "beat"):
        process = installation.processes.pop(name)
        process.send_signal(signal.SIGTERM)
        assert (name, process.wait(LIMIT)) == (name, 0)
    spans = collector.spans
    known = {one.id: one for one in spans}
    assert len(known) == len(spans)

    def after(one: Seen) -> list[Seen]:
        return [other for other in spans if other.parent == one.id]

    callbacks = [one for one in spans if one.name == CALLBACK]
    ((received,),) = ask(database_url, "select count(*) from crm_sync_receivedevent")
    assert len(callbacks) == received == len({one.trace for one in callbacks})
    assert {one.parent for one in callbacks} == {""}
    read, posted = 0, []
    for callback in callbacks:
        # A look at the history that the callback rang for comes after it, too.
        (applied,) = (one for one in after(callback) if one.name == "received_events")
        assert applied.kind == "CONSUMER"
        assert applied.attributes["crm_sync.outcome"] == "APPLIED"
        for one in after(applied):
            if one.name in ("orders", "assignments"):
                read += 1
                assert [call.attributes["url.path"] for call in after(one) if call.name == "GET"]
            else:
                assert (one.name, one.kind) == ("POST", "CLIENT")
                posted.append(f"00-{one.trace}-{one.id}-01")
        mine = [one for one in spans if one.trace == callback.trace and one.name != "outgoing"]
        assert {one.parent for one in mine if one is not callback} <= known.keys()
    assert read
    assert sorted(posted) == sorted(headers["traceparent"] for _, headers, _ in receiver.came)
    assert posted
    by_process = {one.resource["service.instance.id"]: one.kind for one in spans}
    assert len(by_process) >= 2
    assert "Traceback" not in "".join(one.read_text() for one in installation.folder.glob("*.log"))
