"""A worker uploads the files of a target. The target is the row that it claims.

So a target has one worker and one connection at a time, and a target that hangs delays no other. A
target that takes nothing waits, longer each time, and is then tried with one file.

A file is put under a name of its row, and renamed when all of it is there. So nobody sees a part of
a file under its name. If a worker dies, before or after that, the next one does the same again: the
name was stored before the first byte was sent, and the target has the file once and whole.
"""

import hashlib
import io
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from enum import StrEnum
from typing import IO, Any, cast

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync import permits, row_locks
from crm_sync.models import due
from crm_sync.platform.errors import RejectedError, SyncError, TransientError, problem_of
from crm_sync.platform.work_kind import WorkKind
from crm_sync.secrets import SecretUnreadable
from crm_sync.sentence import sentence
from crm_sync.work import leases, queues
from crm_sync.work.leases import Claim, LeaseLost
from crm_sync.work.queues import RowQueue, Turn
from orders.materials.download import storage
from orders.models import MaterialFile, Target, TargetFile
from orders.targets import name_pattern, put, target_files
from orders.targets.picture_size import Picture, shrunk
from orders.targets.put.target_connection import Connection, Limits, TargetPlace, Unwelcome
from properties.sources.address import parsed

AT_ONCE = 8  # targets of a workspace
TRIES = 3  # failures in a row until a person should look; a refusal counts as all of them
DEADLINE = 900.0  # seconds for a connection, with the last file of its turn
REFUSED_WAIT = timedelta(hours=1)  # after which a target that refuses us is tried again
LONGEST_WAIT = REFUSED_WAIT + timedelta(seconds=due.BACKOFF_LIMIT) + leases.LEASE
PLACE = ("kind", "address", "region", "user")
TESTED = b"A test of crm-sync. The file can be removed.\n"


class UploadOutcome(StrEnum):
    """The result of a file, of a test, or of a target that could not be reached."""

    UPLOADED = "uploaded"
    TESTED = "tested"
    REFUSED = "refused"
    PUT_OFF = "put off"
    NOTHING = "nothing to do"
    CHANGED = "changed meanwhile"


class PlaceChanged(Exception):
    """A person has changed where the target is: nothing was written, connect again."""


def _is_due(now: datetime) -> Q:
    """Select due files; a `due_at` beyond any wait was written by a wrong clock (I29)."""
    return Q(due_at__lte=now) | Q(due_at__gt=now + LONGEST_WAIT)


def rows(now: datetime) -> QuerySet[Target]:
    """Return the targets with due files, and those that a person wants to test."""
    mine = TargetFile.objects.filter(_is_due(now), target=OuterRef("pk"))
    return Target.objects.filter(Q(Exists(mine), is_enabled=True) | Q(is_test_asked=True))


def _since() -> Combinable:
    """Return since when a target is due: its own `due_at`, or that of its first file if later."""
    mine = TargetFile.objects.filter(target=OuterRef("pk"), due_at__isnull=False)
    first = Subquery(mine.order_by("due_at").values("due_at")[:1])
    return Greatest(F("due_at"), Coalesce(first, F("due_at")))


def work(claims: Sequence[Claim[Target]], turn: Turn) -> list[UploadOutcome]:
    """Upload the due files of some targets; the `work` of the queue.

    Raises:
        LeaseLost: another worker holds the row now.
        Stop: this process ends. What was begun is done again by the next worker.
    """
    return [_Uploads(claim, turn).run() for claim in claims]


TARGETS = RowQueue(
    name=target_files.QUEUE,
    title=_("files for targets"),
    rows=rows,
    work=work,
    calls=False,  # it does not call the platform
    slots=AT_ONCE,
    lease=leases.SHORT_LEASE,
    wait=LONGEST_WAIT,
    since=_since(),
    work_kind=WorkKind.MESSAGES,
    # The secret is read later: so an unreadable secret affects only its own row.
    columns=[one.name for one in Target._meta.concrete_fields if one.name != "secret"],
)


