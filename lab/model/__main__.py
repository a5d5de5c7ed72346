"""Reckon what an installation needs: python -m lab.model [--workspaces N …] [--json]

`python -m lab.model measure` measures the costs on this machine and writes them into
lab/model/costs.json; `python -m lab.model write` writes the figures into docs/sizing.md.
"""

import argparse
import json
import sys
from dataclasses import fields

from lab.model.growth import Costs, Sizes, reckon
from lab.model.page import COSTS, PAGE, document, lines, with_figures


def main(arguments: list[str]) -> int:
    """0, or 2 for sizes that cannot be."""
    parser = argparse.ArgumentParser(prog="python -m lab.model", description=__doc__)
    parser.add_argument("act", nargs="?", choices=("reckon", "measure", "write"), default="reckon")
    parser.add_argument("--json", action="store_true", help="all figures, for a program")
    for one in fields(Sizes):
        kind = type(one.default)
        name = one.name.replace("_", "-")
        parser.add_argument(f"--{name}", type=kind, default=one.default, help="%(default)s")
    asked = vars(parser.parse_args(arguments))
    act, as_json = asked.pop("act"), asked.pop("json")
    if wrong := [name for name, value in asked.items() if value <= 0]:
        parser.error(f"--{wrong[0].replace('_', '-')} must be above 0")
    if act == "measure":
        from lab.model.measure import measure

        COSTS.write_text(json.dumps(measure(), indent=1) + "\n")
    measured = json.loads(COSTS.read_text())
    if act != "reckon":
        PAGE.write_text(with_figures(PAGE.read_text(), measured))
        return 0
    need = reckon(Sizes(**asked), Costs.of(measured))
    print(json.dumps(document(need), indent=1) if as_json else "\n".join(lines(need)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
