"""Makes this installation as the file says: all of it in one transaction, or nothing.

Nothing is removed. What is here and not in the file is named and left.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from crm_sync import row_locks
from crm_sync.configuration.document_reading import FileEntry
from crm_sync.configuration.exporting import sections
from crm_sync.configured import NEEDED, ConfiguredRows, ItemKind, Values
from crm_sync.models import Workspace


class FileRefused(Exception):
    """The file does not fit this installation, and nothing was changed.

    Attributes:
        faults: paths in the file, each with what is wrong there.
    """

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        super().__init__(f"{len(faults)} faults")
        self.faults = faults


@dataclass(frozen=True)
class PlannedRow:
    """One row that was made, or changed.

    Attributes:
        changes: for each item that changes, its value before and after, as the file writes them; a
            secret is only named.
    """

    path: str
    title: str
    is_new: bool
    changes: Mapping[str, tuple[Any, Any]]


@dataclass
class ConfigurationPlan:
    """What an apply did or would do.

    Attributes:
        left: rows that are here and not in the file.
    """

    steps: list[PlannedRow] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


@dataclass
class _Match:
    """A row of the file beside the one that is here, if it is here."""

    entry: FileEntry
    where: str  # the slug of its workspace
    key: Any  # None if it is new
    before: Values
    children: list["_Match"]

    @property
    def changes(self) -> dict[str, Any]:
        """The values that the file says and the row does not have."""
        said = self.entry.values
        if self.key is None:
            return dict(said)
        return {name: value for name, value in said.items() if value != self.before[name]}

    @property
    def whole(self) -> dict[str, Any]:
        """All values of the row as it will be."""
        defaults = {one.name: one.default for one in self.entry.section.items}
        start = defaults if self.key is None else self.before
        return {**start, **self.entry.values}


def apply(
    entries: Sequence[FileEntry], *, now: datetime, is_dry: bool = False
) -> ConfigurationPlan:
    """Make and change rows; with `is_dry` nothing is kept, and the plan is the same.

    Raises:
        FileRefused: with all faults, before anything was written.
    """
    plan = ConfigurationPlan()
    with transaction.atomic():
        # Two applies that make the same rows run one after the other.
        row_locks.lock(Workspace.objects.all())
        tops = [one for one in sections() if not one.is_of_workspace]
        matches = [
            match
            for section in tops
            for match in _matched(
                [one for one in entries if one.section is section], section, 0, "", plan
            )
        ]
        faults = _faults(matches)
        if faults:
            raise FileRefused(faults)
        for match in matches:
            _write(match, 0, plan, now=now)
        transaction.set_rollback(is_dry)
    return plan


def _matched(
    entries: Sequence[FileEntry],
    section: ConfiguredRows,
    workspace_id: int,
    where: str,
    plan: ConfigurationPlan,
) -> list[_Match]:
    """Pair the rows of the file with those that are here, of equal ones the oldest first."""
    here = defaultdict(list)
    is_new = section.is_of_workspace and not workspace_id
    for key, values in () if is_new else section.rows(workspace_id):
        here[section.key_of(values)].append((key, values))
    found = []
    for entry in entries:
        known = here[section.key_of(entry.values)]
        key, before = known.pop(0) if known else (None, {})
        match = _Match(entry, where, key, before, [])
        if section.is_workspace:
            slug = entry.values["slug"]
            for child in (one for one in sections() if one.is_of_workspace):
                mine = [one for one in entry.children if one.section is child]
                match.children += _matched(mine, child, key or 0, slug, plan)
        found.append(match)
    left = [values for rows in here.values() for _, values in rows]
    rest = [section.title(values) for values in left if not section.is_untouched(values)]
    plan.left += [_titled(where, section, title) for title in rest]
    return found


def _titled(where: str, section: ConfiguredRows, title: str) -> str:
    return f"{where + ': ' if where else ''}{section.noun} {title}"


def _faults(matches: Sequence[_Match]) -> list[tuple[str, str]]:
    found = _twice(matches)
    for match in matches:
        found += _faults_of(match, {}) + _twice(match.children)
        known = _known(match)
        for child in match.children:
            found += _faults_of(child, known)
    return found


def _known(match: _Match) -> dict[str, set[tuple[Any, ...]]]:
    """Return the keys of the rows of a workspace, in the file and here."""
    known: dict[str, set[tuple[Any, ...]]] = defaultdict(set)
    for child in match.children:
        section = child.entry.section
        known[section.name].add(section.key_of(child.entry.values))
    if match.key is not None and match.entry.section.is_workspace:
        for section in (one for one in sections() if one.is_of_workspace):
            known[section.name] |= {section.key_of(row) for _, row in section.rows(match.key)}
    return known


def _twice(matches: Sequence[_Match]) -> list[tuple[str, str]]:
    """Return a fault for each row that the file says a second time."""
    seen: dict[tuple[Any, ...], str] = {}
    found = []
    for match in matches:
        section = match.entry.section
        key = (section.name, *section.key_of(match.entry.values))
        if key in seen and not section.may_repeat:
            found.append((match.entry.path, f"is the same {section.noun} as {seen[key]}"))
        seen.setdefault(key, match.entry.path)
    return found


def _faults_of(match: _Match, known: Mapping[str, set[tuple[Any, ...]]]) -> list[tuple[str, str]]:
    section, path, whole = match.entry.section, match.entry.path, match.whole
    needed = [name for name, value in whole.items() if value is NEEDED]
    if needed:
        kinds = {one.name: one.kind for one in section.items}
        return [(f"{path}.{name}", f"is missing; expected {kinds[name]}") for name in needed]
    if match.key is not None and not match.changes:
        return []
    faults = section.faults(whole, match.before, known)
    return [(f"{path}.{name}" if name else path, text) for name, text in faults]


def _write(match: _Match, workspace_id: int, plan: ConfigurationPlan, *, now: datetime) -> None:
    section, changes, key = match.entry.section, match.changes, match.key
    if key is None:
        key = section.make(workspace_id, match.whole, now)
    elif changes:
        section.change(workspace_id, key, changes, now)
    if match.key is None or changes:
        plan.steps.append(_step(match, changes))
    for child in match.children:
        _write(child, key, plan, now=now)


def _step(match: _Match, changes: Mapping[str, Any]) -> PlannedRow:
    section, whole = match.entry.section, match.whole
    shown = {}
    for one in section.items:
        if one.name not in changes or match.key is None:
            continue
        before, after = match.before[one.name], changes[one.name]
        is_hidden = one.kind is ItemKind.SECRET or any(
            isinstance(value, str) and one.is_private(value) for value in (before, after)
        )
        shown[one.name] = ("…", "…") if is_hidden else (before, after)
    title = _titled(match.where, section, section.title(whole))
    return PlannedRow(match.entry.path, title, match.key is None, shown)
