"""Fetch a source in a worker. A new file becomes an import, and each fetch a row of the history.

The first import of a source waits for a person. Later imports are released automatically, unless
the guard of full feeds refuses them. A fetch may take as long as the file needs, up to
SOURCE_DEADLINE. Its lease is renewed while it runs.
"""

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync import permits
from crm_sync.mail import mails_are_sent
from crm_sync.models import due
from crm_sync.platform.errors import RejectedError, SyncError, TransientError, problem_of
from crm_sync.platform.work_kind import WorkKind
from crm_sync.secrets import SecretUnreadable
from crm_sync.sentence import sentence
from crm_sync.text import clean
from crm_sync.work import leases, queues
from crm_sync.work.leases import Claim
from crm_sync.work.queues import RowQueue, Turn
from properties.imports import feed_digest, upload
from properties.models import Fetch, Import, Source
from properties.models.source import FetchOutcome
from properties.sources import source_times
from properties.sources.address import parsed
from properties.sources.arrival import Arrived, SourceFiles
from properties.sources.fetch.transfer import Fetched, FileVersion, Place, StillUploaded
from properties.sources.source_times import next_fetch

QUEUE = "sources"
SOONEST = timedelta(minutes=1)  # the shortest wait before a failed fetch is tried again
LONGEST_WAIT = timedelta(days=8)  # a schedule has at most a week between two fetches
KNOWN = (Import.State.RUNNING, Import.State.DONE, Import.State.PARTLY)
WELL = (Import.State.DONE, Import.State.UNCHANGED, *Import.OPEN)
BESIDE = 100  # names of files beside a feed that are stored
LOOKS = 100  # stored fetches of a source that found nothing new, and as many others


class LookOutcome(StrEnum):
    """The result of one fetch of a source."""

    UNCHANGED = "unchanged"
    NEW = "new"
    WAITS = "waits"  # the file may still be uploaded
    FAILED = "did not come"
    REFUSED = "refused"
    OFF = "off"


def work(claims: Sequence[Claim[Source]], turn: Turn) -> list[LookOutcome]:
    """Fetch some sources; the `work` of the queue.

    Raises:
        LeaseLost: another worker holds the row now. Nothing was written.
        Stop: this process ends. Nothing was written.
    """
    return [_Look(claim).run() for claim in claims]


SOURCES = RowQueue(
    name=QUEUE,
    title=_("sources"),
    rows=lambda now: Source.objects.all(),
    work=work,
    calls=False,
    lease=leases.SHORT_LEASE,
    wait=LONGEST_WAIT,
    work_kind=WorkKind.IMPORTS,
    # The secret is read later: so an unreadable secret affects only its own row.
    columns=[one.name for one in Source._meta.concrete_fields if one.name != "secret"],
)


