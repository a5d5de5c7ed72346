"""Turn a feed file into edits. Each record is new, changed, unchanged, or refused with reasons.

A file is read to its end into a spool before the first write. A digest shows which records are the
same as in the last feed. The records are handled in order, so an interrupted import continues at
the record where it stopped.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import chain, islice
from pathlib import Path

from django.db import transaction

from crm_sync import row_locks
from crm_sync.models import Workspace
from crm_sync.platform.work_kind import WorkKind
from crm_sync.sentence import sentence_of
from properties.feeds import OF_THE_FILE, Heading, NotAFeed, Profile, open_lines
from properties.imports import feed_digest, feed_reading, full_feed_guard, missing_properties
from properties.imports.feed_digest import Feed
from properties.imports.feed_reading import FeedReading, FeedSpool
from properties.imports.full_feed_guard import Comparison
from properties.imports.profiles import profile_for
from properties.imports.record_import import RecordImport
from properties.imports.report import ImportReport
from properties.models import Sender

CHUNK = 100  # records in one query for properties, and in one transaction that creates properties


class FullFeedError(NotAFeed):
    """A full feed is empty, lacks too much or renames its properties: nothing is imported."""

    def __init__(self, path: Path, report: ImportReport) -> None:
        super().__init__(sentence_of(path.name, report.stopped))
        self.report = report


def import_feed(
    workspace: Workspace,
    path: Path,
    *,
    sender: Sender | None = None,
    profile: Profile | None = None,
    now: datetime,
    dry_run: bool = False,
    force: bool = False,
    skip: int = 0,
    refused: int = 0,
    beside: str = "",
    batch_size: int = CHUNK,
    seen_at: datetime | None = None,
    keep: bool = False,
    cause: str = "",
    fence: Callable[[], None] = lambda: None,
) -> Iterator[ImportReport]:
    """Import every record of a feed file; yield the report while it grows.

    The report is yielded for each record that is read, for each that is handled, and at the end.

    A record of a full feed changes only the fields that are new or different since the last import,
    so the edits that people made here in between remain. A table is an edit itself: each of its
    cells counts, whatever the last full feed contained.

    Args:
        sender: the sender whose settings apply; None uses the defaults.
        profile: the profile of the preview, in case the sender has changed since.
        force: import a full feed although it is empty or lacks more than `FEED_MISSING_SHARE` of
            the last one. A feed that would rename its properties is refused all the same. A dry
            run continues without `force` and reports the reason in `stopped`.
        skip: the number of records that were handled before. The report does not include them.
        refused: the number of refused records among them.
        beside: a text about ignored files that were packed with the file.
        batch_size: the most records that are handled at once.
        seen_at: the start of the preview that a person has released. A record that would replace
            a value that another person changed since then is refused, with both values.
        cause: what its changes are recorded under, see `Change.cause`.
        fence: called before a write that could replace what a later import has written. It raises
            an error if this import is not ours any more; in a transaction nobody takes it over.
        keep: store the reading beside the file for the next call, until `feed_reading.forget`.

    Raises:
        NotAFeed: the file is no feed or breaks off. Nothing was written.
        FullFeedError: see `force`. Nothing was written.
        OnHold: a person holds imports (I34). The records that were handled before are written.
    """
    report = ImportReport(warnings=[beside] if beside else [])
    how = profile or profile_for(workspace, path, sender)
    read_as = f"{feed_digest.VERSION} {sender.pk if sender else ''} {how.to_json()}"
    with feed_reading.opened(path if keep else None, read_as=read_as) as store:
        reading = store.reading or (yield from _read(path, how, sender, store, report))
        feed, comparison = reading.feed, reading.comparison
        if feed and (comparison is None or not skip or comparison.dry_run != dry_run):
            references = (one.reference for lines in store.spool.chunks(CHUNK) for one in lines)
            comparison = full_feed_guard.compared(
                workspace, feed.fed_by, references, dry_run=dry_run, gone=reading.gone
            )
            store.keep(replace(reading, comparison=comparison))
        _tell(report, store, comparison, workspace, sender)
        if comparison is not None and (dry_run or not skip):
            report.renamed = comparison.renamed
            report.stopped = comparison.renamed or ("" if force else comparison.fault)
        if report.stopped and not dry_run:
            raise FullFeedError(path, report)
        if feed and not dry_run:
            feed_digest.forget(workspace, feed)
        fed_by = feed.fed_by if feed else None
        taking = RecordImport(
            workspace,
            fed_by,
            report,
            now=now,
            dry_run=dry_run,
            seen_at=seen_at,
            earlier=_first_references(store, skip) if dry_run else (),
            cause=cause,
            fence=fence,
        )
        for lines in store.spool.chunks(batch_size, skip=skip):
            if not dry_run:
                workspace.refuse_held(WorkKind.IMPORTS)
            yield from taking.take(lines)
    if comparison is not None and not dry_run:
        yield from _settle(comparison, workspace, report, fence, now=now, cause=cause)
    if feed and feed.digest and not dry_run and not refused + report.refused.count:
        fence()
        feed_digest.remember(workspace, feed, now=now)
    yield report  # an empty feed has a report too


def _read(
    path: Path, profile: Profile, sender: Sender | None, store: FeedSpool, report: ImportReport
) -> Generator[ImportReport, None, FeedReading]:
    feed = Feed.of(path, sender)
    gone: list[str] = []
    is_part = False
    for line in open_lines(path, profile):
        if line.kind not in OF_THE_FILE:
            store.spool.put(line)
            report.read += 1
        elif line.kind == "gone":
            gone.append(str(line.reference))
        elif line.kind == "partial":
            is_part = True
        elif isinstance(item := line.item(), Heading):
            report.heading = item
        report.warnings.extend(line.warnings if line.kind in OF_THE_FILE else ())
        yield report
    if feed and not _is_still(feed, path, sender):
        feed = replace(feed, digest="")
    warnings = [*report.warnings]
    return store.keep(FeedReading(feed, report.heading, warnings, gone=gone if is_part else None))


def _is_still(feed: Feed, path: Path, sender: Sender | None) -> bool:
    """Return whether the file was not replaced while it was read."""
    try:
        return Feed.of(path, sender) == feed
    except NotAFeed:
        return False


def _first_references(store: FeedSpool, count: int) -> Iterator[str]:
    """Yield the references of the records among the first lines of a feed."""
    for line in islice(chain.from_iterable(store.spool.chunks(CHUNK)), count):
        if line.kind == "record" and line.reference is not None:
            yield line.reference


def _tell(
    report: ImportReport,
    store: FeedSpool,
    comparison: Comparison | None,
    workspace: Workspace,
    sender: Sender | None,
) -> None:
    """Report the facts about the feed as a whole, such as the properties that it lacks."""
    report.total = store.spool.count
    if store.reading is not None:
        report.heading, report.warnings = store.reading.heading, [*store.reading.warnings]
    if comparison is None:
        return
    report.missing = comparison.missing
    report.missing_state = missing_properties.state_of(sender)
    if report.missing_state:
        for batch in _batches(report.missing):
            report.exempt += missing_properties.exempt(workspace, batch)
    if comparison.moved:
        report.warnings.append(comparison.moved)


def _settle(
    comparison: Comparison,
    workspace: Workspace,
    report: ImportReport,
    fence: Callable[[], None],
    *,
    now: datetime,
    cause: str,
) -> Iterator[ImportReport]:
    """Apply the sender's policy to the missing properties; expect them in no later feed."""
    for batch in _batches(comparison.missing):
        workspace.refuse_held(WorkKind.IMPORTS)
        with transaction.atomic():
            fence()
            # Without properties that were settled before a worker died, or that another feed has.
            rows = full_feed_guard.brought(workspace, comparison.beside)
            rows = rows.filter(object_reference_id__in=batch)
            row_locks.lock(rows)
            if report.missing_state:
                state = report.missing_state
                missing_properties.set_state(workspace, rows, state, now=now, cause=cause)
            rows.update(fed_by=None)
        yield report


def _batches(references: list[str]) -> Iterator[list[str]]:
    return (references[start : start + CHUNK] for start in range(0, len(references), CHUNK))
