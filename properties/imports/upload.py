"""The actions of a person on an import: upload a file, release it, cancel it.

No action reads the file: a worker does that (`properties.imports.job`).
"""

import os
import secrets
from datetime import datetime
from pathlib import Path

from django.contrib.auth.models import AbstractBaseUser
from django.core.files.base import File
from django.db.models import Q, QuerySet

from crm_sync.models import due
from crm_sync.text import clean
from crm_sync.work.doorbell import doorbell
from properties.models import Import
from properties.models.import_ import folder

QUEUE = "imports"


def receive(
    new: Import, upload: "File[bytes]", *, actor: AbstractBaseUser, now: datetime
) -> Import:
    """Store the file, and queue its preview.

    Args:
        new: an unsaved import with its workspace and `force`.
    """
    new.name = clean(upload.name or "")[0][:255] or "?"
    new.size, new.stored_as = _store(upload)
    new.uploaded_by_id, new.uploaded_at, new.due_at = actor.pk, now, now
    _queue(new)
    return new


def keep(new: Import, path: Path, *, is_released: bool, now: datetime) -> None:
    """Move a file that we have fetched, and queue its import.

    Args:
        new: an unsaved import with its workspace, sender, source, name and `force`.
        is_released: whether to import the file; else a preview is made that waits for a person.
    """
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    new.size, new.stored_as = path.stat().st_size, secrets.token_hex(16)
    new.uploaded_at = new.due_at = now
    if is_released:
        new.state, new.released_at = Import.State.RUNNING, now
    path.rename(new.path)
    _queue(new)


def release(imports: QuerySet[Import], *, actor: AbstractBaseUser, now: datetime) -> int:
    """Release the imports whose previews wait for a person. Other imports do not change.

    Returns:
        the number of released imports.
    """
    count = imports.filter(state=Import.State.PREVIEWED).update(
        state=Import.State.RUNNING,
        released_by=actor,
        released_at=now,
        due_at=now,
        done=0,
        attempts=0,
    )
    doorbell.ring_each(QUEUE, imports.order_by().values_list("workspace_id", flat=True))
    return count


def cancel(imports: QuerySet[Import], *, now: datetime) -> int:
    """Cancel imports at once, or after the records at hand if a worker has them.

    Returns:
        the number of imports that are cancelled now or by their worker.
    """
    wanted = imports.filter(state__in=Import.OPEN)
    free = due.unleased(now) | Q(state=Import.State.PREVIEWED)
    ended = wanted.filter(free).update(
        state=Import.State.CANCELLED,
        ended_at=now,
        due_at=now,  # its file is to be removed
        **due.RELEASED,
    )
    asked = wanted.filter(cancel_asked=False).update(cancel_asked=True)
    doorbell.ring_each(QUEUE, imports.order_by().values_list("workspace_id", flat=True))
    return ended + asked


def _queue(new: Import) -> None:
    """Save an import after its file; remove the file on an error, for nothing else would."""
    try:
        new.save(force_insert=True)
    except BaseException:
        new.path.unlink()
        raise
    doorbell.ring(QUEUE, new.workspace_id)


def _store(upload: "File[bytes]") -> tuple[int, str]:
    """Write the file under a name that nobody can guess; return its size in bytes and the name."""
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    name = secrets.token_hex(16)
    descriptor = os.open(folder() / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            size = sum(file.write(chunk) for chunk in upload.chunks())
    except OSError:  # the disk is full
        (folder() / name).unlink()
        raise
    return size, name
