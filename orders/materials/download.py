"""Downloads a file in slices, one per claim, then checks it and stores it whole (I27)."""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, cast

from django.conf import settings
from django.core.files.storage import Storage, storages
from django.db import transaction
from django.utils import timezone

from crm_sync import permits
from crm_sync.models import Workspace
from crm_sync.models.due import backoff
from crm_sync.platform import outside
from crm_sync.platform.addresses import resolved
from crm_sync.platform.errors import RejectedError, TransientError, problem_of
from crm_sync.platform.outside import RequestOptions, ResponseStream
from crm_sync.sentence import sentence
from crm_sync.text import whole
from crm_sync.work.leases import Claim, LeaseLost
from crm_sync.work.queues import Turn
from orders.materials import file_types
from orders.materials.file_types import FILE_TYPES, LONGEST_BEGINNING, NotKept
from orders.materials.part_file import Busy, PartFile, Whole
from orders.models import MaterialFile

log = logging.getLogger(__name__)

STORAGE = "materials"  # its alias in STORAGES
THUMBNAIL_LIMIT = 2 * 1024 * 1024  # bytes
PROGRESS = 256 * 1024  # bytes in a slice after which the next slice starts at once
MAX_MISMATCHES = 5  # tries of a file that has another size than announced
GONE = frozenset({401, 403, 404, 410})  # A54
Role = MaterialFile.Role
Told = Callable[[MaterialFile], None]


class Mismatch(TransientError):
    """The file has another size than announced. It may be cut off, or be another file."""


class DownloadOutcome(StrEnum):
    """The outcome of one slice of a download."""

    STORED = "stored"
    GOES_ON = "goes on"
    PUT_OFF = "put off"
    REFUSED = "refused"
    BUSY = "busy"


def working(
    stored: Told, expired: Told
) -> Callable[[Sequence[Claim[MaterialFile]], Turn], list[DownloadOutcome]]:
    """Return the `work` of a queue that downloads the files of some rows.

    Args:
        stored: called with a file in the transaction that records that it is stored.
        expired: the same for a file whose address does not answer any more, the first time.
    """

    def work(claims: Sequence[Claim[MaterialFile]], turn: Turn) -> list[DownloadOutcome]:
        return [_download(claim, turn.workspace, stored, expired) for claim in claims]

    return work


def storage() -> Storage:
    """Return the storage of the files."""
    return storages[STORAGE]


def opened(row: MaterialFile) -> IO[bytes]:
    """Open a stored file, or the version that has replaced it since its row was read.

    Raises:
        OSError: neither is in the storage, or it cannot be read.
    """
    try:
        return cast("IO[bytes]", storage().open(row.name))
    except FileNotFoundError:
        same = MaterialFile.objects.filter(pk=row.pk, content_type=row.content_type)
        newer = same.exclude(name__in=("", row.name)).first()
        if newer is None:
            raise
        return cast("IO[bytes]", storage().open(newer.name))


def _download(
    claim: Claim[MaterialFile], workspace: Workspace, stored: Told, expired: Told
) -> DownloadOutcome:
    part = PartFile(Path(settings.DATA_DIR) / "downloads", claim.row.pk)
    try:
        with part.held():
            if claim.abandoned:  # after a power cut, the part may hold bytes never written
                part.remove()
            return _slice(claim, workspace, part, stored, expired)
    except Busy:
        claim.finish(due_at=timezone.now() + timedelta(seconds=settings.CALL_DEADLINE))
        return DownloadOutcome.BUSY


def _slice(
    claim: Claim[MaterialFile], workspace: Workspace, part: PartFile, stored: Told, expired: Told
) -> DownloadOutcome:
    """Download as much of a file as the deadline of one call allows, and return the outcome."""
    before = part.size
    if _is_stored(claim):
        claim.finish(due_at=None, attempts=0, problem="")
        return DownloadOutcome.STORED
    try:
        columns = _fetch(claim.row, workspace, part)
    except (RejectedError, NotKept) as error:
        part.remove()
        problem = problem_of(error)
        is_gone = isinstance(error, RejectedError) and error.status in GONE
        with transaction.atomic():
            # A read of the list locks its set before the files, so this does too.
            if is_gone and claim.row.problem != problem:  # else the new list did not help
                expired(claim.row)
            claim.finish(due_at=None, problem=problem)
        return DownloadOutcome.REFUSED
    except TransientError as error:
        return _later(claim, error, moved=part.size - before)
    before_name = claim.row.name
    try:
        with transaction.atomic():
            claim.finish(**columns)
            for name, value in columns.items():
                setattr(claim.row, name, value)
            claim.row.refresh_from_db(fields=["material"])  # it may have moved to another one
            stored(claim.row)
    except LeaseLost:
        if not MaterialFile.objects.filter(pk=claim.row.pk).exists():
            part.remove()
            delete(columns["name"])  # only its row would lead to it
        raise
    part.remove()  # a remote storage has copied the part
    if before_name and before_name != columns["name"]:
        delete(before_name)
    return DownloadOutcome.STORED


