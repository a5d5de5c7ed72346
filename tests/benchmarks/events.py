"""The callback endpoint beside a bare Django view that does one INSERT, and applying the events."""

from __future__ import annotations

import functools
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
from urllib.request import urlopen

import psycopg

from tests.benchmarks.drain import databases, run
from tests.benchmarks.figures import Figure, skipped
from tests.benchmarks.sandbox import ROOT
from tests.journeys.callers import SECRET
from tests.processes import free_port

NAME = "events"
ROUNDS, SECONDS, CONNECTIONS = 9, 2.0, 16  # many and short: a machine is not alike for long
LEAST = 0.92  # of the bare INSERT
APPLIES, APPLIED = 3, 1_000  # how often how many events are applied
BACKLOGS = (APPLIED, 10_000, 100_000)
APPLIED_LEAST = 600
STORED = (10_000, 100_000, 1_000_000)
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
FILL = """
insert into crm_sync_delivery (workspace_id, digest, canonical_digest, body, headers, method,
    source, state, kind, order_platform_id, occurred_at, received_at, applied_at, repeats, effect,
    cause, attempts)
select (select id from crm_sync_workspace), encode(sha256(n::text::bytea), 'hex'),
    encode(sha256(('c' || n)::bytea), 'hex'), convert_to(repeat('x', 240) || n, 'UTF8'),
    '{"Content-Type": "application/json"}', 'POST', 'CALLBACK', 'APPLIED', 'ORDER_STATUS_UPDATED',
    'B-' || n % 100000, now(), now() - n * interval '1 second', now(), 0, 'as before', '', 0
from generate_series(1, %s) as n
on conflict do nothing
"""


def measure() -> Iterator[Figure]:
    """Call both in turn on PostgreSQL, apply events, then both again with many stored."""
    if shutil.which("wrk") is None:
        skipped("callbacks stored", "there is no wrk")
    for database, url in databases():
        if database == "PostgreSQL":
            yield from _measured(url)


def _measured(url: str) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, psycopg.connect(_plain(url)) as connection:
        connection.autocommit = True
        with serving(folder, url) as (ours, beside):
            connection.execute(BARE)
            top = 0.0
            if shutil.which("wrk"):
                rounds = [(load(ours), load(beside)) for _ in range(ROUNDS)]
                top = median(one for one, _ in rounds)
                yield Figure("callbacks stored, two web workers, by wrk", top, "a second")
                yield Figure("bare INSERTs", median(two for _, two in rounds), "a second")
                ratio = median(one / two for one, two in rounds)
                yield Figure("ratio", ratio, "of bare", at_least=LEAST, digits=2)
                p99 = paced(ours, top / 2)
                yield Figure("p99 at half of that rate", 1000 * p99, "ms", below=100)
            few = 0.0
            for backlog in BACKLOGS:
                rate = applied(folder, url, backlog)
                few = few or rate
                what = f"events applied, the last {APPLIED:,} of a backlog of {backlog:,}"
                yield Figure(what, rate, "a second", at_least=APPLIED_LEAST)
            for stored in STORED:
                connection.execute(FILL.replace("%s", str(stored)))
                connection.execute("vacuum analyze")
                connection.execute("checkpoint")  # what was filled in does not write on beside us
                what, least = f"with {stored:,} deliveries more", LEAST_OF_FEW.get(stored)
                if top:
                    rate = median(load(ours) for _ in range(ROUNDS)) / top
                    yield Figure(f"{what}: stored", rate, "of before", at_least=least, digits=2)
                rate = applied(folder, url, APPLIED) / few
                yield Figure(f"{what}: applied", rate, "of before", at_least=least, digits=2)


@contextmanager
def serving(folder: str, url: str) -> Iterator[tuple[str, str]]:
    """Our web and the bare one, both with the same options: the addresses to call."""
    ports = (free_port(), free_port())
    environment = os.environ | {
        "DATA_DIR": folder,
        "DATABASE_URL": url,
        "PUBLIC_BASE_URL": f"http://127.0.0.1:{ports[0]}",
        "PLATFORM_TOKEN": "bench",
        "LOG_LEVEL": "ERROR",
        "PYTHONPATH": str(ROOT),
    }
    migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(migrate, cwd=ROOT, env=environment, check=True)
    command = [sys.executable, "-m", "tests.journeys.hook"]
    made = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True)
    applications = ("config.wsgi:application", "tests.benchmarks.bare:application")
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
        yield made.stdout.decode().split()[-1], f"http://127.0.0.1:{ports[1]}/bare/"
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
    command = [sys.executable, "-m", "tests.benchmarks.paced", url, str(a_second)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return float(json.loads(done.stdout)["p99"])


def applied(folder: str, url: str, backlog: int) -> float:
    """How many events one process applies a second, at the end of a backlog of so many."""
    run_it = functools.partial(run, folder=folder, database_url=url)
    times = APPLIES if backlog == APPLIED else 1
    arguments = (str(backlog), str(APPLIED))
    rates = [run_it("tests.benchmarks.events_apply", *arguments) for _ in range(times)]
    return float(median(one["a second"] for one in rates))


def _plain(url: str) -> str:
    return url.replace("postgres://", "postgresql://")
