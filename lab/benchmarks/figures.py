"""A measured figure, and the line in which it is printed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

WHAT, VALUE = 62, 18  # columns; a longer text moves what follows


@dataclass(frozen=True)
class Figure:
    """What was measured, what came out, and what it must reach, if there is such a thing."""

    what: str
    value: float
    unit: str
    at_least: float | None = None
    below: float | None = None
    digits: int = 0

    @property
    def is_met(self) -> bool:
        """Tell whether it reaches what it must."""
        too_small = self.at_least is not None and self.value < self.at_least
        return not too_small and (self.below is None or self.value < self.below)

    def goal(self) -> str:
        """Say what it must reach, and that it does not; empty where there is no such thing."""
        wanted = []
        if self.at_least is not None:
            wanted.append(f"at least {self.number(self.at_least)}")
        if self.below is not None:
            wanted.append(f"below {self.number(self.below)}")
        if not self.is_met:
            wanted.append("MISSED")
        return "  ".join(wanted)

    def number(self, value: float | None = None) -> str:
        """Return a number, or its own value, with as many digits as it has."""
        return f"{self.value if value is None else value:,.{self.digits}f}"

    def line(self) -> str:
        """Return it as a line, the numbers below one another."""
        value = f"{self.number()} {self.unit}"
        return f"  {self.what:<{WHAT}} {value:>{VALUE}}  {self.goal()}".rstrip()


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest of the values that so large a share of them does not exceed.

    Args:
        share: above 0, at most 1; 0.99 for the p99.
    """
    return sorted(values)[math.ceil(share * len(values)) - 1]


def skipped(what: str, why: str) -> None:
    """Print that something is not measured on this machine, and why."""
    print(f"  {what:<{WHAT}} {'skipped':>{VALUE}}  {why}", flush=True)
