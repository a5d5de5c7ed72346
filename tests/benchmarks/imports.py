"""Feeds: records a second and memory, for a first import and for one in which nothing changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.drain import databases
from tests.benchmarks.figures import Figure

NAME = "imports"
ROOT = Path(__file__).parents[2]
MANY = 100_000
PEAK = 300  # MiB
FLAGS = (
    *("hasBalcony", "hasElevator", "hasParking", "hasCableTv", "hasFiberOptic", "hasGarage"),
    *("arePetsAllowed", "isWheelchairAccessible", "isChildFriendly", "hasDishwasher"),
)
WORKSPACE = (
    "from crm_sync.models import Workspace;"
    "Workspace.objects.create(slug='main', base_url='http://platform.test')"
)


def measure() -> list[Figure]:
    """Import a feed of many records twice, by the real command, on each database there is."""
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        feed = Path(folder) / "feed.json"
        write_feed(feed)
        for database, url in databases():
            figures += _twice(feed, database, installed(Path(folder) / database, url))
    return figures


def _twice(feed: Path, database: str, environment: dict[str, str]) -> Iterator[Figure]:
    """Import the feed, and import it again."""
    for outcome, at_least in (("new", None), ("unchanged", 2000)):
        seconds, peak, printed = timed(environment, "import_properties", "main", str(feed))
        if f"{MANY} {outcome}" not in printed:
            raise RuntimeError(printed)
        what = f"{MANY:,} records of SwissRETS JSON, {outcome}, {database}"
        yield Figure(what, MANY / seconds, "a second", at_least=at_least)
        yield Figure("  peak memory", peak, "MiB", below=PEAK)


def timed(environment: dict[str, str], *command: str) -> tuple[float, float, str]:
    """Run a command of ours by itself: its seconds, its peak in MiB, its last line."""
    with tempfile.TemporaryFile("w+") as output:
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        printed = output.read()
    if process.returncode:
        raise RuntimeError(printed)
    return seconds, usage.ru_maxrss / 1024, printed.splitlines()[-1] if printed else ""


def installed(folder: Path, url: str) -> dict[str, str]:
    """Prepare an installation with one workspace, on SQLite where `url` is ""; its environment."""
    folder.mkdir()
    environment = os.environ | {
        "DATA_DIR": str(folder),
        "DATABASE_URL": url or f"sqlite:///{folder}/db.sqlite3",
        "TMPDIR": str(folder),
    }
    timed(environment, "migrate", "--verbosity", "0")
    timed(environment, "shell", "--verbosity", "0", "--command", WORKSPACE)
    return environment


def write_feed(path: Path) -> None:
    """A feed of many records of some 40 fields and a text, one a line."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"properties": [\n')
        for number in range(MANY):
            file.write(",\n" * bool(number) + json.dumps(record(number), ensure_ascii=False))
        file.write("]}")


def record(number: int) -> dict:
    gross = 1200 + number % 3000
    rent = {"gross": gross, "net": gross - 200, "interval": "month", "referring": "all"}
    buy = {"price": 400_000 + number, "referring": "all"}
    is_sale = number % 3 == 0
    return {
        "id": str(number),
        "referenceId": f"BENCH-{number}",
        "visualReferenceId": f"B {number}",
        "created": "2026-01-01T00:00:00Z",
        "modified": "2026-05-04T06:00:00Z",
        "type": "buy" if is_sale else "rent",
        "availability": {"state": "active", "start": "2026-09-01T00:00:00Z"},
        "address": {
            "countryCode": "CH",
            "locality": ("Zürich", "Bern", "Winterthur")[number % 3],
            "region": "ZH",
            "postalCode": str(8000 + number % 999),
            "street": f"Street {number}",
            "streetNumber": str(number % 300),
            "geo": {"latitude": 47.3 + number / 1e6, "longitude": 8.5 + number / 1e6},
        },
        "categories": ["apartment"],
        "characteristics": {
            "areaBwf": 50 + number % 100,
            "numberOfRooms": 1 + number % 12 / 2,
            "floor": number % 9,
            "numberOfBathrooms": 1,
            "yearBuilt": 1950 + number % 70,
            "ceilingHeight": 2.4,
            **{flag: "applies" if (number + i) % 2 else "unknown" for i, flag in enumerate(FLAGS)},
        },
        "heating": {"generation": "district", "distribution": "radiator"},
        "prices": {"currency": "CHF", **({"buy": buy} if is_sale else {"rent": rent})},
        "localizations": [
            {
                "languageCode": "de",
                "title": f"Wohnung {number}",
                "excerpt": "Hell und ruhig",
                "description": f"{number} " + "Wort für Wort " * 30,
            }
        ],
        "seller": {
            "organization": {"id": "musterhaus", "legalName": "Musterhaus AG"},
            "contactPerson": {"function": "Vermietung", "email": "vermietung@example.com"},
        },
    }
