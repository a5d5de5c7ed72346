"""Load on a server from another process: wrk where there is one, else a client of our own."""

import http.client
import json
import multiprocessing
import re
import shutil
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

CONNECTIONS = 16


@dataclass(frozen=True)
class Call:
    """The request that is repeated."""

    method: str
    host: str
    port: int
    path: str
    token: str
    body: str = ""


def tool() -> str:
    """What makes the load, for the report."""
    return "wrk" if shutil.which("wrk") else "http.client in a process of its own"


def requests_per_second(call: Call, seconds: float) -> float:
    """How many answers a second; raises RuntimeError when one of them was no 2xx."""
    return _by_wrk(call, seconds) if shutil.which("wrk") else _by_process(call, seconds)


def _by_wrk(call: Call, seconds: float) -> float:
    lines = (
        f"wrk.method = {json.dumps(call.method)}",
        f'wrk.headers["Authorization"] = {json.dumps(f"Bearer {call.token}")}',
        f"wrk.body = {json.dumps(call.body)}",
    )
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        Path(script.name).write_text("\n".join(lines), encoding="utf-8")
        url = f"http://{call.host}:{call.port}{call.path}"
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds:g}s", "-s", script.name, url]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in printed or "Socket errors" in printed:
        raise RuntimeError(printed)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", printed)[1])


def _by_process(call: Call, seconds: float) -> float:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_call_for, args=(call, seconds, sender))
    process.start()
    sender.close()  # ours; so that a process that dies is an EOFError here, not a wait for ever
    answered = receiver.recv()
    process.join()
    if answered < 0:
        raise RuntimeError("an answer was no 2xx")
    return answered / seconds


def _call_for(call: Call, seconds: float, sender) -> None:
    counts: list[int] = []
    limit = time.monotonic() + seconds
    threads = [
        threading.Thread(target=lambda: counts.append(_count(call, limit)))
        for _ in range(CONNECTIONS)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    sender.send(-1 if min(counts) < 0 else sum(counts))


def _count(call: Call, limit: float) -> int:
    """How many answers came before the limit; -1 when one was no 2xx."""
    connection = http.client.HTTPConnection(call.host, call.port, timeout=30)
    headers = {"Authorization": f"Bearer {call.token}"}
    answered = 0
    while time.monotonic() < limit:
        connection.request(call.method, call.path, call.body or None, headers)
        response = connection.getresponse()
        response.read()
        if not 200 <= response.status < 300:
            return -1
        answered += 1
    connection.close()
    return answered
