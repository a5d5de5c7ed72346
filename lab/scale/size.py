"""How much is done, what came of it, and the feed."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from lab.benchmarks.figures import Figure


@dataclass(frozen=True)
class Size:
    """Counts and seconds of a run.

    Attributes:
        rows: properties in production.
        events: for one workspace while another gets one of each.
        embedded: due rows, and as many in an upload, under the Procfile's worker.
        slow: seconds that the platform takes for an answer there, so that a drain's time is over
            before the work is.
        deadline: of a call to the platform.
        hang: for how long the platform does not answer.
        limit: for one step; then the run ends.
    """

    rows: int
    events: int
    embedded: int
    slow: float
    deadline: float
    hang: float
    limit: float


FULL = Size(
    rows=20_000, events=20_000, embedded=6_000, slow=0.0, deadline=20.0, hang=30.0, limit=900.0
)
SHORT = Size(rows=600, events=1_500, embedded=1_200, slow=0.05, deadline=3.0, hang=5.0, limit=90.0)


@dataclass
class Result:
    """The figures of a scene, and what did not hold."""

    figures: list[Figure] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def has_held(self) -> bool:
        """Tell whether nothing was wrong and every figure reaches what it must."""
        return not self.wrong and all(one.is_met for one in self.figures)

    def figure(
        self, what: str, value: float, unit: str, *, below: float | None = None, digits: int = 0
    ) -> None:
        self.figures.append(Figure(what, value, unit, below=below, digits=digits))

    def conclude(self, name: str, folder: Path, seconds: float) -> bool:
        """Print what was wrong and whether it held; what it left stays if it did not."""
        for wrong in self.wrong:
            print(f"  WRONG  {wrong}")
        if self.has_held:
            shutil.rmtree(folder)
        word = "held" if self.has_held else f"FAILED, what it left is in {folder}"
        print(f"{name}: {word} ({seconds:.0f} s)", flush=True)
        return self.has_held


def table(path: Path, count: int, prefix: str, *, title: str) -> Path:
    """Write a feed of properties, each field of which the title changes."""
    lines = ["objectReferenceId,title,numberOfRooms,prices.rent.net"]
    for n in range(count):
        lines.append(f"{prefix}-{n},{title},{1 + n % 7 + len(title) % 2},{900 + n + len(title)}")
    path.write_text("\n".join(lines))
    return path
