"""Requests for downloads, if the setting MATERIALS_DOWNLOAD is on (§4.5)."""

from collections.abc import Iterable
from datetime import datetime
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from crm_sync import row_locks
from crm_sync.work.doorbell import doorbell
from orders.materials import announcements
from orders.materials.download import delete
from orders.models import Assignment, Material, MaterialFile, MaterialSet, TargetFile

QUEUE = "files"
Role = MaterialFile.Role


def want(materials: Iterable[Material], *, now: datetime) -> int:
    """Make files due that are missing here or not the newest version.

    Args:
        materials: with their sets.

    Returns:
        the number of files made due, 0 while the setting is off.
    """
    if not settings.MATERIALS_DOWNLOAD:
        return 0
    found = list(materials)
    rows = MaterialFile.objects.filter(material__in=found)
    known = {(row.material_id, row.role): row for row in rows}
    new, again, workspaces = [], [], set()
    for material in found:
        for role in roles(material):
            row = known.get((material.pk, role))
            workspace_id = material.material_set.workspace_id
            if row is None:
                new.append(
                    MaterialFile(
                        workspace_id=workspace_id,
                        material=material,
                        role=role,
                        created_at=now,
                        due_at=now,
                    )
                )
            elif not row.name or row.modified_at != material.modified_at:
                again.append(row.pk)
            workspaces.add(workspace_id)
    MaterialFile.objects.bulk_create(new, ignore_conflicts=True)
    MaterialFile.objects.filter(pk__in=again).update(due_at=now, attempts=0)
    if new or again:
        doorbell.ring_each(QUEUE, workspaces)
    return len(new) + len(again)


def roles(material: Material) -> list[Role]:
    """Return the files to download. A tour is an address and not a file (A38)."""
    is_file = bool(material.url and (material.file_name or material.mime_type))
    wanted = [(Role.THUMBNAIL, material.thumbnail_url), (Role.FILE, is_file)]
    return [role for role, is_there in wanted if is_there]


def try_again(files: QuerySet[MaterialFile], *, now: datetime) -> int:
    """Have the lists of these files read again, so that `want` requests the missing files.

    These are not requested yet, because the new list replaces expired addresses (A54). Of a stored
    file, a worker checks whether the storage still has it.

    Returns:
        the number of lists.
    """
    check(files, now=now)
    return ask(MaterialSet.objects.filter(materials__files__in=files).distinct(), now=now)


def check(files: QuerySet[MaterialFile], *, now: datetime) -> None:
    """Let a worker check that the storage still has these files, and get those that it lost.

    It does nothing while the setting is off.
    """
    stored = list(files.filter(due_at=None).exclude(name="").values_list("pk", "workspace_id"))
    if not stored or not settings.MATERIALS_DOWNLOAD:
        return
    rows = MaterialFile.objects.filter(pk__in=[pk for pk, _ in stored], due_at=None)
    rows.update(due_at=now, attempts=0)
    doorbell.ring_each(QUEUE, {workspace_id for _, workspace_id in stored})


def ask(sets: QuerySet[MaterialSet], *, now: datetime) -> int:
    """Make lists due to be read, and return their number."""
    workspaces = list(sets.order_by().values_list("workspace", flat=True).distinct())
    rows = MaterialSet.objects.filter(pk__in=sets.order_by().values("pk"))
    with transaction.atomic():
        # As events do: assignments in the sequence of their keys, before the sets.
        row_locks.lock(Assignment.objects.filter(pk__in=sets.order_by().values("assignment")))
        count = rows.update(due_at=now, **announcements.ANEW)
    doorbell.ring_each(announcements.QUEUE, workspaces)
    return count


def move(others: QuerySet[Material], into: Iterable[Material]) -> None:
    """Move the files of materials to their replacements, before the materials are deleted.

    A file at a target stays there under its name. If the replacement is there already, its own row
    stays.
    """
    heirs = {one.platform_id: one for one in into}
    taken = set(
        MaterialFile.objects.filter(material__in=heirs.values()).values_list("material", "role")
    )
    for row in MaterialFile.objects.filter(material__in=others).select_related("material"):
        heir = heirs[row.material.platform_id]
        if (heir.pk, row.role) in taken:
            row.delete()
            if row.name:  # after a rollback, the row still needs the file
                transaction.on_commit(partial(delete, row.name))
        else:
            MaterialFile.objects.filter(pk=row.pk).update(material=heir)
            taken.add((heir.pk, row.role))
    there = set(
        TargetFile.objects.filter(material__in=heirs.values()).values_list("target", "material")
    )
    for known in TargetFile.objects.filter(material__in=others).select_related("material"):
        heir = heirs[known.material.platform_id]
        mine = TargetFile.objects.filter(pk=known.pk)
        if (known.target_id, heir.pk) in there:
            mine.delete()
        else:
            mine.update(material=heir)
            there.add((known.target_id, heir.pk))
