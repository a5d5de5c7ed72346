"""What was announced as ready is fetched: the list of it, not the files (§4.5, A38, A40)."""

from datetime import datetime
from typing import Any

from django.utils import timezone

from crm_sync.client import Client
from crm_sync.due import Claim, backoff
from crm_sync.events import NotUnderstood, read_moment
from crm_sync.text import clean
from orders import reading
from orders.models import Assignment, Material, MaterialSet, Order
from orders.statuses import AssignmentStatus
from properties.models import Property

QUEUE = "materials"
TRIES = 8  # reads of an announced list that is empty yet
UNIQUE = ("material_set", "platform_id")
COLUMNS = (
    "product",
    "visual_type",
    "target_platform",
    "file_name",
    "mime_type",
    "size",
    "url",
    "thumbnail_url",
    "modified_at",
)


def announce_visuals(
    order: Order,
    assignment: Assignment,
    *,
    product: str,
    visual_type: str,
    at: datetime,
    now: datetime,
) -> bool:
    """Make the visuals of an assignment due to be fetched (VISUALS_READY).

    Returns:
        False when the same or a later announcement is known already.
    """
    ready, is_first = MaterialSet.objects.get_or_create(
        assignment=assignment,
        product=product,
        visual_type=visual_type,
        defaults={
            "workspace_id": order.workspace_id,
            "order": order,
            "property_platform_id": order.property_platform_id,
            "real_estate_property_id": order.real_estate_property_id,
            "ready_at": at,
            "created_at": now,
        },
    )
    return _announce(ready, is_first=is_first, at=at, now=now)


def announce_marketing(
    workspace_id: int, *, property_id: str, target_platform: str, at: datetime, now: datetime
) -> bool:
    """Make the marketing materials of a property due to be fetched (MARKETING_MATERIALS_READY).

    Returns:
        False when the same or a later announcement is known already.
    """
    mine = Property.objects.filter(workspace_id=workspace_id, platform_id=property_id)
    ready, is_first = MaterialSet.objects.get_or_create(
        workspace_id=workspace_id,
        property_platform_id=property_id,
        target_platform=target_platform,
        assignment=None,
        defaults={"real_estate_property": mine.first(), "ready_at": at, "created_at": now},
    )
    return _announce(ready, is_first=is_first, at=at, now=now)


def expect(order: Order, *, now: datetime) -> None:
    """Make due what must be ready although nobody announced it: its event fell into a gap (§3.6).

    A delivered assignment has materials for each of its products.
    """
    for assignment in order.assignments.filter(status=AssignmentStatus.DELIVERED):
        told = set(assignment.material_sets.values_list("product", flat=True))
        for product in sorted(set(assignment.products) - told):
            announce_visuals(
                order,
                assignment,
                product=product,
                visual_type="",
                at=assignment.status_at,
                now=now,
            )


def _announce(ready: MaterialSet, *, is_first: bool, at: datetime, now: datetime) -> bool:
    row = MaterialSet.objects.filter(pk=ready.pk)
    if not is_first and row.filter(ready_at__lt=at).update(ready_at=at, attempts=0) != 1:
        return False
    reading.ask(row, QUEUE, ready.workspace_id, now=now)
    return True


def fetch(claim: Claim[MaterialSet], client: Client) -> dict[str, Any]:
    """Read the list of one set and keep what it names; a `reading.Reader`."""
    ready = claim.row
    found = [_material(ready, clean(item)[0]) for item in _read(ready, client)]
    now = timezone.now()
    # By id: one statement cannot write one row twice.
    kept = {material.platform_id: material for material in found if material.platform_id}
    Material.objects.bulk_create(
        kept.values(), update_conflicts=True, unique_fields=UNIQUE, update_fields=COLUMNS
    )
    if kept:
        return {"due_at": None, "fetched_at": now}
    attempts = ready.attempts + 1
    return {
        "due_at": now + backoff(attempts) if attempts < TRIES else None,
        "attempts": attempts,
        "problem": "announced as ready, but the platform lists nothing yet",
    }


def _read(ready: MaterialSet, client: Client) -> list[dict[str, Any]]:
    if ready.assignment is None or ready.order is None:
        items = client.get_marketing_materials(ready.property_platform_id)
        return [item for item in items if item.get("targetPlatform") == ready.target_platform]
    if not ready.visual_type:  # nobody announced which
        return client.get_materials(
            ready.order.platform_id, ready.assignment.platform_id, product=ready.product
        )
    return client.get_ready_materials(
        ready.order.platform_id,
        ready.assignment.platform_id,
        product=ready.product,
        visual_type=ready.visual_type,
    )


def _material(ready: MaterialSet, item: dict[str, Any]) -> Material:
    url = _word(item, "url")
    return Material(
        material_set=ready,
        # A thing without an id is known by its address.
        platform_id=(_word(item, "id") or url)[:255],
        product=(_word(item, "product") or ready.product)[:100],
        visual_type=(_word(item, "visualType") or ready.visual_type)[:100],
        target_platform=(_word(item, "targetPlatform") or ready.target_platform)[:100],
        file_name=_word(item, "fileName"),
        mime_type=_word(item, "mimeType")[:255],
        size=_size(item.get("size")),
        url=url,
        thumbnail_url=_word(item, "thumbnailUrl"),
        modified_at=_moment(item, "modifiedAt") or _moment(item, "createdAt"),
    )


def _word(item: dict[str, Any], name: str) -> str:
    value = item.get(name)
    return "" if value is None else str(value)


def _size(value: Any) -> int | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return value if is_whole and 0 <= value < 2**63 else None


def _moment(item: dict[str, Any], name: str) -> datetime | None:
    try:
        return read_moment(name, item[name])
    except (KeyError, NotUnderstood):
        return None
