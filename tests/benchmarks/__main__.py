"""Run the benchmarks that are named, or all that are quick, and print each figure as it comes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from types import ModuleType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tests.benchmarks import (
    claims,
    drain,
    events,
    feeds,
    imports,
    lists,
    many,
    pages,
    sandbox,
    sizes,
    tick,
)
from tests.benchmarks.figures import Figure

BENCHMARKS: tuple[ModuleType, ...] = (sandbox, tick, claims, many, drain, events, imports)
BY_NAME: tuple[ModuleType, ...] = (feeds, lists, pages, sizes)  # too long for all of them together
LIMIT = 600  # seconds, for all of them


def main(names: list[str]) -> int:
    """0 when every figure reaches what it must, 1 when one does not, 2 for an unknown name."""
    known = {one.NAME: one for one in (*BENCHMARKS, *BY_NAME)}
    if unknown := [name for name in names if name not in known]:
        print(f"no benchmark {unknown[0]}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    began = time.monotonic()
    met = True
    for name in names or [one.NAME for one in BENCHMARKS]:
        print(name, flush=True)
        for figure in with_bar(known[name].measure()):
            print(figure.line(), flush=True)
            met = met and figure.is_met
    if not names:
        whole = Figure("all of this took", time.monotonic() - began, "s", below=LIMIT)
        print(whole.line())
        met = met and whole.is_met
    return 0 if met else 1


def with_bar(figures: Iterable[Figure]) -> Iterator[Figure]:
    """Yield them, and on a terminal show a bar while the next one is measured."""
    console = Console()
    columns = (TextColumn("  {task.description}"), BarColumn(), TimeElapsedColumn())
    shown = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with shown:
        task = shown.add_task("measuring", total=None)
        for figure in figures:
            yield figure
            shown.reset(task)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
