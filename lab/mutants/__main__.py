"""Plant each bug of the table in a copy of the tree, and see the tests fail.

python -m lab.mutants [--database SQLite|PostgreSQL] [--only WORDS] [--seed N]
                      [--sample N [--choice N]]
                      [--world SEEDS [--within FOLDER] [--bounds NAMES] [--claimed all|bounds]]

`--sample 40` plants forty of them, others in each run; `--choice` repeats one. With `--world`, no
test runs but so many seeds of `lab.world`, or some of its bounds, and how many bugs these see is
told by folder. With `--claimed all` a bug that one bound sees is tried with this bound alone.
0 when every bug is seen, 1 when one survives or nothing is proved, 2 for wrong usage. With --world
only a bug that it claims to see has to be seen.
"""

import argparse
import compileall
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from py_compile import PycInvalidationMode
from queue import SimpleQueue

from lab.mutants.places import find
from lab.mutants.table import CLAIMED, MUTANTS, POSTGRESQL, SQLITE, Mutant
from lab.world.cores import pin
from tests.databases import migrated_image
from tests.postgresql import URL, is_there

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = (".venv", ".git", "var", ".hypothesis", "__pycache__", ".*_cache", "node_modules")
AT_ONCE = 2
LIMIT = 300  # seconds for the tests of one mutant
LIMIT_OF_ALL = 1200  # seconds for the tests of all of them, with nothing planted
BROKEN = re.compile(r"\b(NameError|ImportError|SyntaxError|IndentationError)\b")
EXAMPLES = "150"  # of the state machine; a run that sees the bug ends at once


@dataclass(frozen=True)
class Run:
    """What came of one selection of tests: the names of those that failed."""

    code: int
    failed: tuple[str, ...]
    seconds: float
    output: str


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    chosen = [
        mutant
        for mutant in MUTANTS
        if options.only.lower() in mutant.name.lower()
        and mutant.within.startswith(options.within)
        and (mutant.name in CLAIMED or not options.claimed)
        and (CLAIMED.get(mutant.name) or options.claimed != "bounds")
    ]
    databases = [options.database] if options.database else [SQLITE, POSTGRESQL]
    if POSTGRESQL in databases and not is_there():
        databases.remove(POSTGRESQL)
    if not chosen or not databases:
        print("nothing to plant", file=sys.stderr)
        return 2
    if options.sample and options.sample < len(chosen):
        print(f"{options.sample} of {len(chosen)}, by --choice {options.choice}", flush=True)
        chosen = random.Random(options.choice).sample(chosen, options.sample)
    if options.world:
        return _world(chosen, options)
    with _trees() as trees, ThreadPoolExecutor(AT_ONCE) as pool:
        work = list(_work(chosen, databases))
        blind = list(pool.map(lambda one: _judge(*one, trees, options.seed), work))
    print(f"{len(blind) - sum(blind)} of {len(blind)} seen")
    return 1 if any(blind) else 0


@contextmanager
def _trees() -> Iterator["SimpleQueue[Path]"]:
    """Yield copies of the tree, one for each run at a time."""
    with tempfile.TemporaryDirectory() as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for n in range(AT_ONCE):
            tree = Path(folder) / f"tree-{n}"
            shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
            if (image := migrated_image()).exists():  # a bug in a model has another one
                copy = tree / image.relative_to(ROOT)
                copy.parent.mkdir(parents=True)
                shutil.copy(image, copy)
            # Valid for the very text: a planted file is compiled anew, and no other.
            compileall.compile_dir(
                tree, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH
            )
            trees.put(tree)
        yield trees


def _world(chosen: list[Mutant], options: argparse.Namespace) -> int:
    """Let the world play with each bug, and tell how many it sees; 1 if it claims one it misses."""
    numbers = count()

    # What a thread of the pool starts stays on the core of that thread.
    pool = ThreadPoolExecutor(AT_ONCE, initializer=lambda: pin(next(numbers)))
    with _trees() as trees, pool:
        seen = list(pool.map(lambda one: _in_the_world(one, options, trees), chosen))
    counts: dict[str, list[bool]] = {}
    for mutant, is_seen in zip(chosen, seen, strict=True):
        counts.setdefault("/".join(Path(mutant.within).parts[:2]), []).append(is_seen)
    for folder, found in sorted(counts.items()):
        print(f"{folder}: {sum(found)} of {len(found)}")
    print(f"{sum(seen)} of {len(seen)} seen by {options.world} seeds")
    missed = [mutant.name for mutant, is_seen in zip(chosen, seen, strict=True) if not is_seen]
    missed = [name for name in missed if name in CLAIMED]
    for name in missed:
        print(f"claimed, and not seen: {name}", file=sys.stderr)
    return 1 if missed else 0


