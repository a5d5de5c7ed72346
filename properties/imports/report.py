"""What an import did, or would do: exact counts, and the first records of each outcome."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from properties.feeds import Heading, Refusal
from properties.imports.differences import RECORDS, Differences

KEPT = 200  # references of one outcome
KEPT_REFUSED = 1_000

T = TypeVar("T")


@dataclass
class Excerpt(Generic[T]):
    """Counts all items, and keeps the first ones."""

    limit: int = KEPT
    count: int = 0
    first: list[T] = field(default_factory=list)

    def add(self, item: T) -> None:
        """Count one more."""
        self.count += 1
        if self.count <= self.limit:
            self.first.append(item)

    @property
    def is_full(self) -> bool:
        """Whether it only counts from now on."""
        return self.count >= self.limit


@dataclass
class ImportReport:
    """Records by outcome, and the values that have no field.

    `changed` and `aside` hold a reference and names: of the fields that changed, or of the values
    that have no field. `warned` holds a reference, and why values of it were set aside as bad or
    are odd;
    `warnings` are those about the file, and `heading` is that of a foreign table. `differences` are
    those of the first changed records. `stopped` says why the feed as a whole is refused, `renamed`
    the same where that is because its properties have other names, `missing` lists all properties
    that it lacks, and `total` counts its records: these are known once the file was read to its
    end, and until then `read` counts them. What is missing gets the
    `missing_state` ("": it stays as it is), but for those that are `exempt`.
    """

    new: Excerpt[str] = field(default_factory=Excerpt)
    changed: Excerpt[tuple[str, list[str]]] = field(default_factory=Excerpt)
    differences: Excerpt[Differences] = field(default_factory=lambda: Excerpt(RECORDS))
    unchanged: Excerpt[str] = field(default_factory=Excerpt)
    refused: Excerpt[Refusal] = field(default_factory=lambda: Excerpt(KEPT_REFUSED))
    aside: Excerpt[tuple[str, list[str]]] = field(default_factory=Excerpt)
    warned: Excerpt[tuple[str, list[str]]] = field(default_factory=Excerpt)
    warnings: list[str] = field(default_factory=list)
    heading: Heading | None = None
    missing: list[str] = field(default_factory=list)
    missing_state: str = ""
    exempt: list[str] = field(default_factory=list)
    stopped: str = ""
    renamed: str = ""
    read: int = 0
    total: int | None = None

    @property
    def accepted(self) -> int:
        """How many records were accepted."""
        return self.new.count + self.changed.count + self.unchanged.count

    @property
    def handled(self) -> int:
        """How many records have an outcome."""
        return self.accepted + self.refused.count
