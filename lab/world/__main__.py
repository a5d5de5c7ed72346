"""Play seeds of the world.

python -m lab.world [--seeds N | --minutes M] [--first SEED] [--at-once N] [--story] [--json]
                    [--shorten N] [--to-the-first] [--bounds NAMES]             (make world)

A seed that breaks a promise is played again with ever fewer decisions, and the shortest story that
was found is printed. 0 when every promise held, 1 when one was broken, 2 for wrong usage.
"""

import os
import sys

if __name__ == "__main__" and os.environ.get("PYTHONHASHSEED") != "0":
    # The order of a set hangs on it, and so the order of statements.
    words = [sys.executable, "-m", "lab.world", *sys.argv[1:]]
    os.execve(sys.executable, words, os.environ | {"PYTHONHASHSEED": "0"})

os.environ |= {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "CELERY_BROKER_URL": "world://",
    "CALL_DEADLINE": "20",
    "ORDER_READS_A_MINUTE": "600",
    "MATERIALS_DOWNLOAD": "true",
    "MATERIALS_INTERNAL_HOSTS": "sandbox.test,neighbour.test",
    "LOG_LEVEL": "ERROR",
}
os.environ.pop("DATABASE_URL", None)  # the world has a SQLite of its own

from lab.world import runtime

runtime.install()

import argparse  # noqa: E402
import gc  # noqa: E402
import json  # noqa: E402
import tempfile  # noqa: E402
import traceback  # noqa: E402
from dataclasses import asdict  # noqa: E402
from functools import partial  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from lab.world import cores, process  # noqa: E402

SHARED_MEMORY = Path("/dev/shm")
SHORTENS = 8  # plays for the shorter story of one seed


def main(arguments: list[str]) -> int:
    """Play seeds, in as many processes as are wanted."""
    options = _options(arguments)
    place = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as made:
        folder = Path(made)
        os.environ["DATA_DIR"] = str(folder / "data")
        process.prepare()
        from lab.world.bounds.table import NAMES
        from lab.world.template import make_template

        if options.bounds == ["all"]:
            options.bounds = NAMES
        for name in options.bounds:
            if name not in NAMES:
                print(f"{name} is not a bound; there are {', '.join(NAMES)}", file=sys.stderr)
                return 2

        template = make_template(folder)
        gc.collect()
        gc.freeze()
        began = runtime.real.monotonic()
        codes = []
        for number in range(options.at_once):
            pid = os.fork()
            if pid == 0:
                cores.pin(number)
                seeds, code = _Seeds(options, began, number), 1
                try:
                    code = _play(seeds, template, folder, options)
                except Exception:  # noqa: BLE001 - nothing of it may reach the parent's frames
                    traceback.print_exc()
                os._exit(code)
            codes.append(pid)
        return max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in codes)


class _Seeds:
    """The seeds of one of the processes: each of them takes every n-th."""

    def __init__(self, options: argparse.Namespace, began: float, number: int) -> None:
        self.options, self.began, self.number = options, began, number

    def __iter__(self) -> Any:
        options, number = self.options, self.number
        while number < options.seeds or options.minutes:
            passed = runtime.real.monotonic() - self.began
            if options.minutes and passed > 60 * options.minutes:
                return
            yield options.first + number
            number += options.at_once


def _play(seeds: Any, template: Any, folder: Path, options: argparse.Namespace) -> int:
    from lab.world.scene import Scene
    from lab.world.shorter import shorter

    def play(seed: int, off: frozenset[str] = frozenset()) -> Any:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            return Scene(template, seed, Path(place), off, options.bounds).play()

    def judged(seed: int) -> bool:
        began = runtime.real.monotonic()
        verdict = play(seed)
        took = runtime.real.monotonic() - began
        if verdict.wrong:
            verdict = shorter(verdict, partial(play, seed), plays=options.shorten)
        _print(verdict, took, options)
        return not verdict.wrong

    bad = 0
    for seed in seeds:
        bad += not judged(seed)
        if bad and options.to_the_first:
            break
    return 1 if bad else 0


def _print(verdict: Any, took: float, options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(asdict(verdict)), flush=True)
        return
    figures = ", ".join(f"{name} {value:,.0f}" for name, value in verdict.figures.items())
    lines = [f"seed {verdict.seed}: {'wrong' if verdict.wrong else 'ok'}, {took:.1f} s; {figures}"]
    if verdict.wrong or options.story:
        lines += [f"  {at:8.2f} s  {text}" for at, text in verdict.story]
        lines += [f"  WRONG: {text}" for text in verdict.wrong]
    print(*lines, sep="\n", flush=True)


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.world", description=__doc__)
    parser.add_argument(
        "--seeds", type=int, default=20, metavar="N", help="how many, 20 by default"
    )
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="the first one")
    parser.add_argument("--minutes", type=float, default=0.0, metavar="M", help="as many as fit")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="2 by default")
    parser.add_argument("--story", action="store_true", help="print what happened, in any case")
    parser.add_argument("--json", action="store_true", help="one verdict a line")
    parser.add_argument("--to-the-first", action="store_true", help="end at the first wrong one")
    parser.add_argument(
        "--shorten", type=int, default=SHORTENS, metavar="N", help="plays for it; 0: leave it long"
    )
    parser.add_argument(
        "--bounds",
        type=lambda text: text.split(","),
        default=[],
        metavar="NAMES",
        help="try these alone, with a comma between, or all; without faults before them",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
