"""A tenth of the size that the model reckons with, beside a tenth of that: what grows with it?"""

from collections.abc import Iterator

from lab.benchmarks.drain import rounds
from lab.benchmarks.figures import Figure

NAME = "tenth"
FLAT = 1.5  # times the cost at a tenth of the size


def measure() -> Iterator[Figure]:
    """Measure each cost at both sizes, on PostgreSQL: SQLite is not made for as much."""
    first: dict[str, float] = {}
    for _, one in rounds(NAME, on=("PostgreSQL",)):
        what, value = one["what"], one["value"]
        rows = f"{one['of']:,} properties, "
        yield Figure(f"{rows}{what.strip()}", value, one["unit"], digits=1)
        if what in first and one["unit"] != "s":
            grown = value / first[what]
            yield Figure("  grown", grown, "times", below=FLAT, digits=2)
        first[what] = value