def _in_the_world(mutant: Mutant, options: argparse.Namespace, trees: "SimpleQueue[Path]") -> bool:
    words = ["-m", "lab.world", "--seeds", str(options.world), "--at-once", "1"]
    if bounds := options.bounds or (options.claimed and CLAIMED[mutant.name]):
        words += ["--bounds", bounds]
    command = [sys.executable, *words, "--shorten", "0", "--to-the-first"]
    tree = trees.get()
    try:
        with _with(mutant, tree):
            run = _ran(command, tree, os.environ | {"DATA_DIR": f"{tree}/var"}, LIMIT_OF_ALL)
    finally:
        trees.put(tree)
    played = re.findall(r"^seed (\d+): (\w+)", run.output, re.MULTILINE)
    wrong = re.search(r"WRONG: (.*)", run.output)
    is_seen = run.code == 1 and wrong is not None and not BROKEN.search(run.output)
    word = "seen" if is_seen else "NOT" if run.code == 0 else "BROKEN"
    bound = ["faults", *re.findall(r"bound: (\w+)", run.output)][-1]
    by = f"after {len(played)} seeds, by {bound}: {wrong[1][:100]}" if wrong else ""
    print(f"{word:6} {run.seconds:4.0f} s  {mutant.name}: {by}", flush=True)
    return is_seen


def _work(chosen: list[Mutant], databases: list[str]) -> Iterator[tuple[Mutant | None, str, str]]:
    """Yield what to plant, the database, and the tests; nothing is planted first: all is green."""
    for database in databases:
        work = [
            (m, test) for m in chosen if database in m.databases for test in _tests(m, database)
        ]
        yield None, database, " ".join(sorted({test for _, test in work}))
        for mutant, test in work:
            yield mutant, database, test


def _tests(mutant: Mutant, database: str) -> tuple[str, ...]:
    """Return what has to see it: each test on SQLite, the first, which is directed, on both."""
    return mutant.tests if database == SQLITE else mutant.tests[:1]


def _judge(
    mutant: Mutant | None, database: str, tests: str, trees: "SimpleQueue[Path]", seed: int
) -> bool:
    """Plant, run, take out again, and say what came of it; True where the tests are blind."""
    tree = trees.get()
    try:
        run = _planted(mutant, database, tests, tree, seed)
    finally:
        trees.put(tree)
    name = mutant.name if mutant else "nothing planted"
    wanted = 1 if mutant else 0
    # A bug that cannot even run proves nothing.
    blind = run.code != wanted or bool(mutant and BROKEN.search(run.output))
    words = {True: "BLIND" if mutant else "RED", False: "seen" if mutant else "green"}[blind]
    by = run.failed[0] if run.failed else ""
    print(
        f"{words:6} {database:10} {run.seconds:4.0f} s  {name}: {Path(tests).name} {by}", flush=True
    )
    if blind and (run.code or not mutant):
        print(run.output[-3000:], flush=True)
    return blind


def _planted(mutant: Mutant | None, database: str, tests: str, tree: Path, seed: int) -> Run:
    if mutant is None:
        return _run(database, tests, tree, seed, limit=LIMIT_OF_ALL)
    with _with(mutant, tree):
        return _run(database, tests, tree, seed)


@contextmanager
def _with(mutant: Mutant, tree: Path) -> Iterator[None]:
    """Plant a bug in this block."""
    place = find(tree, mutant.within, mutant.function, mutant.old)
    sound = place.file.read_text()
    place.file.write_text(place.changed(mutant.new))
    try:
        yield
    finally:
        place.file.write_text(sound)


def _run(database: str, tests: str, tree: Path, seed: int, limit: int = LIMIT) -> Run:
    environment = os.environ | {"PUSH_EXAMPLES": EXAMPLES, "HUNT": "1", "DATA_DIR": f"{tree}/var"}
    environment.pop("CI", None)  # else hypothesis draws the same examples each time
    environment.pop("DATABASE_URL", None)
    if database == POSTGRESQL:
        name = f"mutants_{os.getpid()}_{tree.name[-1]}"
        environment["DATABASE_URL"] = f"{URL.rpartition('/')[0]}/{name}"
    command = [sys.executable, "-m", "pytest", "--exitfirst", "-q", "-p", "no:cacheprovider"]
    command += ["--tb=line", f"--hypothesis-seed={seed}", *tests.split()]
    return _ran(command, tree, environment, limit)


def _ran(command: list[str], tree: Path, environment: dict[str, str], limit: int) -> Run:
    started = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return Run(-1, (), limit, f"not within {limit} s: {late}")
    failed = tuple(re.findall(r"^(?:FAILED|ERROR) \S*?::(\S+)", done.stdout, re.MULTILINE))
    return Run(done.returncode, failed, time.monotonic() - started, done.stdout + done.stderr)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.mutants", description=__doc__)
    parser.add_argument("--database", choices=[SQLITE, POSTGRESQL])
    parser.add_argument("--only", default="", help="words in the name of a mutant")
    parser.add_argument("--sample", type=int, default=0, help="how many of them, by chance")
    parser.add_argument("--choice", type=int, help="which of them; without it, by chance")
    parser.add_argument("--world", type=int, default=0, metavar="SEEDS", help="let it play")
    parser.add_argument("--within", default="", help="only bugs of this folder")
    parser.add_argument("--bounds", default="", help="with --world: only these of its bounds")
    parser.add_argument(
        "--claimed", choices=["all", "bounds"], help="only what it claims to see, or by one bound"
    )
    parser.add_argument("--seed", type=int, default=0, help="of hypothesis")
    options = parser.parse_args(arguments)
    if options.choice is None:
        options.choice = random.randrange(10_000)
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
