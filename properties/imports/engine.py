"""A feed file becomes edits: new, changed, unchanged, refused, each with its reason.

A file is read to its end before the first write, and its records wait in a spool. A digest shows
which records are the same as in the last feed. Then the records are handled in their order, so an
import that was interrupted goes on where it stopped.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from django.db import transaction

from crm_sync.models import Workspace
from properties.feeds import (
    OF_THE_FILE,
    Heading,
    Line,
    NotAFeed,
    Profile,
    Spool,
    open_lines,
    open_spool,
)
from properties.imports import last_feed, missing
from properties.imports.apply import Taking
from properties.imports.full_feed_guard import FullFeedGuard
from properties.imports.last_feed import Feed
from properties.imports.profiles import profile_for
from properties.imports.report import Report
from properties.models import Sender

CHUNK = 100  # records whose properties are read by one query, and made by one transaction


class Stopped(NotAFeed):
    """A full feed lacks too much: nothing is imported unless a person insists."""

    def __init__(self, path: Path, report: Report) -> None:
        super().__init__(f"{path.name}: {report.stopped}")
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
) -> Iterator[Report]:
    """Import every record of a feed file; yield the report as it grows.

    It is yielded for each record that was read, for each that was handled, and at the end.

    A record of a full feed changes only the fields that are new or different since the last import,
    so what people edited here in between stays. A table of our columns is itself such an edit: each
    of its cells counts, whatever the last full feed said.

    Args:
        sender: whose way of writing the file follows; None takes what most senders mean.
        profile: what a person has seen a preview with, where the sender was changed since.
        force: import a full feed although it is empty or lacks more than `FEED_MISSING_SHARE` of
            the last one; not one that would name its properties anew. A dry run goes on without
            it and says so in `stopped`.
        skip: how many records of the file were handled before; the report leaves them out.
        refused: how many of them were refused.
        beside: what was packed with the file and is left out, in words.
        batch_size: how many records are handled between two yields at most.
        seen_at: when the preview began that a person has released. A record that would replace
            what somebody else changed since then is refused, with both values.

    Raises:
        NotAFeed: it is no feed or breaks off; nothing was written.
        Stopped: see `force`; nothing was written.
    """
    report = Report(warnings=[beside] if beside else [])
    feed = Feed.of(path, sender)
    guard = FullFeedGuard(workspace, feed.fed_by) if feed else None
    with open_spool() as spool:
        read_as = profile or profile_for(workspace, path, sender)
        yield from _read(open_lines(path, read_as), guard, spool, report)
        if guard is not None:
            _compare(guard, workspace, sender, report)
            report.renamed = "" if skip else guard.renamed()
            report.stopped = report.renamed or ("" if force or skip else guard.fault())
        if report.stopped and not dry_run:
            raise Stopped(path, report)
        if feed and not dry_run:
            last_feed.forget(workspace, feed)
        fed_by = feed.fed_by if feed else None
        taking = Taking(workspace, fed_by, report, now=now, dry_run=dry_run, seen_at=seen_at)
        for lines in spool.chunks(batch_size):
            yield from taking.take(lines[skip:])
            skip = max(0, skip - len(lines))
    if guard is not None and not dry_run:
        yield from _settle(guard, workspace, report, now=now)
    if (
        feed
        and not dry_run
        and not refused + report.refused.count
        and _is_still(feed, path, sender)
    ):
        last_feed.remember(workspace, feed, now=now)
    yield report  # an empty feed has one too


def _compare(
    guard: FullFeedGuard, workspace: Workspace, sender: Sender | None, report: Report
) -> None:
    """Report what a feed, read to its end, lacks, and what becomes of that."""
    report.missing = guard.missing()
    report.missing_state = missing.state_of(sender)
    if report.missing_state:
        for batch in _batches(report.missing):
            report.exempt += missing.exempt(workspace, batch)
    if moved := guard.moved():
        report.warnings.append(moved)


def _settle(
    guard: FullFeedGuard, workspace: Workspace, report: Report, *, now: datetime
) -> Iterator[Report]:
    """Do with what is missing as the sender wants, and expect it no longer."""
    for batch in _batches(report.missing):
        with transaction.atomic():
            if report.missing_state:
                missing.set_state(workspace, batch, report.missing_state, now=now)
            guard.let_go(batch)
        yield report


def _is_still(feed: Feed, path: Path, sender: Sender | None) -> bool:
    """Tell whether the file was not replaced while it was read."""
    try:
        return Feed.of(path, sender) == feed
    except NotAFeed:
        return False


def _batches(references: list[str]) -> Iterator[list[str]]:
    return (references[start : start + CHUNK] for start in range(0, len(references), CHUNK))


def _read(
    lines: Iterator[Line], guard: FullFeedGuard | None, spool: Spool, report: Report
) -> Iterator[Report]:
    """Read the file to its end and put it into the spool; of what is unchanged, only that it is."""
    total = 0
    for line in lines:
        if line.kind in OF_THE_FILE:
            item = line.item()
            if isinstance(item, Heading):
                report.heading = item
            report.warnings.extend(line.warnings)
            continue
        total += 1
        kept = line
        if guard is not None:
            known = None if line.kind == "refusal" else line.digest
            if guard.meet(line.reference, known):
                kept = line.without_body()
        spool.put(kept)
        yield report
    report.total = total
