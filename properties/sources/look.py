"""One fetch of a source in a worker: what both kinds of deliveries share.

A fetch may take as long as the file needs, up to SOURCE_DEADLINE. Its lease is renewed while it
runs. Every write requires that the lease is still ours.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from crm_sync.mail import mails_are_sent
from crm_sync.models import due
from crm_sync.platform.errors import RejectedError, SyncError, TransientError, problem_of
from crm_sync.secrets import SecretUnreadable
from crm_sync.sentence import sentence
from crm_sync.text import clean
from crm_sync.work import queues
from crm_sync.work.leases import Claim, LeaseLost
from properties.imports import feed_digest, upload
from properties.models import Fetch, Import, Source
from properties.models.source import FetchOutcome
from properties.sources import source_times
from properties.sources.address import parsed
from properties.sources.arrival import Arrived, SourceFiles
from properties.sources.fetch.transfer import Fetched, Place, StillUploaded
from properties.sources.source_times import next_fetch

SOONEST = timedelta(minutes=1)  # the shortest wait before a failed fetch is tried again
KNOWN = (Import.State.RUNNING, Import.State.DONE, Import.State.PARTLY)
BESIDE = 100  # names of files beside a feed that are stored
# What a person may change while a fetch runs, whose result is then about something else: `set_at`
# stands for address, sender and delivery.
CHOSEN = ("set_at", "insists")
LOOKS = 100  # stored fetches of a source that found nothing new, and as many others


class LookOutcome(StrEnum):
    """The result of one fetch of a source."""

    UNCHANGED = "unchanged"
    NEW = "new"
    WAITS = "waits"  # the file may still be uploaded
    UNDER_WAY = "under way"  # the last file in turn is still being imported
    STOPPED = "stopped"  # a file in turn waits for a person
    FAILED = "did not come"
    REFUSED = "refused"
    OFF = "off"
    CHANGED = "changed meanwhile"


class SourceChanged(Exception):
    """A person has chosen something else since the claim: nothing was written, fetch again."""


@dataclass(frozen=True)
class FailedFetch:
    """What a fetch that failed writes besides the error.

    Attributes:
        fetch: columns of the row of the history.
        columns: columns of the source.
        not_before: when it can be tried again at the earliest.
    """

    fetch: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    not_before: datetime | None = None


class SourceLook:
    """One fetch of a source."""

    def __init__(self, claim: Claim[Source]) -> None:
        self.claim, self.row = claim, claim.row
        self.started = time.monotonic()
        self.read_as = feed_digest.read_as(self.row.sender)
        self.files = SourceFiles(self.row.pk)

    def run(self) -> LookOutcome:
        """Fetch what is new.

        Raises:
            LeaseLost: another worker holds the row now. Nothing was written.
            Stop: this process ends. Nothing was written.
        """
        if not self.row.is_wanted:
            self.claim.finish(due_at=None)
            return LookOutcome.OFF
        try:
            return self._fetched_or_failed()
        except SourceChanged:
            self.claim.finish(due_at=timezone.now())
            return LookOutcome.CHANGED
        finally:
            self.files.clear()

    def _fetched_or_failed(self) -> LookOutcome:
        try:
            return self.fetched()
        except (RejectedError, SecretUnreadable) as error:
            return self.refused(error)
        except StillUploaded as error:
            return self.failed(error, FetchOutcome.WAITS, LookOutcome.WAITS)
        except TransientError as error:
            return self.failed(error)

    def fetched(self) -> LookOutcome:
        """Fetch what is new, and write the result."""
        raise NotImplementedError

    def place(self) -> Place:
        """Return the address of the source, with the data that is needed to fetch it.

        Raises:
            RejectedError: a source cannot have this address.
            SecretUnreadable: the secret cannot be decrypted.
            LeaseLost, SourceChanged: another worker has it now, or a person has changed it.
        """
        row = self.claim.fenced.first()  # with its secret, which no other address may get (S13)
        if row is None:
            raise LeaseLost
        if row.set_at != self.row.set_at:
            raise SourceChanged
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

    def check(self) -> float:
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

    def is_known(self) -> bool:
        """Return whether an import was released since the source was set up or changed."""
        mine = Import.objects.filter(source=self.row, uploaded_at__gte=self.row.set_at)
        return mine.filter(released_at__isnull=False, state__in=KNOWN).exists()

    def refused(self, error: Exception, more: FailedFetch = FailedFetch()) -> LookOutcome:
        """Write that a person must change something first."""
        attempts = max(self.row.attempts + 1, source_times.TRIES)
        columns = {**more.columns, "attempts": attempts, "problem": problem_of(error)}
        self.end(Fetch.Outcome.REFUSED, {**more.fetch, "text": problem_of(error)}, columns)
        return LookOutcome.REFUSED

    def failed(
        self,
        error: SyncError,
        outcome: FetchOutcome = FetchOutcome.FAILED,
        told: LookOutcome = LookOutcome.FAILED,
        more: FailedFetch = FailedFetch(),
    ) -> LookOutcome:
        """Write that the fetch is tried again soon."""
        attempts, now = self.row.attempts + 1, timezone.now()
        columns = {**more.columns, "attempts": attempts, "problem": problem_of(error)}
        if (planned := self.next(now)) is not None:
            soon = max(now + max(SOONEST, due.backoff(attempts)), more.not_before or now)
            columns["due_at"] = min(planned, soon)
        self.end(outcome, {**more.fetch, "text": problem_of(error)}, columns)
        return told

    def end(self, outcome: str, fetch: dict[str, Any], columns: dict[str, Any]) -> None:
        """Write the fetch into the history, and release the row.

        Args:
            fetch: columns of the row of the history.
            columns: columns of the source, with `attempts`.

        Raises:
            SourceChanged: a person has changed it since the claim.
        """
        now, row = timezone.now(), self.row
        ends = {"goes_on": False} if row.goes_on else {}
        columns = {"due_at": self.next(now), "fetched_at": now, **ends, **columns}
        if row.is_asked:
            columns |= {"is_asked": False, "insists": False}
        seconds = round(time.monotonic() - self.started, 3)
        with transaction.atomic():
            is_alarm = row.attempts < source_times.TRIES <= columns["attempts"]
            add_look(row, outcome, is_alarm=is_alarm, now=now, seconds=seconds, **fetch)
            if (
                "changed_at" not in columns
                and row.away_since is None
                and source_times.is_away(row, now)
            ):
                columns["away_since"] = now
                text = source_times.away_text(row, now)
                add_look(row, Fetch.Outcome.AWAY, is_alarm=True, now=now, text=text)
            same = {name: getattr(row, name) for name in CHOSEN}
            if not self.claim.finish_if(columns, **same):
                raise SourceChanged

    @contextmanager
    def importing(self, name: str, arrived: Arrived, now: datetime) -> Iterator[Import]:
        """Queue the import of a fetched file; remove the file if the block fails."""
        row = self.row
        new = Import(
            workspace_id=row.workspace_id,
            sender=row.sender,
            source=row,
            name=clean(name)[0][:255],
            force=row.insists,
        )
        upload.keep(new, arrived.path, is_released=self.is_known(), now=now)
        try:
            yield new
        except BaseException:
            new.path.unlink()
            raise

    def next(self, now: datetime) -> datetime | None:
        """Return when the schedule fetches next; None if it is off."""
        row = self.row
        if not row.is_enabled:
            return None
        zone = timezone.get_default_timezone()
        return next_fetch(row.every_minutes, row.daily_at, now=now, zone=zone)


def came(arrived: Arrived) -> dict[str, Any]:
    """Return the columns of the history that describe a fetched file."""
    beside = [*arrived.fetched.beside, *arrived.unpacked.beside]
    return {
        "name": clean(arrived.fetched.name)[0][:255],
        "size": arrived.size,
        "beside": clean(beside[:BESIDE])[0],
        "beside_count": len(beside),
    }


def remembered(fetched: Fetched) -> dict[str, Any]:
    """Return the columns that identify the file at the next fetch."""
    etag, modified = clean(fetched.stamp.etag)[0], clean(fetched.stamp.modified)[0]
    columns: dict[str, Any] = {
        "etag": etag if len(etag) <= 500 else "",
        "modified": modified if len(modified) <= 100 else "",
        "size": fetched.stamp.size,
    }
    return columns | ({"host_key": fetched.host_key} if fetched.host_key else {})


def add_look(
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
