"""The callback endpoint beside a bare DRF view that does one INSERT, and applying the events."""

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit
from urllib.request import urlopen

import psycopg

from lab.benchmarks.databases import databases
from lab.benchmarks.drain import stream
from lab.benchmarks.figures import Figure, skipped
from lab.benchmarks.sandbox import ROOT
from tests.journeys.callers import SECRET
from tests.processes import free_port

NAME = "events"
APPLY = "lab.benchmarks.events_apply"
ROUNDS, SECONDS, CONNECTIONS = 7, 1.0, 16  # many and short: a machine is not alike for long
LEAST = 0.80  # of the bare view
BACKLOGS = (1_000, 10_000, 100_000)
APPLIED_LEAST = 600
STORED = {10_000: 3, 100_000: 3, 1_000_000: ROUNDS}  # and how often both are called then
LEAST_OF_FEW = {1_000_000: 0.85}
SERVER = ("--config", "config/gunicorn.py", "--workers", "2", "--log-level", "error")
BARE = "create table bare (id bigserial primary key, body bytea not null)"
# A body like no other for each request: the same one again would be a duplicate.
SCRIPT = """
local n = 0
local head = {["Content-Type"] = "application/json", ["X-API-Key"] = "%s"}
local body = '{"event":"ORDER_STATUS_UPDATED","occurredAt":"2026-01-31T10:00:00Z","orderId":"%s-'
local tail = '","previousStatus":"PLACED","newStatus":"IN_PROGRESS"}'
request = function()
  n = n + 1
  return wrk.format("POST", nil, head, body .. n .. tail)
end
"""
INDEXES = """
select indexname, indexdef from pg_indexes
where tablename = 'crm_sync_receivedevent' and indexname <> 'crm_sync_receivedevent_pkey'
"""
FILL = """
insert into crm_sync_receivedevent (workspace_id, digest, canonical_digest, body, headers, method,
    source, state, kind, order_platform_id, occurred_at, received_at, applied_at, repeats, effect,
    cause, attempts)
select workspace.id, md5('a' || n) || md5('b' || n), md5('c' || n) || md5('d' || n),
    convert_to(repeat('x', 140) || n, 'UTF8'),
    '{"Content-Type": "application/json"}', 'POST', 'CALLBACK', 'APPLIED', 'ORDER_STATUS_UPDATED',
    'B-' || n % 100000, now(), now() - n * interval '1 second', now(), 0, 'as before', '', 0
from crm_sync_workspace workspace, generate_series(1, %s) as n where workspace.slug = 'main'
"""


def measure() -> Iterator[Figure]:
    """Call both in turn on PostgreSQL, with few and with many stored; apply events on each."""
    if shutil.which("wrk") is None:
        skipped("callbacks stored", "there is no wrk")
    for database, url in databases():
        with tempfile.TemporaryDirectory() as folder:
            address = prepared(folder, url)
            for one in stream(APPLY, *map(str, BACKLOGS), folder=folder, database_url=url):
                what = f"{database}, events applied of {one['backlog']:,} that wait"
                yield Figure(what, one["a second"], "a second", at_least=APPLIED_LEAST)
            if database == "PostgreSQL":
                yield from _measured(folder, url, address)


def _measured(folder: str, url: str, address: str) -> Iterator[Figure]:
    with psycopg.connect(_plain(url), autocommit=True) as connection:
        connection.execute(BARE)
        with serving(folder, url, address) as (ours, beside):
            few = 0.0
            if shutil.which("wrk"):
                rounds = alternated(ours, beside, ROUNDS)
                top = median(one for one, _ in rounds)
                yield Figure("callbacks stored, two web workers, by wrk", top, "a second")
                beneath = median(two for _, two in rounds)
                yield Figure("by a bare DRF view, one INSERT", beneath, "a second")
                few = _ratio(rounds)
                yield Figure("ratio", few, "of bare", at_least=LEAST, digits=2)
                p99 = paced(ours, top / 2)
                yield Figure("p99 at half of that rate", 1000 * p99, "ms", below=100)
            first = applied(folder, url)
            for stored, times in STORED.items():
                fill(connection, stored)
                what, least = f"with {stored:,} received events more", LEAST_OF_FEW.get(stored)
                if few:
                    ratio = _ratio(alternated(ours, beside, times)) / few
                    yield Figure(f"{what}: stored", ratio, "of before", at_least=least, digits=2)
            rate = applied(folder, url) / first
            yield Figure(f"{what}: applied", rate, "of before", digits=2)


