"""The facts of a whole file that are needed before its first record is read.

A record may point to a unit that comes later. A reference that is repeated names no property.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from crm_sync.sentence import Sentence, counted_sentence, sentence
from properties.feeds.records import FileWarning

MOST = 100  # warnings about single units, and characters of a reference in them


@dataclass
class Survey:
    """The units of all projects of a file, and the number of properties for each reference.

    `checks_units` is False for JSON without projects: there a property may name any unit.
    """

    units: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    references: Counter[str] = field(default_factory=Counter)
    checks_units: bool = True

    def add_reference(self, reference: Any) -> None:
        """Count a property by its reference."""
        if isinstance(reference, str | int):
            self.references[str(reference).strip()] += 1

    def add_project(self, project: Any) -> None:
        """Add the units of a project of either format, in the shape of JSON."""
        if not isinstance(project, dict):
            return
        own, units = project.get("referenceId"), project.get("units")
        for unit in units if isinstance(units, list) else []:
            if isinstance(unit, dict) and (reference := unit.get("referenceId")):
                self.units[str(reference)].append("" if own is None else str(own))

    def project_of(self, unit: str) -> str | None:
        """Return the project of a unit; None if the unit has none or several."""
        projects = set(self.units.get(unit, ()))
        return projects.pop() or None if len(projects) == 1 else None

    def is_repeated(self, reference: Any) -> bool:
        """Return whether several properties of the file have this reference."""
        return self.references[str(reference).strip()] > 1

    def warnings(self) -> Iterator[FileWarning]:
        """Yield a warning for each reference that several units share."""
        repeated = [unit for unit, projects in self.units.items() if len(projects) > 1]
        for unit in repeated[:MOST]:
            yield FileWarning(_shared(unit[:MOST], self.units[unit]))
        if len(repeated) > MOST:
            rest = counted_sentence(
                "%(count)s more reference belongs to several units",
                "%(count)s more references belong to several units",
                count=len(repeated) - MOST,
            )
            yield FileWarning(rest)


def _shared(unit: str, projects: list[str]) -> Sentence:
    if len(set(projects)) == 1:
        return sentence(
            '%(count)s units have the reference "%(unit)s"', count=len(projects), unit=unit
        )
    return sentence(
        '%(count)s units have the reference "%(unit)s", so its properties get no project',
        count=len(projects),
        unit=unit,
    )
