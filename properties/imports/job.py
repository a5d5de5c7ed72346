"""A worker imports an upload in slices, with progress, and can be cancelled at any record.

The first slice reads the file to its end, however long that takes, and the reading is stored until
the import ends (`properties.imports.feed_reading`). Each slice then works for at least five
seconds. The progress is written every half second, and the next slice continues there, in any
worker. If a worker dies, the records of that half second are imported again. This changes nothing
(I1): they then count as unchanged.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync import durability, permits
from crm_sync.mail import mails_are_sent
from crm_sync.models import due
from crm_sync.platform.errors import OnHold
from crm_sync.platform.work_kind import WorkKind
from crm_sync.sentence import Sentence, sentence
from crm_sync.work import leases, queues
from crm_sync.work.doorbell import doorbell
from crm_sync.work.leases import Claim, LeaseLost
from crm_sync.work.queues import RowQueue, Turn
from properties.feeds import NotAFeed, Profile, ReaderEnded
from properties.imports import feed_digest, feed_reading
from properties.imports.engine import CHUNK, import_feed
from properties.imports.packed_file import unpack_in_place
from properties.imports.profiles import profile_for
from properties.imports.report import (
    ImportReport,
    Summary,
    accepted,
    added,
    as_stored,
    count,
    handled,
)
from properties.imports.upload import QUEUE
from properties.models import Fetch, Import, Source
from properties.models.change import Cause
from properties.models.import_ import ImportState as State

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 5
KEPT = timedelta(days=7)  # the time that a file waits for a person
# An import computes for seconds without a call, and holds its permit in that time. So a process
# runs only a few imports at a time, lets a few more wait for a place, and postpones the others.
TOGETHER, IN_LINE = 4, 16
LATER = timedelta(seconds=5)
_places = threading.BoundedSemaphore(TOGETHER)
_line = threading.BoundedSemaphore(IN_LINE)


class SliceOutcome(StrEnum):
    """The result of a slice that did not end its import."""

    GOES_ON = "goes on"
    PUT_OFF = "put off"
    FILE_REMOVED = "file removed"
    NO_ROOM = "no room"


@dataclass(frozen=True)
class SliceLimits:
    """The interval at which a slice writes its progress, and the least time that it works."""

    save: float = 0.5  # seconds between two writes of the progress
    least: float = 5.0  # seconds of work, without the time to skip finished records
    batch_size: int = CHUNK  # records between two checks of the clock and for a cancellation


class GivenUp(Exception):
    """The import of this file cannot continue. The message has the reason."""


class _Cancelled(Exception):
    """A person has cancelled the import. `columns` has the values that are still to be written."""

    def __init__(self, columns: dict[str, Any]) -> None:
        super().__init__()
        self.columns = columns


def ready() -> QuerySet[Import]:
    """Return the imports that workers may take; only the first released one of each workspace.

    Two files may have the same property. So the file that was released later is imported later.
    """
    earlier = Import.objects.filter(
        Q(released_at__lt=OuterRef("released_at"))
        | Q(released_at=OuterRef("released_at"), pk__lt=OuterRef("pk")),
        workspace=OuterRef("workspace"),
        state=State.RUNNING,
    )
    return Import.objects.filter(~Q(state=State.RUNNING) | ~Exists(earlier))


def _slices(claims: Sequence[Claim[Import]], turn: Turn) -> list[State | SliceOutcome]:
    with _place() as is_free:
        return [work(one, until=turn.ends_at) if is_free else _come_again(one) for one in claims]


@contextmanager
def _place() -> Iterator[bool]:
    """Hold a place for imports in this block; yield False if too many wait for a place."""
    if not _line.acquire(blocking=False):
        yield False
        return
    try:
        with permits.away():
            _places.acquire()
        try:
            yield True
        finally:
            _places.release()
    finally:
        _line.release()


def _come_again(claim: Claim[Import]) -> SliceOutcome:
    claim.row.due_at = timezone.now() + LATER * random.uniform(0.5, 1.5)
    claim.give_back()
    return SliceOutcome.NO_ROOM


IMPORTS = RowQueue(
    name=QUEUE,
    title=_("imports"),
    rows=lambda now: ready(),
    work=_slices,
    calls=False,
    lease=leases.SHORT_LEASE,
    work_kind=WorkKind.IMPORTS,
)


def work(
    claim: Claim[Import],
    *,
    until: float,
    limits: SliceLimits = SliceLimits(),
    clock: Callable[[], datetime] = timezone.now,
) -> State | SliceOutcome:
    """Do the next slice of one upload.

    Args:
        until: when to return an unfinished upload to the queue, by the monotonic clock.

    Returns:
        the new state of the import, or the reason why the state is the same.

    Raises:
        LeaseLost: another worker or a person has the upload now. Nothing more was written.
    """
    return _Slice(claim, until, limits, clock).run()


@dataclass
class _Slice:
    """One running slice. Every write requires that the lease and the state are still the same."""

    claim: Claim[Import]
    until: float
    limits: SliceLimits
    clock: Callable[[], datetime]

    def __post_init__(self) -> None:
        self.row = self.claim.row
        self.report = ImportReport()
        self.saved_at = time.monotonic()
        self.column = "preview" if self.row.state == State.PREVIEWING else "report"
        self.before: Summary = getattr(self.row, self.column)

    def run(self) -> State | SliceOutcome:
        try:
            return self._run()
        except _Cancelled as asked:
            return self._end(State.CANCELLED, **asked.columns)
        except (NotAFeed, GivenUp) as error:
            row, reason = self.row, str(error)
            asks = row.state == State.PREVIEWING and "heading" in row.preview
            if asks and isinstance(error, NotAFeed):  # a person may assign the columns
                return self._ask(total=0, preview=row.preview, problem=self._worded(reason))
            return self._fail(reason)
        except LeaseLost:
            raise
        except ReaderEnded as error:
            log.exception("%s of workspace %s", self.row, self.row.workspace_id)
            return self._put_off(str(error))
        except Exception:
            # A bug of ours, or a time-out, must not stop the uploads after this one.
            log.exception("%s of workspace %s", self.row, self.row.workspace_id)
            return self._put_off(sentence("An error of ours stopped it: the log says more."))

    def _run(self) -> State | SliceOutcome:
        row = self.row
        if row.state not in Import.OPEN:
            feed_reading.forget(row.path)
            row.path.unlink(missing_ok=True)
            self._leave(due_at=None)
            return SliceOutcome.FILE_REMOVED
        if row.cancel_asked:
            return self._end(State.CANCELLED)
        if row.state == State.PREVIEWED:
            told = sentence("Nobody released it for %(days)s days.", days=KEPT.days)
            return self._end(State.CANCELLED, problem=told)
        if self.claim.abandoned:
            self._count_death()
        if not row.path.exists():
            return self._put_off(
                sentence("Its file is not here: web and workers must share DATA_DIR.")
            )
        if row.total is None and (told := self._begin()):
            return self._end(State.UNCHANGED, problem=told)
        return self._go_on()

    def _ask(self, **columns: Any) -> State:
        now = self.clock()
        self._leave(state=State.PREVIEWED, due_at=now + KEPT, attempts=0, **columns)
        _let_mail_go(self.row, now)
        return State.PREVIEWED

    def _count_death(self) -> None:
        """Count a worker that died during the import, and give up a file that kills workers."""
        self._write(attempts=self.row.attempts + 1)
        if self.row.attempts >= MAX_ATTEMPTS:
            raise GivenUp(
                sentence(
                    "%(count)s workers began this import, and none of them finished it.",
                    count=MAX_ATTEMPTS,
                )
            )

    def _begin(self) -> Sentence:
        """Unpack the file, and store its profile and the time from which on a person sees it.

        Returns:
            a sentence if the sender's last feed was the same; "" if the file has to be read.
        """
        row = self.row
        beside = unpack_in_place(row.path).stored or row.preview.get("beside", "")
        since = feed_digest.unchanged_since(row.workspace, row.path, row.sender)
        if since and not row.force:
            return sentence("The same feed was imported on %(at)s", at=since)
        profile = asdict(profile_for(row.workspace, row.path, row.sender))
        seen = {"profile": profile, "seen_at": self.clock().isoformat()}
        self._write(preview=seen | ({"beside": beside} if beside else {}))
        return Sentence()

    def _go_on(self) -> State | SliceOutcome:
        try:
            with doorbell.bulk():
                return self._take_steps()
        except OnHold:
            return self._goes_on(attempts=0, **self._progress())

    def _take_steps(self) -> State | SliceOutcome:
        worked = False
        for report in steps(self.row, self.clock(), self.limits.batch_size, self._fence):
            if report.total is None:
                self._reading(report)
                if queues.ending.is_set():  # the next worker reads it from its beginning
                    return self._goes_on()
                continue
            if self.row.total is None:
                self._write(total=report.total, done=0, preview=self.row.preview)
                self.before = getattr(self.row, self.column)
            self.report = report
            if not worked and report.handled:
                worked, self.until = True, max(self.until, time.monotonic() + self.limits.least)
            if self._is_time():
                self._write(**self._progress())
            if worked and (time.monotonic() >= self.until or queues.ending.is_set()):
                return self._goes_on(attempts=0, problem="", **self._progress())
        # In a preview this is the reason why the feed as a whole would be refused.
        columns = self._progress() | {"problem": self._worded(self.report.stopped)}
        if self.row.state == State.PREVIEWING:
            return self._ask(**columns)
        summary = columns[self.column]
        with_refusals = State.PARTLY if accepted(summary) else State.FAILED
        return self._end(with_refusals if count(summary, "refused") else State.DONE, **columns)

    def _reading(self, report: ImportReport) -> None:
        """Renew the lease and write the progress while the file is read; it can be cancelled."""
        if report.heading:
            self.row.preview["heading"] = as_stored(report.heading)
        if self._is_time():
            self._write(**({"done": report.read} if self.row.total is None else {}))

    def _goes_on(self, **columns: Any) -> SliceOutcome:
        self._leave(due_at=self.clock(), **columns)
        doorbell.ring(QUEUE, self.row.workspace_id)
        return SliceOutcome.GOES_ON

    def _progress(self) -> dict[str, Any]:
        summary = added(self.before, self.report)
        return {self.column: summary, "done": handled(summary)}

    def _is_time(self) -> bool:
        now = time.monotonic()
        if now - self.saved_at < self.limits.save:
            return False
        self.saved_at = now
        return True

    # --- writing ---
    def _write(self, **columns: Any) -> None:
        """Write columns, and renew the lease."""
        lease = {"lease_until": self.clock() + self.claim.lease.length}
        if not self.claim.write(columns | lease, **self._wanted()):
            raise self._lost(columns)
        for name, value in columns.items():
            setattr(self.row, name, value)

    def _fence(self) -> None:
        """Renew the lease. In a transaction, nobody else can take the row until it ends.

        Raises:
            LeaseLost: another worker has the upload now, and perhaps a later one of its sender.
        """
        if not self.claim.write({"lease_until": self.clock() + self.claim.lease.length}):
            raise LeaseLost

    def _leave(self, **columns: Any) -> None:
        if not self.claim.finish_if(columns, **self._wanted()):
            raise self._lost(columns)

    def _wanted(self) -> dict[str, Any]:
        """Return the conditions on the row under which the work may continue."""
        state = self.row.state
        return {"state": state} | ({"cancel_asked": False} if state in Import.OPEN else {})

    def _lost(self, columns: dict[str, Any]) -> Exception:
        if self.claim.fenced.filter(state=self.row.state).exists():
            return _Cancelled({k: v for k, v in columns.items() if k in {self.column, "done"}})
        return LeaseLost()

    def _end(self, state: State, **columns: Any) -> State:
        now = self.clock()
        # The row is due because its file has to be removed.
        ending = {"state": state, "ended_at": now, "due_at": now, **columns}
        with durability.durable():  # the file is removed next, and the mail is sent
            if not self.claim.finish_if(ending, state=self.row.state):
                raise LeaseLost
        _let_mail_go(self.row, now)
        _let_next_file_go(self.row, now)
        return state

    def _fail(self, reason: str) -> State:
        """End the import as failed. The records that were imported remain."""
        return self._end(State.FAILED, **self._progress(), problem=self._worded(reason))

    def _put_off(self, reason: str) -> State | SliceOutcome:
        """Reschedule the rest of the import, at most `MAX_ATTEMPTS` times."""
        attempts = self.row.attempts + 1
        if attempts >= MAX_ATTEMPTS:
            return self._fail(reason)
        later = {"due_at": self.clock() + due.backoff(attempts), "attempts": attempts}
        later |= self._progress() | {"problem": self._worded(reason)}
        if not self.claim.finish_if(later, state=self.row.state):
            raise LeaseLost
        return SliceOutcome.PUT_OFF

    def _worded(self, reason: str) -> Sentence:
        """Return a reason for the database, with the file's name as people know it."""
        row = self.row
        return Sentence(reason).changed(lambda text: text.replace(row.stored_as, row.name))


