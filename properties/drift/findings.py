"""Pure: the findings of a comparison: counts, and the properties by name."""

import enum
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crm_sync.platform.errors import Problem

NAMED = 20  # properties and fields that a stored check names


class DriftVerdict(enum.StrEnum):
    """Whether and why a leaf or a row differs. A row has the last verdict that applies."""

    SAME = "same"
    BLOCKED = "blocked"
    PENDING = "pending"
    UNEXPLAINED = "unexplained"
    FAILED = "failed"  # it could not be compared


RANK = {verdict: rank for rank, verdict in enumerate(DriftVerdict)}
# The order for people.
ORDER = (DriftVerdict.UNEXPLAINED, DriftVerdict.FAILED, DriftVerdict.BLOCKED, DriftVerdict.PENDING)


@dataclass(frozen=True)
class Leaf:
    """One leaf that differs; `moved` is the side that has changed since the last read."""

    path: str
    verdict: DriftVerdict
    moved: str  # "ours", "theirs" or "both"
    ours: Any
    theirs: Any


@dataclass(frozen=True)
class DriftFinding:
    """The result of comparing one property."""

    pk: int
    reference: str
    verdict: DriftVerdict
    leaves: tuple[Leaf, ...] = ()
    is_gone: bool = False
    error: Problem = field(default_factory=Problem)


@dataclass
class DriftReport:
    """The counts of all findings, and each finding that is not SAME."""

    compared: int = 0
    gone: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    fields: Counter[str] = field(default_factory=Counter)
    findings: list[DriftFinding] = field(default_factory=list)
    stopped: Problem = field(default_factory=Problem)

    def add(self, finding: DriftFinding) -> None:
        """Count one property."""
        self.compared += finding.verdict != DriftVerdict.FAILED
        self.gone += finding.is_gone
        self.verdicts[finding.verdict] += 1
        self.fields.update(leaf.path for leaf in finding.leaves)
        if finding.verdict != DriftVerdict.SAME:
            self.findings.append(finding)

    @property
    def differing(self) -> int:
        """The number of properties that differ, for any reason."""
        return self.compared - self.verdicts[DriftVerdict.SAME]

    def worst_first(self) -> list[DriftFinding]:
        """Return the findings that are not SAME, unexplained ones first."""
        return sorted(self.findings, key=lambda one: ORDER.index(one.verdict))

    def keys_of(self, verdict: DriftVerdict) -> list[int]:
        """Return the keys of the rows with this verdict."""
        return [finding.pk for finding in self.findings if finding.verdict == verdict]


def entry(
    pk: int,
    reference: str,
    verdict: DriftVerdict,
    paths: Iterable[str],
    *,
    is_gone: bool = False,
    error: Problem | None = None,
) -> dict[str, object]:
    """Return the entry of one property in a stored check: names, and no values (S23)."""
    return {
        "pk": pk,
        "reference": reference,
        "verdict": verdict.value,
        "gone": is_gone,
        "fields": sorted(paths)[:NAMED],
        "error": error.stored if error else "",
    }


def by_count(fields: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return leaves and their counts, the most frequent first. A JSON object keeps no order."""
    return sorted(fields.items(), key=lambda item: (-item[1], item[0]))
