"""Which stored files go to which targets, and the values for their names."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any

from django.db.models import Q, QuerySet

from crm_sync import row_locks
from crm_sync.work.doorbell import doorbell
from orders.materials import file_types
from orders.materials.file_names import file_name
from orders.materials.file_types import FILE_TYPES, PICTURES
from orders.materials.gallery import QUALITIES
from orders.models import Material, MaterialFile, Target, TargetFile
from orders.models.target import Content, Quality
from orders.targets import name_pattern

QUEUE = "targets"
_ENDING = re.compile(r"(?<=.)\.[A-Za-z0-9]{1,5}$")  # "Bahnhofstr. 12" has none
Role = MaterialFile.Role


def want(files: Iterable[MaterialFile], *, now: datetime) -> int:
    """Make stored files due at each target that takes them and has another version, or none.

    Call it in the transaction that stores them, so that a kill between both loses none.

    Returns:
        the number of files made due, counted once for each target.
    """
    stored = [one for one in files if one.name and one.role == Role.FILE]
    if not stored:
        return 0
    targets = Target.objects.filter(workspace__in={one.workspace_id for one in stored})
    row_locks.lock(TargetFile.objects.filter(material__in=[one.material_id for one in stored]))
    return sum(want_at(target, stored, now=now) for target in targets.defer("secret"))


def want_at(target: Target, files: Collection[MaterialFile], *, now: datetime) -> int:
    """Make those files due that a target takes and does not have; see `want`."""
    mine = {
        one.material_id: one
        for one in files
        if one.workspace_id == target.workspace_id and takes(target, one.material, one.content_type)
    }
    rows = TargetFile.objects.filter(target=target, material__in=mine)
    known = {row.material_id: row for row in rows}
    again = [row.pk for key, row in known.items() if row.digest != mine[key].digest]
    new = [
        TargetFile(
            workspace_id=target.workspace_id,
            target=target,
            material_id=key,
            due_at=now,
            created_at=now,
        )
        for key in mine
        if key not in known
    ]
    TargetFile.objects.bulk_create(new, ignore_conflicts=True)
    if again:
        again_rows = TargetFile.objects.filter(pk__in=again)
        row_locks.update(again_rows, due_at=now, attempts=0, problem="")
    if new or again:
        doorbell.ring_each(QUEUE, {target.workspace_id})
    return len(new) + len(again)


def try_again(files: QuerySet[TargetFile], *, now: datetime, anew: bool = False) -> int:
    """Make files due that were not taken, and their targets; return their number.

    Args:
        anew: also those that are there, so that each is uploaded once more.
    """
    chosen = files if anew else files.exclude(problem="")
    rows = TargetFile.objects.filter(pk__in=list(chosen.values_list("pk", flat=True)))
    forgotten = {"digest": "", "uploaded_at": None} if anew else {}
    count = row_locks.update(rows, due_at=now, attempts=0, problem="", **forgotten)
    due_now(Target.objects.filter(files__in=rows), now=now)
    return count


def due_now(targets: QuerySet[Target], *, now: datetime, **columns: Any) -> int:
    """Let a worker try targets at once, also those that wait after a failure."""
    rows = Target.objects.filter(pk__in=list(targets.values_list("pk", flat=True)))
    count = row_locks.update(rows, due_at=now, **columns)
    doorbell.ring_each(QUEUE, set(rows.values_list("workspace_id", flat=True)))
    return count


def stored_for(target: Target) -> QuerySet[MaterialFile]:
    """Return the stored files of a target's workspace that the platform has not withdrawn."""
    files = MaterialFile.objects.exclude(name="").filter(workspace=target.workspace_id)
    return files.filter(role=Role.FILE, material__withdrawn_at=None).select_related("material")


def takes(target: Target, material: Material, content_type: str) -> bool:
    """Return whether a target takes a material, by product, quality and type."""
    if target.products and material.product not in target.products:
        return False
    quality = QUALITIES.get(material.visual_type)
    if quality and target.quality not in (Quality.BOTH, quality):
        return False
    is_picture = content_type in PICTURES
    return target.content == Content.ALL or is_picture == (target.content == Content.PICTURES)


def names(target: Target, file: MaterialFile) -> Iterator[str]:
    """Yield the names of a file at a target, the best first.

    `{nn}` is the position among the materials of the same order that would have the same name, in
    the sequence of the platform's lists. So it is the same, whichever file is downloaded first.
    """
    material, suffix = file.material, FILE_TYPES[file.content_type].suffix
    own = name_pattern.stem(target.pattern, values(material), suffix)
    first = 1
    for other in _siblings(material):
        if other.pk >= material.pk:
            break
        kind = _type(other) or file.content_type
        ending = FILE_TYPES[kind].suffix if kind in FILE_TYPES else ""
        is_alike = name_pattern.stem(target.pattern, values(other), ending) == own
        first += is_alike and takes(target, other, kind)
    return name_pattern.names(target.pattern, values(material), suffix, first)


def values(material: Material, reference: str | None = "") -> Mapping[str, str]:
    """Return the values of a pattern for a material; none is empty.

    Args:
        reference: that of its property, if the caller knows it.
    """
    ready = material.material_set
    order = ready.order.platform_id if ready.order else ""
    reference = reference or (ready.order.object_reference_id if ready.order else "")
    if not reference and ready.real_estate_property is not None:
        reference = ready.real_estate_property.object_reference_id
    product = material.product or material.target_platform or "materials"
    quality = QUALITIES.get(material.visual_type) or material.visual_type or "original"
    return {
        "reference": reference or (f"order-{order}" if order else ready.property_platform_id),
        "order": order or ready.property_platform_id,
        "product": product.lower(),
        "quality": quality.lower(),
        "name": _ENDING.sub("", file_name(material, "")),
    }


def _siblings(material: Material) -> list[Material]:
    """Return the materials of the same order, or of the same property, by their keys."""
    ready = material.material_set
    mine = Q(material_set=ready)
    if ready.order_id:
        mine |= Q(material_set__order=ready.order_id)
    elif ready.property_platform_id:
        mine |= Q(
            material_set__order=None,
            material_set__workspace=ready.workspace_id,
            material_set__property_platform_id=ready.property_platform_id,
        )
    related = ("material_set__order", "material_set__real_estate_property")
    found = Material.objects.filter(mine).select_related(*related).prefetch_related("files")
    return sorted(found, key=attrgetter("pk"))


def _type(material: Material) -> str:
    """Return the type of a material's file, or the announced one while it is not stored, or ""."""
    stored = [one.content_type for one in material.files.all() if one.role == Role.FILE]
    return next(filter(None, stored), "") or file_types.plain(material.mime_type)
