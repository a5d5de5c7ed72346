"""What a person does with an import: hand a file in, release it, cancel it.

None of it reads the file: that is a worker's business (`properties.imports.job`).
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
        new: with its workspace and `force`, not saved yet.
    """
    new.name = clean(upload.name or "")[0][:255] or "without a name"
    new.size, new.stored_as = _store(upload)
    new.uploaded_by_id, new.uploaded_at, new.due_at = actor.pk, now, now
    _queue(new)
    return new


def keep(new: Import, path: Path, *, is_released: bool, now: datetime) -> None:
    """Take a file of ours, which is moved, and queue its import.

    Args:
        new: with its workspace, sender, source, name and `force`, not saved yet.
        is_released: import it; else it is looked at, and waits for a person.
    """
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    new.size, new.stored_as = path.stat().st_size, secrets.token_hex(16)
    new.uploaded_at = new.due_at = now
    if is_released:
        new.state, new.released_at = Import.State.RUNNING, now
    path.rename(new.path)
    _queue(new)


def release(imports: QuerySet[Import], *, actor: AbstractBaseUser, now: datetime) -> int:
    """Let a worker import what was looked at.

    Returns:
        how many waited for that; the others are left as they are.
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
    """End imports at once, or at their next record where a worker is at them.

    Returns:
        how many had not ended yet.
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
    """Save an import whose file is stored; without a row nothing would ever remove the file."""
    try:
        new.save(force_insert=True)
    except BaseException:
        new.path.unlink()
        raise
    doorbell.ring(QUEUE, new.workspace_id)


def _store(upload: "File[bytes]") -> tuple[int, str]:
    """Write the file under a name that nobody can guess; returns its size in bytes and the name."""
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    name = secrets.token_hex(16)
    descriptor = os.open(folder() / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        size = sum(file.write(chunk) for chunk in upload.chunks())
    return size, name
