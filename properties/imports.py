"""A feed file becomes edits: new, changed, unchanged, refused, each with its reason."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from crm_sync.merge import leaves
from crm_sync.models import Workspace
from properties.catalog import equal, new_faults
from properties.feeds import Record, Refusal, open_feed
from properties.models import Change, Property
from properties.sync import Invalid, create, edit


@dataclass
class Report:
    """What an import did, or would do: references by outcome, and what found no home."""

    new: list[str] = field(default_factory=list)
    changed: dict[str, list[str]] = field(default_factory=dict)
    unchanged: list[str] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    leftover: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def accepted(self) -> int:
        """How many records were taken."""
        return len(self.new) + len(self.changed) + len(self.unchanged)


def read_whole(path: Path) -> int:
    """Read the file to its end and return the number of its records, without writing anything.

    A file that breaks off in the middle is refused here, before its first record is imported.

    Raises:
        NotAFeed: it is no feed, or breaks off.
    """
    return sum(1 for _ in open_feed(path))


def import_feed(
    workspace: Workspace, path: Path, *, now: datetime, dry_run: bool = False
) -> Iterator[Report]:
    """Import every record of a feed file; yields the growing report after each one.

    A record changes the fields that are new or different in it since the last import, and no
    others: a feed repeats the whole stock, and what people edited here in between stays. A table of
    our columns is such an edit: its cells count whatever the last feed said, and are no part of it.

    Raises:
        NotAFeed: see `read_whole`, which is asked first.
    """
    report = Report()
    for record in open_feed(path):
        if isinstance(record, Refusal):
            report.refused.append(record)
        else:
            _take(workspace, record, report, now=now, dry_run=dry_run)
        yield report


def _take(
    workspace: Workspace, record: Record, report: Report, *, now: datetime, dry_run: bool
) -> None:
    known = Property.objects.filter(
        workspace=workspace, object_reference_id=record.reference
    ).first()
    asked = record.changes(known.desired if known else {})
    fed = known.fed if known and not record.parts else {}
    changes = {p: v for p, v in asked.items() if p not in fed or not equal(p, v, fed[p])}
    try:
        if dry_run:
            _check(changes, leaves(known.desired) if known else {})
        if known is None:
            if not dry_run:
                known = create(
                    workspace, record.reference, changes, origin=Change.Origin.FEED, now=now
                )
            report.new.append(record.reference)
        else:
            changed = _changed(known, changes)
            if changed and not dry_run:
                edit(known, changes, origin=Change.Origin.FEED, now=now)
            if changed:
                report.changed[record.reference] = changed
            else:
                report.unchanged.append(record.reference)
    except Invalid as error:
        reasons = [f"{fault.path}: {fault.message}" for fault in error.faults]
        report.refused.append(Refusal(record.position, record.reference, reasons))
        return
    if record.leftover:
        report.leftover[record.reference] = record.leftover
    if (
        known is not None
        and not (dry_run or record.parts)
        and (known.fed, known.leftover) != (asked, record.leftover)
    ):
        Property.objects.filter(pk=known.pk).update(fed=asked, leftover=record.leftover)


def _check(changes: dict[str, Any], before: dict[str, Any]) -> None:
    """Raise what `edit` would: the cells of a table may be refused only with what they stand in."""
    faults = [f for p, value in changes.items() for f in new_faults(p, value, before.get(p))]
    if faults:
        raise Invalid(faults)


def _changed(known: Property, changes: dict[str, Any]) -> list[str]:
    before = leaves(known.desired)
    return sorted(p for p, value in changes.items() if not equal(p, value, before.get(p)))
