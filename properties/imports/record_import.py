"""Apply the records of a feed: a property is created, changed, or left unchanged."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from types import MappingProxyType
from typing import Any, Self, TypedDict, cast

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.functional import cached_property

from crm_sync.models import Workspace
from crm_sync.sentence import Sentence, lazy_sentence, sentence
from properties.catalog import FieldFault, equal
from properties.domain import candidates, owners
from properties.domain.difference import short
from properties.domain.editing import Invalid, Outdated, RowEdit, edit, edit_all, faults
from properties.domain.headline import headline
from properties.feeds import Line, Record, Refusal
from properties.imports import bulk_create
from properties.imports.bulk_create import NewProperty
from properties.imports.differences import differences
from properties.imports.feed_digest import digest, rules_of
from properties.imports.lookalikes import Lookalikes
from properties.imports.missing_properties import STATE, state_before
from properties.imports.report import ImportReport
from properties.merge import Document, Leaves, document, leaves
from properties.models import Change, Property
from properties.models.change import BY_FEED, Origin
from properties.models.match_columns import keys_of


@dataclass(frozen=True)
class _Item:
    """A record, and the line of the spool that holds it."""

    line: Line
    record: Record

    @classmethod
    def of(cls, line: Line) -> Self:
        return cls(line, cast(Record, line.item()))

    @cached_property
    def alone(self) -> Leaves:
        return self.record.changes({})

    @cached_property
    def document(self) -> Document:
        """What it says by itself."""
        return document(self.alone)


@dataclass(frozen=True)
class _Revision:
    """What a record changes in a property.

    Attributes:
        row, before: the property, and its values as it was read.
        changes, changed: the values that are new since the last feed, and the leaves among them
            that the property has otherwise; without what a rule keeps from the feed (`owned`).
        memory: the columns of `_memory`.
    """

    row: Property
    item: _Item
    before: Leaves
    changes: Leaves
    changed: list[str]
    owned: dict[str, Sentence]
    memory: dict[str, Any]


class _By(TypedDict):
    origin: Origin
    now: datetime
    cause: str


class RecordImport:
    """Applies records in batches, and reports the outcome of each.

    Args:
        feed: the source of a full feed, as in `Property.fed_by`; None for a table.
        seen_at: the start of the preview that a person has released; None if there was none.
        earlier: the references of the records that earlier slices of a dry run have handled.
        cause: what the changes are recorded under, see `Change.cause`.
        fence: as for `import_feed`.
    """

    def __init__(
        self,
        workspace: Workspace,
        feed: str | None,
        report: ImportReport,
        *,
        now: datetime,
        dry_run: bool,
        seen_at: datetime | None = None,
        earlier: Iterable[str] = (),
        cause: str = "",
        fence: Callable[[], None] = lambda: None,
    ) -> None:
        self._cause, self._fence = cause, fence
        self._workspace = workspace
        self._feed = feed
        self._report = report
        self._now = now
        self._dry_run = dry_run
        self._seen_at = seen_at
        self._unseen: dict[tuple[int, str], Change] = {}
        self._ownership = owners.of_workspace(workspace)
        self._rules = rules_of(self._ownership)
        self._lookalikes = Lookalikes(workspace, earlier)

    def take(self, lines: list[Line]) -> Iterator[ImportReport]:
        """Apply items with different references in order; yield after each batch of neighbours."""
        stood = self._stood(lines)
        same = self._same(lines, stood)
        known = self._known(stood.keys() - same)
        self._unseen = self._changed_since(known.values())
        here = same | known.keys()

        def is_new(line: Line) -> bool:
            return line.kind == "record" and line.reference not in here

        for are_new, some in groupby(lines, is_new):
            if are_new:
                self._take_fresh([_Item.of(line) for line in some])
            else:
                self._take_known([*some], same, known)
            yield self._report

    def _take_known(
        self,
        lines: list[Line],
        same: set[str | None],
        known: Mapping[str | None, Property],
    ) -> None:
        """Apply what creates no property: changes, what is the same, and what is refused."""
        revisions = {
            number: self._revision(known[line.reference], _Item.of(line))
            for number, line in enumerate(lines)
            if line.kind == "record" and line.reference not in same
        }
        done = set() if self._dry_run else self._write_all(revisions.values())
        for number, line in enumerate(lines):
            if (one := revisions.get(number)) is not None:
                self._note(one) if one.row.pk in done else self._revise(one)
            elif line.kind == "record":
                self._report.unchanged.add(str(line.reference))
                self._set_aside(line)
            else:
                self._report.refused.add(cast(Refusal, line.item()))

    def _stood(self, lines: list[Line]) -> dict[str | None, tuple[str | None, str]]:
        """Return the feed and the digest of each existing property, by its reference."""
        references = [line.reference for line in lines if line.kind == "record"]
        columns = ("object_reference_id", "fed_by", "fed_digest")
        rows = self._there(references).values_list(*columns) if references else ()
        return {reference: (fed_by, known) for reference, fed_by, known in rows}

    def _same(self, lines: list[Line], stood: Mapping[str | None, Any]) -> set[str | None]:
        """Return the references of the records that are the same as in the last feed."""
        if self._feed is None:
            return set()
        records = (line for line in lines if line.kind == "record" and line.reference in stood)
        return {
            one.reference
            for one in records
            if stood[one.reference] == (self._feed, digest(one, self._rules))
        }

    def _known(self, references: Collection[str | None]) -> dict[str | None, Property]:
        if not references:
            return {}
        unread = ("inflight", "replaced") if self._rules else ("observed", "inflight", "replaced")
        rows = self._there(references).defer(*unread)
        return {row.object_reference_id: row for row in rows}

    def _there(self, references: Iterable[str | None]) -> QuerySet[Property]:
        # With a subquery, PostgreSQL cannot use its statistics for this workspace. If they were
        # made before its first row, PostgreSQL expects one row and would read all rows each time.
        here = Workspace.objects.filter(pk=self._workspace.pk).values("pk")[:1]
        return Property.objects.filter(workspace=here, object_reference_id__in=[*references])

    def _changed_since(self, rows: Iterable[Property]) -> dict[tuple[int, str], Change]:
        """Return the changes of others after the preview, by property and leaf."""
        if self._seen_at is None:
            return {}
        keys = [row.pk for row in rows]
        found = Change.objects.filter(real_estate_property__in=keys, at__gte=self._seen_at)
        found = found.exclude(origin__in=BY_FEED)
        return {
            (change.real_estate_property_id, part.path): part
            for change in found.select_related("actor").order_by("revision", "pk")
            for part in change.parts()
        }

    def _take_fresh(self, items: list[_Item]) -> None:
        good = []
        for one in items:
            # Records of full feeds were validated when they were read.
            reference, is_whole = one.record.reference, not one.record.parts
            if other := self._lookalikes.other(reference):
                self._refuse(one, [FieldFault("objectReferenceId", _alike(reference, other))])
            elif found := [] if is_whole else bulk_create.faults(reference, one.alone):
                self._refuse(one, found)
            else:
                good.append(one)
        before = self._report.new.count
        self._note_doubles(good)
        if good:
            self._make(good)
        if before < bulk_create.ENOUGH and not self._dry_run:
            bulk_create.analyze(self._report.new.count)

    def _note_doubles(self, items: list[_Item]) -> None:
        """Report the new records that the platform may have: they are matched first (I36)."""
        if not items or not self._may_be_there:
            return
        keys = [keys_of(item.document) for item in items]
        there = candidates.known_there(self._workspace.pk, keys)
        for item, own in zip(items, keys, strict=True):
            found = next((there[one] for one in own.items() if one in there), None)
            if found is not None:
                self._report.doubles.add((item.record.reference, found))

    @cached_property
    def _may_be_there(self) -> bool:
        """Whether the platform has any property that could be a new record of this import."""
        return candidates.only_there(self._workspace.pk).exists()

    @property
    def _rows(self) -> QuerySet[Property]:
        return Property.objects.filter(workspace=self._workspace)

    @property
    def _by(self) -> _By:
        return {"origin": Change.Origin.FEED, "now": self._now, "cause": self._cause}

    def _make(self, items: list[_Item]) -> None:
        """Create the properties of new records at once, or singly if one of them exists now."""
        try:
            self._create(items)
        except IntegrityError:
            for one in items:
                row = self._rows.filter(object_reference_id=one.record.reference).first()
                if row is None:
                    self._create([one])
                else:
                    self._unseen |= self._changed_since([row])
                    self._revise(self._revision(row, one))

    def _create(self, items: list[_Item]) -> None:
        nothing_there = Property()
        owned = [self._refusals(nothing_there, one.alone) for one in items]
        pairs = [*zip(items, owned, strict=True)]
        if not self._dry_run:
            arrived = [
                NewProperty(one.record.reference, *self._new_columns(one, kept))
                for one, kept in pairs
            ]
            bulk_create.create_all(self._workspace, arrived, **self._by)
        for one, kept in pairs:
            self._note_new(one)
            self._set_aside(one.line, kept)

    def _note_new(self, item: _Item) -> None:
        report, reference = self._report, item.record.reference
        if not report.new.is_full:
            said = item.document
            if text := headline(said.get("address"), said.get("title")):
                report.headlines[reference] = text
        report.new.add(reference)

    def _revision(self, row: Property, item: _Item) -> _Revision:
        """Return what a record changes in a property, without what a rule keeps from the feed."""
        changes, changed = _changes(row, item.record)
        owned = self._refusals(row, {path: changes[path] for path in changed})
        changes = {path: value for path, value in changes.items() if path not in owned}
        changed = [path for path in changed if path not in owned]
        memory = self._memory(item, row.leftover, owned)
        return _Revision(row, item, leaves(row.desired), changes, changed, owned, memory)

    def _write_all(self, revisions: Iterable[_Revision]) -> set[int]:
        """Write revisions together; return the keys of the properties for which that was enough."""
        plain = (one for one in revisions if not self._unseen_faults(one))
        edits = [RowEdit(one.row, one.changes, one.memory) for one in plain]
        return edit_all(edits, ownership=self._ownership, **self._by) if edits else set()

    def _revise(self, revision: _Revision) -> None:
        """Apply a record by itself, at the revision of the property that it was compared with."""
        row, item = revision.row, revision.item
        while True:
            try:
                self._write(revision)
            except Outdated:
                self._fence()  # else a later import may have changed it
                self._unseen |= self._changed_since([row])
                revision = self._revision(row, item)
            except Invalid as error:
                self._refuse(item, error.faults)
                return
            except Property.DoesNotExist:  # it was linked, and is another row now
                self._make([item])
                return
            else:
                self._note(revision)
                return

    def _write(self, revision: _Revision) -> None:
        """Write a revision; raise `Outdated`, with the row read again, if somebody was faster."""
        row, changes, changed = revision.row, revision.changes, revision.changed
        found = self._unseen_faults(revision)
        if self._dry_run and not found:  # some cells are invalid only together with other values
            found = faults({path: changes[path] for path in changed}, revision.before)
        if found:
            raise Invalid(found)
        if not self._dry_run and (changed or revision.memory):
            with transaction.atomic():
                rules = self._ownership
                edit(row, changes, revision=row.revision, ownership=rules, **self._by)
                as_read = self._rows.filter(pk=row.pk, revision=row.revision)
                if revision.memory and not as_read.update(**revision.memory):
                    row.refresh_from_db()
                    raise Outdated

    def _note(self, revision: _Revision) -> None:
        """Report a revision that was written."""
        reference, changed = revision.item.record.reference, revision.changed
        if changed:
            self._report.changed.add((reference, changed))
            if not self._report.differences.is_full:
                found = differences(reference, changed, revision.before, revision.changes)
                self._report.differences.add(found)
        else:
            self._report.unchanged.add(reference)
        self._set_aside(revision.item.line, revision.owned)

    def _unseen_faults(self, revision: _Revision) -> list[FieldFault]:
        """Return a fault for each changed field whose value is newer than the released preview."""
        keys = [(revision.row.pk, path) for path in revision.changed]
        found = [self._unseen[key] for key in keys if key in self._unseen]
        return [
            FieldFault(
                change.path,
                sentence(
                    "%(who)s changed it after the preview: it is %(now)s now, and the file says"
                    " %(file)s. Import the file again to decide",
                    who=change.who or lazy_sentence(Origin(change.origin).label),
                    now=short(revision.before.get(change.path)),
                    file=short(revision.changes[change.path]),
                ),
            )
            for change in found
        ]

    def _refusals(self, row: Property, changes: Leaves) -> dict[str, Sentence]:
        """Return the changed leaves that a rule keeps from the feed, each with its reason."""
        faults = owners.refused(row, changes, self._ownership)
        return {
            one.path: sentence(
                "%(name)s: %(value)s is set aside. %(reason)s",
                name=one.path,
                value=short(changes[one.path]),
                reason=one.message,
            )
            for one in faults
        }

    def _new_columns(self, item: _Item, owned: Collection[str]) -> tuple[Leaves, dict[str, Any]]:
        """Return the values of a new property, and the columns of `_memory`, always the same."""
        wanted = {path: value for path, value in item.alone.items() if path not in owned}
        return wanted, self._memory(item, {}, owned) or {"leftover": {}}

    def _memory(self, item: _Item, known: dict[str, Any], owned: Collection[str]) -> dict[str, Any]:
        """Return the columns for the values without a field, and for the last full feed.

        Args:
            known: the stored values without a field; a table adds to them.
            owned: the leaves that were set aside. They are new again once no rule keeps them.
        """
        leftover = item.record.leftover
        if self._feed is None:
            whole = known | leftover
            return {"leftover": whole} if whole != known else {}
        return {
            "fed": {path: value for path, value in item.alone.items() if path not in owned},
            "leftover": leftover,
            "fed_digest": digest(item.line, self._rules),
            "fed_by": self._feed,
        }

    def _refuse(self, item: _Item, faults: list[FieldFault]) -> None:
        line = item.line
        refused = Refusal(line.position, line.reference, [fault.sentence for fault in faults])
        self._report.refused.add(refused)

    def _set_aside(self, line: Line, owned: Mapping[str, str] = MappingProxyType({})) -> None:
        if line.warnings or owned:
            told: list[str] = [*owned.values(), *line.warnings]
            self._report.warned.add((str(line.reference), told))
        if line.aside:
            values = {} if self._report.aside.is_full else cast(Record, line.item()).leftover
            found = {name: values.get(name) for name in line.aside}
            self._report.aside.add((str(line.reference), found))


def _changes(row: Property, record: Record) -> tuple[Leaves, list[str]]:
    """Return the record's values that are new since the last import, and the changed leaves."""
    asked, fed, here = record.changes(row.desired), row.fed, leaves(row.desired)
    if not record.parts:
        if (state := state_before(row)) is not None:
            if asked.get(STATE) == fed.get(STATE):  # it is not new
                asked = {**asked, STATE: state}
            fed = {path: value for path, value in fed.items() if path != STATE}
        asked = {p: v for p, v in asked.items() if p not in fed or not equal(p, v, fed[p])}
    return asked, sorted(p for p, v in asked.items() if not equal(p, v, here.get(p)))


def _alike(reference: str, other: str) -> Sentence:
    return sentence(
        "“%(reference)s” looks like “%(other)s”: they differ only in case, or in what nobody sees,"
        " and would be two properties. Correct it, or create the property here first",
        reference=reference,
        other=other,
    )
