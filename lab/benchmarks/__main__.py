"""Run the benchmarks that are named, or all that are quick, and print each figure as it comes."""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from types import ModuleType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from lab.benchmarks import (
    claims,
    drain,
    events,
    feeds,
    hanging,
    imports,
    large,
    latency,
    many,
    page,
    pages,
    rendering,
    sandbox,
    sizes,
    tenth,
    tick,
)
from lab.benchmarks.figures import Figure
from lab.benchmarks.page_figures import OfPages

BENCHMARKS: tuple[ModuleType, ...] = (
    sandbox,
    tick,
    claims,
    many,
    drain,
    hanging,
    events,
    imports,
    latency,
)
BY_NAME: tuple[ModuleType | OfPages, ...] = (
    OfPages("changes"),
    feeds,
    OfPages("finding"),
    large,
    OfPages("lists", ", orders"),
    pages,
    rendering,
    sizes,
    tenth,
)  # too long for all of them together
LIMIT = 600  # seconds, for all of them


def main(arguments: list[str]) -> int:
    """0 when every figure reaches what it must, 1 when one does not, 2 for an unknown name."""
    known = {one.NAME: one for one in (*BENCHMARKS, *BY_NAME)}
    parser = argparse.ArgumentParser(prog="python -m lab.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md too")
    asked = parser.parse_args(arguments)
    if unknown := [name for name in asked.names if name not in known]:
        parser.error(f"no benchmark {unknown[0]}; there are: {', '.join(known)}")
    began = time.monotonic()
    met = True
    measured = page.machine()
    for name in asked.names or [one.NAME for one in BENCHMARKS]:
        print(name, flush=True)
        figures, started = [], time.monotonic()
        for figure in with_bar(known[name].measure()):
            print(figure.line(), flush=True)
            figures.append(figure)
        print(Figure("this part took", time.monotonic() - started, "s").line(), flush=True)
        met = met and all(figure.is_met for figure in figures)
        if asked.write and figures:
            text = page.with_section(page.PAGE.read_text(), name, figures, measured)
            page.PAGE.write_text(text)
    if not asked.names:
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
