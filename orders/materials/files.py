"""What was announced as ready is fetched: the list of it, not the files (§4.5, A38, A40)."""

from datetime import datetime
from typing import Any

from django.utils import timezone

from crm_sync.jobs.due import Claim, backoff
from crm_sync.platform.client import Client
from crm_sync.platform.events import NotUnderstood, read_moment
from crm_sync.text import clean
from orders.models import Material, MaterialSet

MAX_ATTEMPTS = 8  # reads of an announced list that is empty yet
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


def fetch(claim: Claim[MaterialSet], client: Client) -> dict[str, Any]:
    """Read the list of one set and keep what it names; a `poller.Reader`."""
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
        "due_at": now + backoff(attempts) if attempts < MAX_ATTEMPTS else None,
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
