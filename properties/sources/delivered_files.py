"""What is known of the files that a source has delivered in turn, so that each is imported once.

A worker that holds the lease of the source writes it. A person skips a file, or all of a moment.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from crm_sync.sentence import Sentence, sentence
from crm_sync.work.doorbell import doorbell
from properties.models import DeliveredFile, Import, Source
from properties.models.delivered_file import FileState
from properties.models.import_ import ImportState
from properties.sources.fetch.transfer import FileVersion, Listed
from properties.sources.file_order import composed, order

BATCH = 500  # rows in one statement
_ENDED: Mapping[str | None, FileState] = {
    None: FileState.WAITING,  # it was removed: the file is imported again, without effect (I1)
    ImportState.DONE: FileState.DONE,
    ImportState.UNCHANGED: FileState.DONE,
    ImportState.PARTLY: FileState.DONE,
    ImportState.FAILED: FileState.STOPPED,
    ImportState.CANCELLED: FileState.STOPPED,
}


class Skipped(Exception):
    """A person has skipped the file since it was read. Nothing was written."""


def settle(source: Source, now: datetime) -> bool:
    """Write the end of the import that is under way; return whether it is still under way."""
    for row in DeliveredFile.objects.filter(source=source, state=FileState.TAKEN):
        done = Import.objects.filter(deliveredfile=row).only("state", "problem").first()
        if done is not None and done.state in Import.OPEN:
            return True
        state = _ENDED[done.state if done else None]
        problem = _why(done) if done and state == FileState.STOPPED else Sentence()
        mine = DeliveredFile.objects.filter(
            pk=row.pk, state=FileState.TAKEN, imported=row.imported_id
        )
        mine.update(state=state, problem=problem, at=now)
    return False


def _why(done: Import) -> Sentence:
    return Sentence.of(done.problem) if done.problem else sentence("its import was cancelled")


class KnownFiles:
    """The files of a source that are known, compared with the files that are there now.

    Args:
        there: the files in the folder by their stored names, in their order.
    """

    def __init__(self, source: Source, there: Mapping[str, Listed]) -> None:
        self._source = source
        self._there = there
        rows = list(DeliveredFile.objects.filter(source=source))
        self._rows = {row.name: row for row in rows}
        # A server may write the same name with composed letters once, and decomposed later.
        others = {composed(row.name): row for row in rows if row.name not in there}
        for name in there:
            if name not in self._rows and (row := others.pop(composed(name), None)):
                self._rows[name] = row
        done = (row.name for row in rows if row.state == FileState.DONE)
        self.last_done = max(done, key=order, default="")

    def note_gone(self, now: datetime) -> None:
        """Write which files have left the folder, and which have come back."""
        there = {self._rows[name].pk for name in self._there if name in self._rows}
        rows = self._rows.values()
        gone = {row.pk for row in rows if row.pk not in there and row.gone_at is None}
        back = {row.pk for row in rows if row.pk in there and row.gone_at is not None}
        for keys, at in ((gone, now), (back, None)):
            for some in _batches(sorted(keys)):
                DeliveredFile.objects.filter(pk__in=some).update(gone_at=at)

    def waiting(self) -> list[str]:
        """Return the stored names of the files that are not done yet, in their order."""
        return [
            name
            for name, one in self._there.items()
            if not (self.is_over(name) and _version(self._rows[name]) == one.stamp)
        ]

    def stopped(self, name: str) -> DeliveredFile | None:
        """Return the row of a file that waits for a person; None if it has changed since."""
        row = self._rows.get(name)
        is_same = row is not None and _version(row) == self._there[name].stamp
        return row if row and is_same and row.state == FileState.STOPPED else None

    def is_same(self, name: str, digest: str) -> bool:
        """Return whether a file that was written again has the content that is over."""
        return self.is_over(name) and self._rows[name].digest == digest

    def is_over(self, name: str) -> bool:
        """Return whether the last version of a file was imported or skipped."""
        return name in self._rows and self._rows[name].state in DeliveredFile.OVER

    def skip(self, before: datetime, now: datetime) -> int:
        """Skip the files that were last written before a moment; return their number.

        A file without a time is skipped too.
        """
        names = [name for name in self.waiting() if _was_there(self._there[name].stamp, before)]
        known = [(name, self._rows[name]) for name in names if name in self._rows]
        new = [
            (name, DeliveredFile(source=self._source, name=name))
            for name in names
            if name not in self._rows
        ]
        for name, row in (*known, *new):
            stamp = self._there[name].stamp
            row.size, row.modified, row.digest = stamp.size, stamp.modified[:100], ""
            row.state, row.problem, row.at = FileState.SKIPPED, "", now
            self._rows[name] = row
        columns = ("size", "modified", "digest", "state", "problem", "at")
        DeliveredFile.objects.bulk_update([row for _, row in known], columns, batch_size=BATCH)
        DeliveredFile.objects.bulk_create([row for _, row in new], batch_size=BATCH)
        return len(names)

    def write(self, name: str, now: datetime, **columns: Any) -> DeliveredFile:
        """Write columns of a file, with its size and time.

        Raises:
            Skipped: a person has skipped this file since it was read.
        """
        stamp = self._there[name].stamp
        columns |= {"size": stamp.size, "modified": stamp.modified[:100], "gone_at": None}
        row = self._rows.get(name)
        if row is None:
            made = DeliveredFile(source=self._source, name=name, at=now, **columns)
            made.save(force_insert=True)
            self._rows[name] = made
            return made
        if columns.get("state", row.state) != row.state:
            columns["at"] = now
        unchanged = DeliveredFile.objects.filter(pk=row.pk, state=row.state)
        if not unchanged.update(**columns):
            raise Skipped
        for column, value in columns.items():
            setattr(row, column, value)
        return row


def _version(row: DeliveredFile) -> FileVersion:
    return FileVersion(modified=row.modified, size=row.size)


def _was_there(stamp: FileVersion, at: datetime) -> bool:
    return not stamp.modified or float(stamp.modified) <= at.timestamp()


def _batches(keys: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(keys), BATCH):
        yield keys[start : start + BATCH]


def skip_all(sources: QuerySet[Source], now: datetime) -> int:
    """Let a worker skip all files that lie in the folders of sources now.

    Returns:
        the number of sources whose files are delivered one after the other.
    """
    mine = sources.filter(delivery=Source.Delivery.IN_TURN)
    count = mine.update(skips_before=now, due_at=now)
    doorbell.ring_each(Source.QUEUE, mine.order_by().values_list("workspace_id", flat=True))
    return count


def skip(files: QuerySet[DeliveredFile], now: datetime) -> int:
    """Skip files that wait, and let their sources go on with the next file.

    Returns:
        the number of skipped files.
    """
    waiting = files.filter(state__in=DeliveredFile.MAY_SKIP)
    count = 0
    for key, source_id, workspace_id in list(
        waiting.values_list("pk", "source_id", "source__workspace_id")
    ):
        with transaction.atomic():
            mine = waiting.filter(pk=key)
            if not mine.update(state=FileState.SKIPPED, at=now):
                continue
            sources = Source.objects.filter(pk=source_id)
            sources.update(attempts=0, problem="")
            sources.filter(is_enabled=True).update(due_at=now)
            doorbell.ring(Source.QUEUE, workspace_id)
        count += 1
    return count