def steps(
    row: Import, now: datetime, batch_size: int, fence: Callable[[], None]
) -> Iterator[ImportReport]:
    """Import the rest of the file, and yield the report while it grows."""
    dry_run = row.state == State.PREVIEWING
    seen = row.preview.get("profile")
    is_released_by_a_person = not dry_run and row.released_by_id is not None
    at = row.preview.get("seen_at") if is_released_by_a_person else None
    return import_feed(
        row.workspace,
        row.path,
        sender=row.sender,
        profile=Profile(**seen) if seen else None,  # the profile of the preview, if there was one
        now=now,
        dry_run=dry_run,
        force=row.force,
        skip=0
        if row.total is None
        else row.done,  # before the total is known, `done` counts read records
        refused=count(row.report, "refused"),
        beside=Sentence.of(row.preview.get("beside", "")),
        batch_size=batch_size,
        seen_at=datetime.fromisoformat(at) if at else None,
        keep=True,
        cause=Cause.IMPORT.of(row.pk),
        fence=fence,
    )


def _let_next_file_go(row: Import, now: datetime) -> None:
    """Make the source of an import due, if the next file of its folder waited for this import.

    If a worker dies before this, the schedule of the source does it.
    """
    if row.source_id is None:
        return
    waiting = Source.objects.filter(pk=row.source_id, delivery=Source.Delivery.IN_TURN)
    if waiting.filter(Source.WANTED).update(due_at=now):
        doorbell.ring(Source.QUEUE, row.workspace_id)


def _let_mail_go(row: Import, now: datetime) -> None:
    """Make the mail about an import due, if the import has a source with recipients."""
    if mails_are_sent():
        told = Fetch.objects.filter(imported=row.pk, source__mail_to__gt="")
        told.update(due_at=now, attempts=0)