class _Look:
    """One fetch of a source. Every write requires that the lease is still ours."""

    def __init__(self, claim: Claim[Source]) -> None:
        self.claim, self.row = claim, claim.row
        self.started = time.monotonic()
        self.read_as = feed_digest.read_as(self.row.sender)

    def run(self) -> LookOutcome:
        if not (self.row.is_enabled or self.row.is_asked):
            self.claim.finish(due_at=None)
            return LookOutcome.OFF
        files = SourceFiles(self.row.pk)
        try:
            place, known = self._place(), self._known()
            with permits.away():
                arrived = files.take(place, known, self._check)
            if arrived is None or self._is_same(arrived):
                return self._unchanged(arrived)
            return self._import(arrived)
        except (RejectedError, SecretUnreadable) as error:
            return self._refused(error)
        except StillUploaded as error:
            return self._failed(error, FetchOutcome.WAITS, LookOutcome.WAITS)
        except TransientError as error:
            return self._failed(error)
        finally:
            files.clear()

    def _place(self) -> Place:
        row = self.row
        try:
            address = parsed(row.address)
        except ValueError as error:
            raise RejectedError(str(error), status=0) from None
        return Place(
            address,
            row.user,
            row.secret,
            row.host_key,
            settings.SOURCE_INTERNAL_HOSTS,
            settings.SOURCE_FOLDERS,
            row.sign_in,
            row.header,
        )

    def _known(self) -> FileVersion:
        row = self.row
        if row.is_asked or row.read_as != self.read_as:
            return FileVersion()
        return FileVersion(row.etag, row.modified, row.size)

    def _check(self) -> float:
        """Return the seconds that the fetch may still take, or end it.

        Raises:
            Stop: this process ends.
            TransientError: the deadline has passed.
        """
        now = time.monotonic()
        if queues.ending.is_set():
            raise queues.Stop
        if now - self.started > settings.SOURCE_DEADLINE:
            seconds = round(settings.SOURCE_DEADLINE)
            raise TransientError(
                sentence("not all of it came within %(seconds)s seconds", seconds=seconds),
                unclear=False,
            )
        left: float = settings.SOURCE_DEADLINE - (now - self.started)
        return left

    def _is_same(self, arrived: Arrived) -> bool:
        """Return whether a file is the same as the last one.

        If a person requested the fetch, the last import must also be open or without problems.
        """
        row = self.row
        if row.insists or (arrived.digest, self.read_as) != (row.digest, row.read_as):
            return False
        last = Import.objects.filter(source=row).order_by("-pk").first()
        return not row.is_asked or (last is not None and last.state in WELL)

    # --- its result ---
    def _unchanged(self, arrived: Arrived | None) -> LookOutcome:
        came = _came(arrived) if arrived else {}
        stamp = _remembered(arrived.fetched) if arrived else {}
        self._end(Fetch.Outcome.UNCHANGED, came, {"attempts": 0, "problem": "", **stamp})
        return LookOutcome.UNCHANGED

    def _import(self, arrived: Arrived) -> LookOutcome:
        row, now = self.row, timezone.now()
        new = Import(
            workspace_id=row.workspace_id,
            sender=row.sender,
            source=row,
            name=clean(arrived.unpacked.name)[0][:255],
            force=row.insists,
        )
        stands: dict[str, Any] = {"digest": arrived.digest, "read_as": self.read_as}
        stands |= {"changed_at": now, "away_since": None, "attempts": 0, "problem": ""}
        waiting = Import.objects.filter(source=row, state__in=[*Import.OPEN], released_at=None)
        with transaction.atomic():
            upload.cancel(waiting, now=now)
            upload.keep(new, arrived.path, is_released=self._is_known(), now=now)
            try:
                columns = _came(arrived) | {"imported": new}
                self._end(Fetch.Outcome.IMPORT, columns, stands | _remembered(arrived.fetched))
            except BaseException:
                new.path.unlink()
                raise
        return LookOutcome.NEW

    def _is_known(self) -> bool:
        """Return whether an import was released since the source was set up or changed."""
        mine = Import.objects.filter(source=self.row, uploaded_at__gte=self.row.set_at)
        return mine.filter(released_at__isnull=False, state__in=KNOWN).exists()

    def _refused(self, error: Exception) -> LookOutcome:
        attempts = max(self.row.attempts + 1, source_times.TRIES)
        columns = {"attempts": attempts, "problem": problem_of(error)}
        self._end(Fetch.Outcome.REFUSED, {"text": problem_of(error)}, columns)
        return LookOutcome.REFUSED

    def _failed(
        self,
        error: SyncError,
        outcome: FetchOutcome = FetchOutcome.FAILED,
        told: LookOutcome = LookOutcome.FAILED,
    ) -> LookOutcome:
        attempts, now = self.row.attempts + 1, timezone.now()
        columns: dict[str, Any] = {"attempts": attempts, "problem": problem_of(error)}
        if (planned := self._next(now)) is not None:
            soon = now + max(SOONEST, due.backoff(attempts))
            columns["due_at"] = min(planned, soon)
        self._end(outcome, {"text": problem_of(error)}, columns)
        return told

    def _end(self, outcome: str, fetch: dict[str, Any], columns: dict[str, Any]) -> None:
        """Write the fetch into the history, and release the row."""
        now, row = timezone.now(), self.row
        columns = {"due_at": self._next(now), "fetched_at": now, **columns}
        if row.is_asked:
            columns |= {"is_asked": False, "insists": False}
        seconds = round(time.monotonic() - self.started, 3)
        with transaction.atomic():
            is_alarm = row.attempts < source_times.TRIES <= columns["attempts"]
            _add_look(row, outcome, is_alarm=is_alarm, now=now, seconds=seconds, **fetch)
            if (
                "changed_at" not in columns
                and row.away_since is None
                and source_times.is_away(row, now)
            ):
                columns["away_since"] = now
                text = source_times.away_text(row, now)
                _add_look(row, Fetch.Outcome.AWAY, is_alarm=True, now=now, text=text)
            self.claim.finish(**columns)

    def _next(self, now: datetime) -> datetime | None:
        row = self.row
        if not row.is_enabled:
            return None
        zone = timezone.get_default_timezone()
        return next_fetch(row.every_minutes, row.daily_at, now=now, zone=zone)


def _came(arrived: Arrived) -> dict[str, Any]:
    beside = [*arrived.fetched.beside, *arrived.unpacked.beside]
    return {
        "name": clean(arrived.fetched.name)[0][:255],
        "size": arrived.size,
        "beside": clean(beside[:BESIDE])[0],
        "beside_count": len(beside),
    }


def _remembered(fetched: Fetched) -> dict[str, Any]:
    """Return the columns that identify the file at the next fetch."""
    etag, modified = clean(fetched.stamp.etag)[0], clean(fetched.stamp.modified)[0]
    columns: dict[str, Any] = {
        "etag": etag if len(etag) <= 500 else "",
        "modified": modified if len(modified) <= 100 else "",
        "size": fetched.stamp.size,
    }
    return columns | ({"host_key": fetched.host_key} if fetched.host_key else {})


def _add_look(
    source: Source, outcome: str, *, is_alarm: bool, now: datetime, **columns: Any
) -> Fetch:
    """Write a fetch, and remove the oldest fetches of its kind.

    Args:
        is_alarm: whether the fetch is mailed at once. An import is mailed when it has ended.
    """
    is_told = is_alarm and bool(source.mail_to) and mails_are_sent()
    new = Fetch.objects.create(
        workspace_id=source.workspace_id,
        source=source,
        outcome=outcome,
        at=now,
        due_at=now if is_told else None,
        **columns,
    )
    looks = Fetch.objects.filter(source=source)
    nothing = looks.filter(outcome=Fetch.Outcome.UNCHANGED)
    alike = nothing if outcome == Fetch.Outcome.UNCHANGED else looks.exclude(pk__in=nothing)
    kept = alike.order_by("-at", "-pk").values_list("pk", flat=True)[LOOKS:]
    Fetch.objects.filter(pk__in=list(kept)).delete()
    return new
