"""One fetch of a source to whose folder files are delivered one after the other (decision 35).

One file is imported at a time, in the order of the names. A file that fails stops the order until
it is replaced or removed, or until a person skips it: the file behind it may be a part of the
stock that only makes sense after it. A person can skip all files that are there, such as those of
the years before the source was made.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from crm_sync import permits
from crm_sync.platform.errors import RejectedError, SyncError, TransientError, problem_of
from crm_sync.sentence import Sentence, counted_sentence, sentence
from crm_sync.work.leases import LeaseLost
from properties.imports import upload
from properties.models import Import
from properties.models.delivered_file import DeliveredFile, FileState
from properties.models.source import FetchOutcome
from properties.sources.arrival import Arrived
from properties.sources.delivered_files import KnownFiles, Skipped, settle
from properties.sources.fetch import FOLDERS, listing
from properties.sources.fetch.transfer import (
    RACE,
    FileVersion,
    Listed,
    Place,
    StillUploaded,
    rejected,
    wait_for_upload,
)
from properties.sources.file_order import in_order, order
from properties.sources.look import FailedFetch, LookOutcome, SourceLook, add_look, came

WITHOUT_A_SCHEDULE = timedelta(hours=1)


class InTurnLook(SourceLook):
    """One fetch of a source whose files are imported one after the other."""

    def fetched(self) -> LookOutcome:
        """Fetch the next file, if the import of the last one has ended well."""
        before = self.row.skips_before
        if before is not None:
            waiting = Import.objects.filter(source=self.row, released_at=None)
            upload.cancel(waiting, now=timezone.now())
        if settle(self.row, timezone.now()):
            self.claim.finish(due_at=self._at_the_latest(timezone.now()))
            return LookOutcome.UNDER_WAY
        place = self.place()
        if place.address.scheme not in FOLDERS:
            raise rejected(sentence("a web server has no folder whose files are taken in turn"))
        with permits.away():
            found = listing(place, self.check)
        self.there = in_order(found.files)
        self.columns: dict[str, Any] = {"host_key": found.host_key} if found.host_key else {}
        self.known = KnownFiles(self.row, self.there)
        self.known.note_gone(timezone.now())
        if before is not None:
            self._skip(before)
        return self._next_of(replace(place, host_key=found.host_key))

    def _skip(self, before: datetime) -> None:
        """Skip the files that were there when a person wanted it.

        Raises:
            LeaseLost: another worker holds the row now, or the person has wanted it again since.
        """
        now = timezone.now()
        with transaction.atomic():
            # The files before their source, as a person who skips one of them.
            count = self.known.skip(before, now)
            if not self.claim.write({"skips_before": None}, skips_before=before):
                raise LeaseLost
            text = counted_sentence(
                "%(count)s file that was there is skipped",
                "%(count)s files that were there are skipped",
                count=count,
            )
            add_look(self.row, FetchOutcome.UNCHANGED, is_alarm=False, now=now, text=text)

    def _next_of(self, place: Place) -> LookOutcome:
        waiting = self.known.waiting()
        if not self.row.fetches:  # a person only wanted to skip
            return self._unchanged(len(waiting))
        for number, name in enumerate(waiting):
            self.columns["files_waiting"] = len(waiting) - number
            if (stopped := self.known.stopped(name)) and not self.row.is_asked:
                return self._blocked(stopped)
            if (outcome := self._take(place, name)) is not None:
                return outcome
        return self._unchanged(0)

    def _unchanged(self, waiting: int) -> LookOutcome:
        columns = {"attempts": 0, "problem": "", **self.columns, "files_waiting": waiting}
        self.end(FetchOutcome.UNCHANGED, {}, columns)
        return LookOutcome.UNCHANGED

    def _take(self, place: Place, name: str) -> LookOutcome | None:
        """Fetch a file and queue its import; return None if the next file may be taken."""
        one = self.there[name]
        try:
            if one.stamp.modified:
                now = timezone.now().timestamp()
                wait_for_upload(name, float(one.stamp.modified), now, quiet=RACE)
            with permits.away():
                arrived = self.files.take(_of(place, one), FileVersion(), self.check)
            if arrived is None or self.known.is_same(name, arrived.digest):
                self.known.write(name, timezone.now())
                return None
            return self._import(name, arrived)
        except Skipped:
            return None
        except RejectedError as error:
            return self._file_failed(name, error, FileState.STOPPED)
        except TransientError as error:
            return self._file_failed(name, error, FileState.WAITING)

    # --- its result ---
    def _import(self, name: str, arrived: Arrived) -> LookOutcome:
        row, now = self.row, timezone.now()
        with transaction.atomic():
            # This and the import are one transaction: a worker that dies leaves both or neither.
            file = self.known.write(
                name,
                now,
                state=FileState.TAKEN,
                digest=arrived.digest,
                problem="",
                imported=None,
            )
            with self.importing(name, arrived, now) as new:
                DeliveredFile.objects.filter(pk=file.pk).update(imported=new)
                self.columns["files_waiting"] -= 1
                stands = {"changed_at": now, "away_since": None, "attempts": 0, "problem": ""}
                stands |= {"goes_on": not row.is_enabled, "due_at": self._at_the_latest(now)}
                columns = came(arrived) | {"imported": new, "name": new.name}
                columns["text"] = self._late(name)
                self.end(FetchOutcome.IMPORT, columns, stands | self.columns)
        return LookOutcome.NEW

    def _at_the_latest(self, now: datetime) -> datetime:
        """Return when the order goes on if a worker dies at the end of an import.

        Otherwise this end makes the row due.
        """
        return self.next(now) or now + WITHOUT_A_SCHEDULE

    def _late(self, name: str) -> Sentence:
        """Return a text about a name that comes before one that is imported already, or ""."""
        last = self.known.last_done
        if not last or order(name) >= order(last):
            return Sentence()
        return sentence("its name comes before %(last)s, which is imported already", last=last)

    def _blocked(self, file: DeliveredFile) -> LookOutcome:
        """Write that a file stops the order. The alarm was sent when it did so first."""
        text = stops(file.name, file.problem)
        columns = {"attempts": self.row.attempts, "problem": text, **self.columns}
        self.end(FetchOutcome.UNCHANGED, {"name": file.name[:255], "text": text}, columns)
        return LookOutcome.STOPPED

    def _file_failed(self, name: str, error: SyncError, state: FileState) -> LookOutcome | None:
        """Write why a file was not taken. It is tried again, or waits for a person."""
        problem, now = problem_of(error), timezone.now()
        more = FailedFetch({"name": name[:255]}, self.columns, self._complete_at(name))
        try:
            with transaction.atomic():
                # What is over keeps its digest until it is read: it may only be written again.
                if state == FileState.STOPPED or not self.known.is_over(name):
                    self.known.write(
                        name, now, state=state, problem=problem, imported=None, digest=""
                    )
                if state == FileState.STOPPED:
                    return self.refused(error, more)
                if isinstance(error, StillUploaded):
                    return self.failed(error, FetchOutcome.WAITS, LookOutcome.WAITS, more)
                return self.failed(error, more=more)
        except Skipped:
            return None

    def _complete_at(self, name: str) -> datetime:
        """Return when a file counts as complete, if it does not change any more."""
        modified = self.there[name].stamp.modified
        at = datetime.fromtimestamp(float(modified), tz=UTC) if modified else timezone.now()
        return at + timedelta(seconds=RACE + 1)


def stops(name: str, problem: str) -> Sentence:
    """Return a text about a file that stops the order, with the reason."""
    return sentence(
        "the file %(name)s stops the order: %(reason)s", name=name, reason=Sentence.of(problem)
    )


def _of(place: Place, one: Listed) -> Place:
    """Return the place of a file in a folder."""
    address = place.address
    folder = address.path if address.path.endswith("/") else f"{address.path}/"
    return replace(place, address=replace(address, path=f"{folder}{one.name}"))
