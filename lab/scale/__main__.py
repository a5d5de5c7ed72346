"""The whole installation under load, as processes, and what it came to.

python -m lab.scale [--short] [--only SCENE]…     (make scale)

0 when all of it held, 1 when something did not, 2 for wrong usage. It stops by itself: every step
has a bound.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from lab.runs import Result, play
from lab.scale import brokerless, embedded, production
from lab.scale.size import FULL, SHORT, Size
from tests.postgresql import URL, is_there

DATABASE = f"scale_{os.getpid()}"
Scene = Callable[[Path, str, Size, Result], None]
SCENES: dict[str, tuple[Scene, bool]] = {
    "brokerless": (brokerless.run, False),
    "embedded": (embedded.run, False),
    "production": (production.run, True),
}


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nothing of it runs on
    size = SHORT if options.short else FULL
    held = True
    for name in options.only or SCENES:
        held = _played(name, size) and held
    return 0 if held else 1


def _played(name: str, size: Size) -> bool:
    scene, is_production = SCENES[name]
    if is_production and not _has_servers():
        return os.environ.get("CI") != "true"
    folder = Path(tempfile.mkdtemp(prefix=f"crm-sync-scale-{name}-"))
    with _database(folder, on_server=is_production) as url:
        held = play(name, folder, lambda result: scene(folder, url, size, result))
    print(flush=True)
    return held


def _has_servers() -> bool:
    if shutil.which("redis-server") is None:
        print("skipped: there is no redis-server")
        return False
    return is_there()


@contextmanager
def _database(folder: Path, *, on_server: bool) -> Iterator[str]:
    """Make an empty database for as long as it is needed; its URL."""
    if not on_server:
        yield f"sqlite:///{folder / 'db.sqlite3'}"
        return
    server = URL.rpartition("/")[0]
    address = f"{URL.replace('postgres://', 'postgresql://')}"
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute(f"drop database if exists {DATABASE} with (force)")
        admin.execute(f"create database {DATABASE}")
        try:
            yield f"{server}/{DATABASE}"
        finally:
            admin.execute(f"drop database if exists {DATABASE} with (force)")


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.scale", description=__doc__)
    parser.add_argument("--short", action="store_true", help="few rows, every trouble once")
    parser.add_argument("--only", action="append", choices=list(SCENES))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