def _is_stored(claim: Claim[MaterialFile]) -> bool:
    """Return whether the newest version is in the storage. One that was lost is forgotten."""
    row = claim.row
    if not row.name or row.modified_at != row.material.modified_at:
        return False
    with permits.away():
        if storage().exists(row.name):
            return True
    lost = sentence("it is no longer in the storage")
    if not claim.write({"name": "", "digest": "", "stored_at": None, "problem": lost}):
        raise LeaseLost
    row.name = ""
    return False


def _later(claim: Claim[MaterialFile], error: TransientError, *, moved: int) -> DownloadOutcome:
    """Continue at once if much has arrived in this slice, else after a growing delay."""
    now = timezone.now()
    if moved >= PROGRESS and not isinstance(error, Mismatch):
        claim.finish(due_at=now, attempts=0, problem="")
        return DownloadOutcome.GOES_ON
    attempts = claim.row.attempts + 1
    is_over = isinstance(error, Mismatch) and attempts >= MAX_MISMATCHES
    due_at = None if is_over else now + backoff(attempts)
    claim.finish(due_at=due_at, attempts=attempts, problem=problem_of(error))
    return DownloadOutcome.REFUSED if is_over else DownloadOutcome.PUT_OFF


def _fetch(row: MaterialFile, workspace: Workspace, part: PartFile) -> dict[str, Any]:
    """Download the rest of a file, check all of it and store it. Return the columns to write.

    Raises:
        RejectedError: we may not request it, or nothing is there. A person must check.
        NotKept: it is not a file that we store.
        TransientError: it did not arrive completely.
    """
    material = row.material
    is_file = row.role == Role.FILE
    url = resolved(material.url if is_file else material.thumbnail_url, workspace.base_url)
    announced = material.size if is_file else None
    options = RequestOptions(part.rest(), settings.MATERIALS_INTERNAL_HOSTS)
    with permits.away(), outside.get(url, options, deadline=settings.CALL_DEADLINE) as answer:
        total = _begin(answer, part)
        limit = settings.MATERIALS_FILE_LIMIT if is_file else THUMBNAIL_LIMIT
        _write(answer, part, limit=limit, total=total)
    size = part.size
    for expected in (total, announced):
        if expected is not None and size != expected:
            part.remove()
            raise Mismatch(
                sentence(
                    "%(size)s bytes came, %(expected)s were announced", size=size, expected=expected
                ),
                unclear=False,
            )
    content_type = file_types.checked(
        material.mime_type if is_file else "",
        answer.headers.get("Content-Type", ""),
        part.first(LONGEST_BEGINNING),
    )
    if not is_file and not FILE_TYPES[content_type].is_picture:
        raise NotKept(sentence("a thumbnail of the type %(type)s is not shown", type=content_type))
    digest = part.digest()
    return {
        "name": _store(row, workspace, part, digest, FILE_TYPES[content_type].suffix),
        "content_type": content_type,
        "size": size,
        "digest": digest,
        "modified_at": material.modified_at,
        "stored_at": timezone.now(),
        "problem": "",
        "attempts": 0,
        "due_at": None,
    }


def _begin(answer: ResponseStream, part: PartFile) -> int | None:
    """Prepare the part for the body. Return the size of the whole file if it is known."""
    if answer.status == 206 and _range(answer.headers)[0] == part.size:
        return _range(answer.headers)[1]
    if answer.status == 200:
        part.begin(answer.headers)
        return whole(answer.headers.get("Content-Length", ""))
    if answer.status in (206, 416):  # not the part that was requested
        part.remove()
        raise TransientError(
            sentence("the server did not send the rest; the download begins again"),
            unclear=False,
        )
    if answer.status in GONE:
        text = sentence(
            "the address answers %(status)s: it has expired, or nothing is there",
            status=str(answer.status),
        )
        raise RejectedError(text, status=answer.status)
    text = sentence("the server answers %(status)s", status=str(answer.status))
    raise TransientError(text, unclear=False)


def _range(headers: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Return the position of the first byte and the total size, from Content-Range."""
    place, _, total = headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
    first = place.partition("-")[0]
    return whole(first), whole(total)


def _write(answer: ResponseStream, part: PartFile, *, limit: int, total: int | None) -> None:
    too_large = RejectedError(
        sentence("it is larger than %(limit)s bytes, the most that is kept", limit=limit), status=0
    )
    if total is not None and total > limit:
        raise too_large
    size = part.size
    with part.open() as file:
        for chunk in answer.chunks():
            size += len(chunk)
            if size > limit:
                raise too_large
            file.write(chunk)


def _store(
    row: MaterialFile, workspace: Workspace, part: PartFile, digest: str, suffix: str
) -> str:
    """Store a complete part. Return its name there, which is the same for the same bytes."""
    place = storage()
    folder = row.material.material_set.order_id or "marketing"
    name = f"{workspace.slug}/{folder}/{row.material_id}-{row.role.lower()}-{digest[:16]}{suffix}"
    with permits.away():  # a remote storage is called over the network
        if place.exists(name):
            if row.name == name:
                return name
            place.delete(name)  # from a worker that died before it recorded the file
        with part.path.open("rb") as file:
            return place.save(name, Whole(file, str(part.path)))


def delete(name: str) -> bool:
    """Remove a file that is no longer used. Return False if the storage could not remove it."""
    try:
        storage().delete(name)
    except OSError:
        log.exception("%s could not be removed from the storage", name)
        return False
    return True
