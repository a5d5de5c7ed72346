"""The sandbox: requests a second, and the memory that many properties take."""

import copy
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from lab.benchmarks.figures import Figure
from lab.benchmarks.load import Call, requests_per_second, tool
from sandbox.interface.property_fields import CHARACTERISTICS
from sandbox.state.saving import save
from sandbox.state.workspace import Workspace

NAME = "sandbox"
ROOT = Path(__file__).parents[2]
SECONDS = 5.0
MANY = 100_000
GIB = 1024  # MiB
TOKEN = "bench"
FEATURES = CHARACTERISTICS.split()[:20]
ONE = "/v1/real-estate-properties/201"
CHANGE = '{"title": "Measured", "numberOfRooms": 4.5, "prices": {"rent": {"net": 1450}}}'


def measure() -> Iterator[Figure]:
    """Start a sandbox with few properties and one with many, and put load on them."""
    with running() as (host, port, _):
        patch = requests_per_second(Call("PATCH", host, port, ONE, TOKEN, CHANGE), SECONDS)
        yield Figure(f"property PATCHes, by {tool()}", patch, "a second", at_least=1000)
        get = requests_per_second(Call("GET", host, port, ONE, TOKEN), SECONDS)
        yield Figure(f"property GETs, by {tool()}", get, "a second")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.json"
        size = write_many(path)
        with running("--state", str(path)) as (host, port, process):
            change(host, port)
            wait_until_saved(path)
            patch = requests_per_second(Call("PATCH", host, port, ONE, TOKEN, CHANGE), SECONDS)
            what = f"{MANY:,} properties, {size:,} MB of JSON: "
            yield Figure(f"{what}peak memory", peak(process.pid), "MiB", below=GIB)
            yield Figure(f"{what}PATCHes, saving", patch, "a second")


@contextmanager
def running(*options: str) -> Iterator[tuple[str, int, subprocess.Popen[str]]]:
    """A sandbox on a free port: its host, its port and its process."""
    command = [sys.executable, "-m", "sandbox", "--port", "0", "--token", TOKEN, *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        address = urlsplit(process.stdout.readline().split()[1])
        urlopen(f"http://{address.netloc}/_sandbox/faults", timeout=60).close()
        yield address.hostname, address.port, process
    finally:
        process.terminate()
        process.wait(timeout=30)


def write_many(path: Path, many: int = MANY) -> int:
    """A state file with many properties of some 40 fields and a text; its size in MB."""
    state = Workspace.seeded().to_json()
    seeds = list(state["properties"].values())
    for number in range(many):
        key = str(10_000 + number)
        one = copy.deepcopy(seeds[number % 2])
        one |= {"id": key, "objectReferenceId": f"BENCH-{number}", "title": f"Property {number}"}
        one["address"] |= {"street": f"Street {number}", "streetNumber": str(number % 300)}
        one["localizations"] = [{"languageCode": "en", "description": f"{number} " + "words " * 80}]
        one["characteristics"] |= dict.fromkeys(FEATURES, "APPLIES")
        state["properties"][key] = one
    save(state, path)
    return path.stat().st_size // 1_000_000


def change(host: str, port: int) -> None:
    request = Request(
        f"http://{host}:{port}{ONE}",
        data=json.dumps({"title": "Seen on disk"}).encode(),
        headers={"Authorization": f"Bearer {TOKEN}"},
        method="PATCH",
    )
    urlopen(request, timeout=60).close()


def wait_until_saved(path: Path) -> None:
    limit = time.monotonic() + 120
    while b"Seen on disk" not in path.read_bytes()[:5_000]:
        if time.monotonic() > limit:
            raise RuntimeError("the state was not saved")
        time.sleep(0.5)


def peak(pid: int) -> float:
    """The largest resident size that a process and its workers had, in MiB."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    sizes = []
    for one in (str(pid), *children):
        for line in Path(f"/proc/{one}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                sizes.append(int(line.split()[1]) / 1024)
    return max(sizes)
