"""The proofs on both databases, at the size of a commit or of a long run.

python -m tests.chaos [--full] [--only PART]… [--seed N]     (make kills, make chaos)

0 when all of it held, 1 when something did not, 2 for wrong usage. The seeds and figures of each
part stand in a table at the end; `--seed` repeats a run as far as processes can be repeated.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.postgresql import URL, is_there


@dataclass(frozen=True)
class Part:
    """One selection of tests, and what makes it long.

    Attributes:
        full: the counts of a long run.
        beside: both databases at one time. It keeps one core busy, by a clock of its own.
    """

    name: str
    proves: str
    tests: tuple[str, ...]
    full: dict[str, int]
    beside: bool = False


PARTS = (
    Part(
        "kills",
        "I1 to I4, I6, I9, I31",
        (
            "tests/journeys/test_chaos.py",
            "tests/journeys/test_kill.py",
            "tests/journeys/test_placing_kill.py",
        ),
        {
            **{"CHAOS_KILLS": 100, "CHAOS_STOPS": 40},
            **{"CHAOS_PLACING_KILLS": 40, "CHAOS_PLACED_ORDERS": 400},
        },
    ),
    Part("web", "I15, I16", ("tests/journeys/test_web_kill.py",), {"CHAOS_WEB_KILLS": 40}),
    Part("redis", "I12", ("tests/journeys/test_redis_restart.py",), {"CHAOS_REDIS_RESTARTS": 40}),
    Part(
        "storms",
        "I18 to I21, I23, I29 to I31",
        ("tests/orders/test_convergence.py",),
        {"CHAOS_EVENT_ORDERS": 40, "CHAOS_EVENT_MINUTES": 240},
        beside=True,
    ),
    Part(
        "sequences", "I2, I4", ("tests/properties/test_push_machine.py",), {"PUSH_EXAMPLES": 2000}
    ),
    Part(
        "laws",
        "I1, I18",
        ("tests/orders/test_batch_laws.py", "tests/properties/test_leaves.py"),
        {"CHAOS_BATCHES": 1000, "CHAOS_EDITED_LEAVES": 300},
    ),
    Part("creations", "I8", ("tests/properties/test_creation_storm.py",), {"CHAOS_CREATES": 5000}),
    Part("poison", "I10", ("tests/properties/test_poison.py",), {"CHAOS_POISON_ROUNDS": 25}),
    Part("outage", "I11", ("tests/properties/test_outage.py",), {"CHAOS_OUTAGE_ROWS": 5000}),
    Part("pages", "I28", ("tests/properties/test_shifting_pages.py",), {"CHAOS_PAGED": 2000}),
)
Line = tuple[str, str, str, float, str]


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    parts = [part for part in PARTS if part.name in (options.only or [part.name])]
    given = os.environ.get("CHAOS_SEED")
    seed = options.seed or (int(given) if given else random.randrange(1, 1_000_000))
    print(f"seed {seed}", flush=True)
    lines = []
    for part in parts:
        with ThreadPoolExecutor(2 if part.beside else 1) as pool:
            runs = [pool.submit(_run, part, *one, seed, options) for one in _databases()]
        lines += [run.result() for run in runs]
    print()
    for name, database, verdict, seconds, figures in lines:
        print(f"{name:10} {database:10} {verdict:6} {seconds:6.0f} s  {figures}")
    return 0 if all(verdict == "held" for _, _, verdict, _, _ in lines) else 1


def _databases() -> Iterator[tuple[str, str]]:
    yield "SQLite", ""
    if is_there():
        yield "PostgreSQL", URL


def _run(part: Part, database: str, url: str, seed: int, options: argparse.Namespace) -> Line:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures"
        environment = os.environ | {"CHAOS_SEED": str(seed), "CHAOS_FIGURES": str(file)}
        environment |= {name: str(n) for name, n in part.full.items()} if options.full else {}
        environment["HUNT"] = "1"  # a failure is shown as it was found; its seed finds it again
        environment.pop("CI", None)  # else hypothesis draws the same examples each time
        environment.pop("DATABASE_URL", None)
        if url:
            environment["DATABASE_URL"] = url
            # The storms that follow those of the first database.
            following = 1 + int(environment.get("CHAOS_EVENT_SEEDS", "100"))
            environment.setdefault("CHAOS_EVENT_SEED", str(following))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["-m", "chaos or not chaos", f"--hypothesis-seed={seed}", *part.tests]
        print(f"== {part.name} ({part.proves}), {database}", flush=True)
        started = time.monotonic()
        done = subprocess.run(command, env=environment, check=False)
        lines = file.read_text().splitlines() if file.exists() else []
    figures = {name: n for line in lines for name, n in json.loads(line).items() if name != "what"}
    text = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in figures.items())
    verdict = "held" if done.returncode == 0 else "FAILED"
    return part.name, database, verdict, time.monotonic() - started, text


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--full", action="store_true", help="the counts of a long run")
    parser.add_argument("--only", action="append", choices=[part.name for part in PARTS])
    parser.add_argument("--seed", type=int)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