def alternated(ours: str, beside: str, times: int) -> list[tuple[float, float]]:
    """Call both in turn; answers a second of each."""
    return [(load(ours), load(beside)) for _ in range(times)]


def _ratio(rounds: list[tuple[float, float]]) -> float:
    return median(one / two for one, two in rounds)


def fill(connection: psycopg.Connection, count: int) -> None:
    """Store so many settled received events, and the indexes over all of them once at the end."""
    indexes = connection.execute(INDEXES).fetchall()
    connection.execute("set session_replication_role = replica")  # nobody checks the foreign keys
    for name, _ in indexes:
        connection.execute(f'drop index "{name}"')
    connection.execute(FILL.replace("%s", str(count)))
    for _, definition in indexes:
        connection.execute(definition)
    connection.execute("vacuum analyze")
    connection.execute("checkpoint")  # what was filled in does not write on beside us


def prepared(folder: str, url: str) -> str:
    """Make a workspace; its callback address, of which `serving` sets the port."""
    environment = _environment(folder, url)
    command = [sys.executable, "-m", "tests.journeys.hook"]
    made = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    return urlsplit(made.stdout.decode().split()[-1]).path


def _environment(folder: str, url: str) -> dict[str, str]:
    return os.environ | {
        "DATA_DIR": folder,
        "DATABASE_URL": url,
        "PLATFORM_TOKEN": "bench",
        "LOG_LEVEL": "ERROR",
        "PYTHONPATH": str(ROOT),
    }


@contextmanager
def serving(folder: str, url: str, address: str) -> Iterator[tuple[str, str]]:
    """Our web and the bare one, both with the same options: the addresses to call."""
    ports = (free_port(), free_port())
    environment = _environment(folder, url)
    applications = ("config.wsgi:application", "lab.benchmarks.bare:application")
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "gunicorn", name, "--bind", f"127.0.0.1:{port}", *SERVER],
            cwd=ROOT,
            env=environment,
        )
        for name, port in zip(applications, ports, strict=True)
    ]
    try:
        wait_for(f"http://127.0.0.1:{ports[0]}/healthz")
        wait_for(f"http://127.0.0.1:{ports[1]}/")
        yield f"http://127.0.0.1:{ports[0]}{address}", f"http://127.0.0.1:{ports[1]}/bare/"
    finally:
        for one in processes:
            one.terminate()
        for one in processes:
            one.wait(timeout=60)


def wait_for(url: str) -> None:
    limit = time.monotonic() + 60
    while True:
        try:
            urlopen(url, timeout=5).close()
            return
        except OSError:
            if time.monotonic() > limit:
                raise
            time.sleep(0.1)


def load(url: str) -> float:
    """Call as fast as it answers; answers a second."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        Path(script.name).write_text(SCRIPT % (SECRET, secrets.token_hex(8)), encoding="utf-8")
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS:g}s", "-s", script.name, url]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in printed or "Socket errors" in printed:
        raise RuntimeError(printed)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", printed)[1])


def paced(url: str, a_second: float) -> float:
    """Call at this rate whatever is answered, by another process; the p99 in seconds."""
    command = [sys.executable, "-m", "lab.benchmarks.paced", url, str(a_second)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return float(json.loads(done.stdout)["p99"])


def applied(folder: str, url: str) -> float:
    """How many events one process applies a second, of a few that wait."""
    backlogs = [str(BACKLOGS[0])] * 3
    found = stream(APPLY, *backlogs, folder=folder, database_url=url)
    return median(one["a second"] for one in found)


def _plain(url: str) -> str:
    return url.replace("postgres://", "postgresql://")
