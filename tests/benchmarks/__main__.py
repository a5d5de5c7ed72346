"""Run the benchmarks that are named, or all, and print a table for each."""

from __future__ import annotations

import sys
from types import ModuleType

from tests.benchmarks import drain, events, imports, sandbox, tick
from tests.benchmarks.figures import table

BENCHMARKS: tuple[ModuleType, ...] = (sandbox, drain, events, tick, imports)


def main(names: list[str]) -> int:
    """0 when every figure reaches what it must, 1 when one does not, 2 for an unknown name."""
    known = {one.NAME: one for one in BENCHMARKS}
    if unknown := [name for name in names if name not in known]:
        print(f"no benchmark {unknown[0]}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    met = True
    for name in names or known:
        figures = known[name].measure()
        print(f"{name}\n{table(figures)}", flush=True)
        met = met and all(one.is_met for one in figures)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
