"""A measured figure, and how figures are printed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


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
        too_small = self.at_least is not None and self.value < self.at_least
        return not too_small and (self.below is None or self.value < self.below)

    def row(self) -> tuple[str, str, str]:
        wanted = ""
        if self.at_least is not None:
            wanted = f"at least {self._number(self.at_least)}"
        if self.below is not None:
            wanted = f"below {self._number(self.below)}"
        if not self.is_met:
            wanted += "  MISSED"
        return self.what, f"{self._number(self.value)} {self.unit}", wanted

    def _number(self, value: float) -> str:
        return f"{value:,.{self.digits}f}"


def table(figures: Iterable[Figure]) -> str:
    """The figures in columns; numbers stand to the right."""
    rows = [one.row() for one in figures]
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = (f"  {what:<{first}}  {value:>{second}}  {wanted}" for what, value, wanted in rows)
    return "\n".join(line.rstrip() for line in lines)