class _Uploads:
    """The work of one turn on a target. Every write requires that the lease is still ours."""

    def __init__(self, claim: Claim[Target], turn: Turn) -> None:
        self.claim, self.row, self.turn = claim, claim.row, turn
        self.limits = Limits(time.monotonic() + DEADLINE, _check)

    def run(self) -> UploadOutcome:
        outcome = UploadOutcome.NOTHING
        with ExitStack() as stack:
            try:
                connection = self._connected(stack)
                if self.row.is_test_asked:
                    outcome = self._test(connection)
                while (file := self._next()) is not None:
                    outcome = self._upload(connection, file)
                    if self.turn.is_over():
                        break
            except PlaceChanged:
                outcome = UploadOutcome.CHANGED
            except (RejectedError, SecretUnreadable) as error:
                return self._put_off(error, UploadOutcome.REFUSED, REFUSED_WAIT)
            except TransientError as error:
                wait = due.backoff(self.row.attempts + 1)
                return self._put_off(error, UploadOutcome.PUT_OFF, wait)
        self.claim.finish(due_at=timezone.now())
        return outcome

    def _connected(self, stack: ExitStack) -> Connection:
        place = self._place()
        with permits.away():
            return stack.enter_context(put.opened(self.row.kind, place, self.limits))

    def _place(self) -> TargetPlace:
        row = self.claim.fenced.first()  # with its secret, which no other address may get (S13)
        if row is None:
            raise LeaseLost
        self.row = row
        try:
            address = parsed(row.address)
        except ValueError as error:
            raise RejectedError(str(error), status=0) from None
        inside, folders = settings.OUTGOING_INTERNAL_HOSTS, settings.TARGET_FOLDERS
        return TargetPlace(
            address, row.user, row.secret, row.host_key, inside, folders, region=row.region
        )

    def _next(self) -> TargetFile | None:
        """Return the file that has been due for longest; none if the target is paused now."""
        mine = TargetFile.objects.filter(
            _is_due(timezone.now()), target=self.row.pk, target__is_enabled=True
        )
        return mine.order_by("due_at", "pk").first()

    # --- one file ---
    def _upload(self, connection: Connection, row: TargetFile) -> UploadOutcome:
        """Upload a file. A refusal concerns it alone; any other failure also ends the turn."""
        try:
            columns = self._sent(connection, row)
        except (Unwelcome, LeaseLost, PlaceChanged, queues.Stop):
            raise
        except RejectedError as error:
            self._write(row, {"due_at": None, "problem": problem_of(error)})
            return UploadOutcome.REFUSED
        except Exception as error:  # an error of our own, too: the others go first next time
            attempts = row.attempts + 1
            later = timezone.now() + due.backoff(attempts)
            columns = {"due_at": later, "attempts": attempts, "problem": problem_of(error)}
            self._write(row, columns)
            raise
        self._write(row, {"due_at": None, "attempts": 0, "problem": "", **columns})
        self._reached(connection)
        return UploadOutcome.UPLOADED

    def _sent(self, connection: Connection, row: TargetFile) -> dict[str, Any]:
        """Upload the stored version of a file, and return the columns that describe it."""
        file = _stored(row)
        if file.digest == row.digest:
            return {}
        # A name in which a person was blanked since (S23) is no longer that of this row alone.
        is_chosen = row.name_digest == name_pattern.key(row.name)
        name = row.name if is_chosen else self._named(connection, row, file)
        with permits.away():
            try:
                content = cast("IO[bytes]", storage().open(file.name))
            except FileNotFoundError as error:
                text = sentence("it is no longer in the storage")
                raise RejectedError(text, status=0) from error
            first = _temporary(name, row.pk) if connection.renames else name
            with content:
                sent = self._fitting(content, file)
                connection.put(first, sent.file, sent.size, sent.digest)
        if connection.renames:
            self._require_lease()
            with permits.away():
                connection.rename(first, name)
        return {"digest": file.digest, "size": sent.size, "uploaded_at": timezone.now()}

    def _fitting(self, content: IO[bytes], file: MaterialFile) -> Picture:
        """Return a stored file as this target wants it."""
        edge = self.row.longest_edge
        smaller = shrunk(content, file.content_type, edge) if edge else None
        content.seek(0)
        return smaller or Picture(content, file.size or 0, file.digest)

    def _named(self, connection: Connection, row: TargetFile, file: MaterialFile) -> str:
        """Choose the first name that no other file has, and store it before a byte is sent.

        So a file of another material, or one that somebody else put there, is never replaced.
        """
        for name in target_files.names(self.row, file):
            key = name_pattern.key(name)
            if self._is_taken(key):
                continue
            with permits.away():
                is_there = connection.exists(name)
            if not is_there and self._take(row, name, key):
                return name
        raise RejectedError(sentence("no name is free for it"), status=0)

    def _is_taken(self, key: str) -> bool:
        """Return whether a file of ours has a name there, sent or not, from whichever target."""
        mine = TargetFile.objects.filter(target__in=self._same_place(), name_digest=key)
        return mine.exists()

    def _take(self, row: TargetFile, name: str, key: str) -> bool:
        """Store a name, unless another target at the same place has just taken it."""
        with transaction.atomic():
            row_locks.lock(self._same_place())
            if self._is_taken(key):
                return False
            self._write(row, {"name": name, "name_digest": key})
        return True

    def _same_place(self) -> QuerySet[Target]:
        """Return the targets that write where this one does, itself among them."""
        row, bare = self.row, self.row.address.rstrip("/")
        spelled = [row.address, bare, f"{bare}/"]
        same = Q(kind=row.kind, user=row.user, address__in=spelled)
        return Target.objects.filter(same | Q(pk=row.pk))

    # --- the target ---
    def _test(self, connection: Connection) -> UploadOutcome:
        """Write a small file, rename it and remove it again."""
        name = f"crm-sync-test-{self.row.pk}.txt"
        first = f"{name}.part" if connection.renames else name
        with permits.away():
            connection.put(
                first, io.BytesIO(TESTED), len(TESTED), hashlib.sha256(TESTED).hexdigest()
            )
            if connection.renames:
                connection.rename(first, name)
            connection.remove(name)
        self._reached(connection, is_test_asked=False, tested_at=timezone.now())
        return UploadOutcome.TESTED

    def _write(self, row: TargetFile, columns: dict[str, Any]) -> None:
        """Write columns of a file; one that was made due again since it was read stays due."""
        mine = TargetFile.objects.filter(pk=row.pk)
        with transaction.atomic():
            self._require_lease()
            others = {name: value for name, value in columns.items() if name != "due_at"}
            if others:
                mine.update(**others)
            if "due_at" in columns:
                mine.filter(due_at=row.due_at).update(due_at=columns["due_at"])

    def _require_lease(self) -> None:
        found = self.claim.fenced.values(*PLACE).first()
        if found is None:
            raise LeaseLost
        if found != self._place_now:
            raise PlaceChanged

    @property
    def _place_now(self) -> dict[str, Any]:
        return {name: getattr(self.row, name) for name in PLACE}

    def _reached(self, connection: Connection, **columns: Any) -> None:
        """Note that the target took a file: it has no failure any more."""
        whole = {"attempts": 0, "failing_since": None, "problem": "", **columns}
        if "tested_at" not in whole:
            whole["uploaded_at"] = timezone.now()
        if connection.host_key and not self.row.host_key:
            whole["host_key"] = connection.host_key
        if not self.claim.write(whole, **self._place_now):
            self._require_lease()
        self.row.attempts = 0

    def _put_off(
        self, error: SyncError | SecretUnreadable, outcome: UploadOutcome, wait: timedelta
    ) -> UploadOutcome:
        row, now = self.row, timezone.now()
        attempts = row.attempts + 1
        columns = {
            "due_at": now + wait,
            "attempts": max(attempts, TRIES) if outcome == UploadOutcome.REFUSED else attempts,
            "failing_since": row.failing_since or now,
            "problem": problem_of(error),
            "is_test_asked": False,
        }
        # A person who changes the target, or asks for a test, makes it due.
        if self.claim.finish_if(columns, due_at=self.claim.mark):
            return outcome
        self.claim.finish(due_at=now)
        return UploadOutcome.CHANGED


def _check() -> None:
    if queues.ending.is_set():
        raise queues.Stop


def _stored(row: TargetFile) -> MaterialFile:
    """Return the stored file of a row.

    Raises:
        RejectedError: there is none any more.
    """
    files = MaterialFile.objects.filter(material=row.material_id, role=MaterialFile.Role.FILE)
    related = ("material__material_set__order", "material__material_set__real_estate_property")
    file = files.exclude(name="").select_related(*related).first()
    if file is None:
        raise RejectedError(sentence("it is no longer in the storage"), status=0)
    return file


def _temporary(name: str, key: int) -> str:
    """Return the name of a row while its file is sent, in the folder of its final name."""
    folder, slash, _last = name.rpartition("/")
    return f"{folder}{slash}upload-{key}.part"
