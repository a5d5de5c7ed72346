"""Targets and stored files for the tests of targets."""

import hashlib
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile
from django.db import transaction
from django.utils import timezone

from crm_sync import hooks
from crm_sync.models import Workspace
from crm_sync.work import turn
from orders.materials.download import storage
from orders.models import Material, MaterialFile, MaterialSet, Target, TargetFile
from orders.targets import target_files
from tests.orders.admin_rows import NOW, make_assignment, make_order
from tests.properties.sources.servers import PASSWORD, USER

SUFFIX = {"image/jpeg": "jpg", "image/png": "png", "application/pdf": "pdf"}


def make_target(workspace: Workspace, kind: str, address: str, **columns: Any) -> Target:
    whole = {"name": "CRM", "user": USER, "secret": PASSWORD, "due_at": timezone.now()}
    return Target.objects.create(
        workspace=workspace, kind=kind, address=address, **(whole | columns)
    )


def delivered(
    workspace: Workspace, order: str = "5000", reference: str = "R-1", **columns: Any
) -> MaterialSet:
    """Make an order, with these columns, and a set of its delivered photos."""
    row = make_order(workspace, order, object_reference_id=reference, **columns)
    return MaterialSet.objects.create(
        workspace=workspace,
        order=row,
        assignment=make_assignment(row, f"a{order}"),
        product="GROUND_PHOTO",
        visual_type="POST",
        ready_at=NOW,
        fetched_at=NOW,
    )


def material(ready: MaterialSet, key: str, **columns: Any) -> Material:
    whole = {"product": ready.product, "visual_type": "POST", "file_name": f"{key}.jpg"}
    return Material.objects.create(material_set=ready, platform_id=key, **(whole | columns))


def store(
    one: Material, body: bytes, content_type: str = "image/jpeg", *, want: bool = True
) -> int:
    """Store a version of a file, as a worker does it; return for how many targets it is due."""
    digest = hashlib.sha256(body).hexdigest()
    name = storage().save(f"{one.pk}-{digest[:8]}.{SUFFIX[content_type]}", ContentFile(body))
    columns = {
        "workspace": one.material_set.workspace,
        "name": name,
        "content_type": content_type,
        "size": len(body),
        "digest": digest,
        "stored_at": timezone.now(),
    }
    with transaction.atomic():
        row, _ = MaterialFile.objects.update_or_create(material=one, role="FILE", defaults=columns)
        return target_files.want([row], now=timezone.now()) if want else 0


def upload(workspace: Workspace) -> dict[str, int]:
    """Do what a worker does while something is due for targets."""
    return turn.take(hooks.queue("targets"), workspace.pk, seconds=20.0).counts


def now_due(at: datetime | None = None) -> None:
    at = at or timezone.now()
    TargetFile.objects.exclude(due_at=None).update(due_at=at)
    Target.objects.update(due_at=at)


def there(folder: Path) -> dict[str, bytes]:
    """Return what is at a target, by the path below its folder."""
    return {
        one.relative_to(folder).as_posix(): one.read_bytes()
        for one in sorted(folder.rglob("*"))
        if one.is_file()
    }


def state(row: TargetFile) -> tuple[str, bool, str]:
    row.refresh_from_db()
    return row.name, row.due_at is not None, str(row.problem)
