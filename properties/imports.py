"""A feed file becomes edits: new, changed, unchanged, refused, each with its reason.

A file is read to its end before the first write, and lies on a shelf until it is known that it is
whole; what is as it was in the last feed is told by its digest. Then its records are handled in
their order, so an import that was interrupted goes on behind what it has done.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from crm_sync.merge import Leaves, leaves
from crm_sync.models import Workspace
from properties import arrivals
from properties.catalog import Fault, equal, new_faults
from properties.feeds import (
    Item,
    NotAFeed,
    Record,
    Refusal,
    Same,
    Shelf,
    digest,
    open_feed,
    open_shelf,
    stock_format,
)
from properties.models import Change, Property
from properties.stock import Stock
from properties.sync import Invalid, edit

CHUNK = 100  # records whose properties are read by one query, and made by one transaction


@dataclass
class Report:
    """What an import did, or would do: references by outcome, and what found no home.

    `stopped` says why the feed as a whole is refused, `missing` what it lacks of the stock, and
    `total` how many records it has: all three are known once the file was read to its end.
    """

    new: list[str] = field(default_factory=list)
    changed: dict[str, list[str]] = field(default_factory=dict)
    unchanged: list[str] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    leftover: dict[str, dict[str, Any]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    stopped: str = ""
    total: int | None = None

    @property
    def accepted(self) -> int:
        """How many records were taken."""
        return len(self.new) + len(self.changed) + len(self.unchanged)


class Stopped(NotAFeed):
    """The feed reads well, but would gut the stock: import nothing unless a person insists."""

    def __init__(self, path: Path, report: Report) -> None:
        super().__init__(f"{path.name}: {report.stopped}")
        self.report = report


def import_feed(
    workspace: Workspace,
    path: Path,
    *,
    now: datetime,
    dry_run: bool = False,
    force: bool = False,
    skip: int = 0,
    together: int = CHUNK,
) -> Iterator[Report]:
    """Import every record of a feed file; yields the growing report.

    It is yielded for each record that is read, for each that is handled, and at the end.

    A record changes the fields that are new or different in it since the last import, and no
    others: a feed repeats the whole stock, and what people edited here in between stays. A table of
    our columns is such an edit: its cells count whatever the last feed said, and are no part of it.

    Args:
        force: import a feed although it is empty or lacks more of the stock than
            `FEED_MISSING_SHARE`. A dry run goes on without it and says so in `stopped`.
        skip: how many records of the file were handled before: the report does not hold them.
        together: how many records are handled between two yields at most.

    Raises:
        NotAFeed: it is no feed or breaks off; nothing was written.
        Stopped: see `force`; nothing was written.
    """
    report = Report()
    feed_format = stock_format(path)
    stock = Stock(workspace, feed_format) if feed_format else None
    with open_shelf() as shelf:
        yield from _read(path, stock, shelf, report)
        if stock is not None:
            report.missing = stock.missing()
            report.stopped = "" if force or skip else stock.fault()
        if report.stopped and not dry_run:
            raise Stopped(path, report)
        taking = _Taking(workspace, feed_format, report, now=now, dry_run=dry_run)
        for items in shelf.chunks(together):
            yield from taking.take(items[skip:])
            skip = max(0, skip - len(items))
    if stock is not None and not dry_run:
        stock.let_go()
    yield report  # an empty feed has one too


def _read(path: Path, stock: Stock | None, shelf: Shelf, report: Report) -> Iterator[Report]:
    """Read the file to its end and put it on the shelf; of what is unchanged, only that it is."""
    total = 0
    for taken in open_feed(path):
        total += 1
        item: Item = taken
        if stock is not None:
            known = None if isinstance(taken, Refusal) else _digest(taken)
            if stock.meet(taken.reference, known) and isinstance(taken, Record):
                item = Same(taken.reference, taken.leftover)
        shelf.put(item)
        yield report
    report.total = total


class _Taking:
    """Takes records, some at a time, and reports what became of each."""

    def __init__(
        self,
        workspace: Workspace,
        feed_format: str | None,
        report: Report,
        *,
        now: datetime,
        dry_run: bool,
    ) -> None:
        self._workspace = workspace
        self._format = feed_format
        self._report = report
        self._now = now
        self._dry_run = dry_run

    def take(self, items: list[Item]) -> Iterator[Report]:
        """Take records of different references in their order; a run of new ones at once."""
        references = [item.reference for item in items if isinstance(item, Record)]
        rows = self._rows.filter(object_reference_id__in=references)
        known = {row.object_reference_id: row for row in rows.defer("observed", "inflight")}
        fresh: list[Record] = []
        for item in items:
            if isinstance(item, Record) and item.reference not in known:
                fresh.append(item)
                continue
            yield from self._take_fresh(fresh)
            fresh = []
            if isinstance(item, Record):
                self._revise(known[item.reference], item)
            elif isinstance(item, Refusal):
                self._report.refused.append(item)
            else:
                self._report.unchanged.append(item.reference)
                _set_aside(self._report, item)
            yield self._report
        yield from self._take_fresh(fresh)

    def _take_fresh(self, records: list[Record]) -> Iterator[Report]:
        good = []
        for record in records:
            # Whole records were validated when they were read.
            faults = arrivals.faults(record.reference, record.changes({})) if record.parts else []
            if faults:
                self._refuse(record, faults)
            else:
                good.append(record)
        if good:
            self._make(good)
        for _ in records:
            yield self._report

    @property
    def _rows(self) -> QuerySet[Property]:
        return Property.objects.filter(workspace=self._workspace)

    def _make(self, records: list[Record]) -> None:
        """Make the properties of new records at once; one by one if somebody makes one as well."""
        try:
            with transaction.atomic():
                self._create(records)
        except IntegrityError:
            for record in records:
                row = self._rows.filter(object_reference_id=record.reference).first()
                if row is None:
                    self._create([record])
                else:
                    self._revise(row, record)

    def _create(self, records: list[Record]) -> None:
        pairs = [
            (
                Property(
                    workspace=self._workspace,
                    object_reference_id=record.reference,
                    **self._memory(record),
                ),
                record.changes({}),
            )
            for record in records
        ]
        if not self._dry_run:
            arrivals.create_all(pairs, origin=Change.Origin.FEED, now=self._now)
        for record in records:
            self._report.new.append(record.reference)
            _set_aside(self._report, record)

    def _revise(self, row: Property, record: Record) -> None:
        """Take a record of a property that is known."""
        changes, changed = _changes(row, record)
        if changed and record.parts and not self._dry_run:
            row.refresh_from_db()  # cells are laid over what stands there now
            changes, changed = _changes(row, record)
        try:
            if self._dry_run:
                _check({path: changes[path] for path in changed}, leaves(row.desired))
            elif changed or self._format:
                with transaction.atomic():
                    edit(row, changes, origin=Change.Origin.FEED, now=self._now)
                    if memory := self._memory(record):
                        self._rows.filter(pk=row.pk).update(**memory)
        except Invalid as error:
            self._refuse(record, error.faults)
            return
        if changed:
            self._report.changed[record.reference] = changed
        else:
            self._report.unchanged.append(record.reference)
        _set_aside(self._report, record)

    def _memory(self, record: Record) -> dict[str, Any]:
        """Return the columns that keep what a feed said last; a table is no part of them."""
        if self._format is None:
            return {}
        return {
            "fed": record.changes({}),
            "leftover": record.leftover,
            "fed_digest": _digest(record),
            "fed_by": self._format,
        }

    def _refuse(self, record: Record, faults: list[Fault]) -> None:
        reasons = [f"{fault.path}: {fault.message}" for fault in faults]
        self._report.refused.append(Refusal(record.position, record.reference, reasons))


def _changes(row: Property, record: Record) -> tuple[Leaves, list[str]]:
    """Return what the record says anew since the last import, and which of it is different here."""
    asked, fed, here = record.changes(row.desired), row.fed, leaves(row.desired)
    if not record.parts:
        asked = {p: v for p, v in asked.items() if p not in fed or not equal(p, v, fed[p])}
    return asked, sorted(p for p, v in asked.items() if not equal(p, v, here.get(p)))


def _check(changes: Leaves, before: Leaves) -> None:
    """Raise what `edit` would: the cells of a table may be refused only with what they stand in."""
    faults = [f for p, value in changes.items() for f in new_faults(p, value, before.get(p))]
    if faults:
        raise Invalid(faults)


def _digest(record: Record) -> str:
    """Return the digest of all that a record leads to: another mapping, another digest."""
    return digest({"fed": record.changes({}), "leftover": record.leftover})


def _set_aside(report: Report, record: Record | Same) -> None:
    if record.leftover:
        report.leftover[record.reference] = record.leftover
