"""Feeds: records a second, processor, memory; when all is new, nothing changes, or all does."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from psycopg.types.string import TextLoader

from lab.benchmarks.databases import databases
from lab.benchmarks.figures import Figure
from tests.journeys.rows import connect, is_sqlite

NAME = "imports"
ROOT = Path(__file__).parents[2]
SIZES = (5_000, 25_000)  # `large` has 500,000
OUTCOMES = ("new", "unchanged", "changed")
RAISED = 50  # of each price, in the feed that changes all properties
TOLD = 2  # times as long, for a feed that is the same as the last one, as for one record
PEAK = 300  # MiB, of whichever process needs most
BARE, ROUNDS = 10_000, 3  # of the imported rows, and how often they are stored bare
AT_LEAST = {  # of the rate of bare INSERTs
    ("SQLite", "new"): 0.01,
    ("SQLite", "unchanged"): 0.02,
    ("SQLite", "changed"): 0.005,
    ("PostgreSQL", "new"): 0.05,
    ("PostgreSQL", "unchanged"): 0.1,
    ("PostgreSQL", "changed"): 0.02,
}
STEEPEST = 1.5  # times as long for each record of the larger feed as for one of the smaller
FLAGS = (
    *("hasBalcony", "hasElevator", "hasParking", "hasCableTv", "hasFiberOptic", "hasGarage"),
    *("arePetsAllowed", "isWheelchairAccessible", "isChildFriendly", "hasDishwasher"),
)
WORKSPACES = (
    "from crm_sync.models import Workspace;"
    "[Workspace.objects.create(slug=f'main-{n}', base_url='http://platform.test') for n in %s]"
)


@dataclass(frozen=True)
class Run:
    """A command of ours by itself: seconds, those of the processor, peak in MiB, last line."""

    seconds: float
    processor: float
    peak: float
    printed: str


def measure() -> Iterator[Figure]:
    """Import feeds of growing sizes three times, by the real command, on each database there is."""
    with tempfile.TemporaryDirectory() as folder:
        for size in (1, *SIZES):
            for raised in (0, RAISED):
                write_feed(feed_of(folder, size, raised), size, raised)
        for database, url in databases():
            environment = installed(Path(folder) / database, url, (1, *SIZES))
            start = imported(Path(folder), environment, 1, "new")
            yield Figure(f"{database}: a command with one record", start.seconds, "s", digits=1)
            rates: dict[str, float] = {}
            for outcome in OUTCOMES:
                runs = (
                    (size, imported(Path(folder), environment, size, outcome)) for size in SIZES
                )
                for figure in _curve(f"{database}, {outcome}", start, runs):
                    yield figure
                    if figure.unit == "a second":
                        rates[outcome] = figure.value  # of the largest feed in the end
            stored = bare(environment["DATABASE_URL"])
            yield Figure(f"{database}, {BARE:,} of these rows: bare INSERTs", stored, "a second")
            for outcome, rate in rates.items():
                yield of_bare(database, outcome, rate, stored)
            yield _told(Path(folder), environment, database, start)


def of_bare(database: str, outcome: str, rate: float, stored: float) -> Figure:
    """Judge the rate of an import by that of bare INSERTs of its rows, both a second."""
    least, what = AT_LEAST[database, outcome], f"{database}, {outcome}: ratio"
    return Figure(what, rate / stored, "of bare", at_least=least, digits=3)


def bare(url: str) -> float:
    """Store some of the imported rows once more, in a table without indexes; rows a second.

    All of them in one transaction, as lists of values, with nothing of Django or of ours.
    """
    with closing(connect(url)) as connection:
        if not is_sqlite(url):
            connection.adapters.register_loader("jsonb", TextLoader)
        table = "properties_property"
        some = f"select * from {table} order by id desc limit {BARE}"
        rows = connection.execute(some).fetchall()
        connection.execute(f"create table bare as select * from {table} where 1 = 0")
        mark = "?" if is_sqlite(url) else "%s"
        statement = f"insert into bare values ({', '.join([mark] * len(rows[0]))})"
        took = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            connection.execute("begin")
            connection.cursor().executemany(statement, rows)
            connection.execute("commit")
            took.append(time.perf_counter() - began)
        connection.execute("drop table bare")
    return len(rows) / median(took)


def _curve(what: str, start: Run, runs: Iterator[tuple[int, Run]]) -> Iterator[Figure]:
    """Tell of each size; what a command needs to start is left out, and was measured by itself."""
    costs: dict[int, float] = {}
    for size, run in runs:
        costs[size] = (run.processor - start.processor) / size * 1e6
        # Of a small feed the start is nearly all, and no two are alike.
        seconds = max(run.seconds - start.seconds, run.seconds / 10)
        yield Figure(f"{what}: {size:,} records", size / seconds, "a second")
        yield Figure("  processor, all processes", costs[size], "µs a record")
        yield Figure("  peak memory", run.peak, "MiB", below=PEAK)
    (before, small), (last, large) = list(costs.items())[-2:]
    growth = Figure(
        f"  processor for one of {last:,}",
        large / small,
        f"of one of {before:,}",
        below=STEEPEST,
        digits=2,
    )
    yield growth


def _told(folder: Path, environment: dict[str, str], database: str, start: Run) -> Figure:
    """Import the largest feed once more: its digest is that of the last one."""
    size = SIZES[-1]
    last = feed_of(folder, size, RAISED)
    run = timed(environment, "import_properties", f"main-{size}", str(last))
    if "nothing has changed" not in run.printed:
        raise RuntimeError(run.printed)
    what, ratio = f"{database}, the same feed: {size:,} records", run.seconds / start.seconds
    return Figure(what, ratio, "of one record", below=TOLD, digits=2)


def imported(folder: Path, environment: dict[str, str], size: int, outcome: str) -> Run:
    """Import the feed of this size by the real command; every record must have this outcome."""
    name = feed_of(folder, size, RAISED if outcome == "changed" else 0)
    run = timed(environment, "import_properties", f"main-{size}", str(name), "--force")
    if f"{size} {outcome}" not in run.printed:
        raise RuntimeError(run.printed)
    return run


def timed(environment: dict[str, str], *command: str) -> Run:
    """Run a command of ours; the processes that it starts count with it."""
    done = subprocess.run(
        [sys.executable, "-m", "lab.benchmarks.usage", sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stdout)
    *printed, used = done.stdout.splitlines()
    seconds, processor, peak = json.loads(used)
    return Run(seconds, processor, peak, printed[-1] if printed else "")


def installed(folder: Path, url: str, sizes: tuple[int, ...]) -> dict[str, str]:
    """Prepare an installation, with a workspace for each size."""
    folder.mkdir()
    environment = os.environ | {
        "DATA_DIR": str(folder),
        "DATABASE_URL": url,
        "TMPDIR": str(folder),
    }
    timed(environment, "shell", "--verbosity", "0", "--command", WORKSPACES % (sizes,))
    return environment


def feed_of(folder: Path | str, size: int, raised: int = 0) -> Path:
    """Return where the feed is that `imported` reads."""
    return Path(folder) / f"{size}+{raised}.json"


def write_feed(path: Path, size: int, raised: int = 0) -> None:
    """A feed of many records of some 40 fields and a text, one a line; all prices are raised."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"properties": [\n')
        for number in range(size):
            file.write(
                ",\n" * bool(number) + json.dumps(record(number, raised), ensure_ascii=False)
            )
        file.write("]}")


def record(number: int, raised: int = 0) -> dict:
    gross = 1200 + number % 3000 + raised
    rent = {"gross": gross, "net": gross - 200, "interval": "month", "referring": "all"}
    buy = {"price": 400_000 + number + raised, "referring": "all"}
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
