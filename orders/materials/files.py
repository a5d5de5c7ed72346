"""What was announced as ready is fetched: the list; `download` gets the files (§4.5, A38, A40)."""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from crm_sync.jobs.due import Claim, backoff
from crm_sync.platform.addresses import resolved
from crm_sync.platform.client import Client
from crm_sync.platform.events import NotUnderstood, read_moment
from crm_sync.text import clean
from orders.materials import outgoing, wanted
from orders.models import Material, MaterialSet

# A39; a product of another name is a photo where its assignment says so.
PHOTO_PRODUCTS = frozenset(
    {
        *("GROUND_PHOTO", "GROUND_PHOTO_PRESTIGE", "DRONE_PHOTO"),
        *("RESIDENTIAL_STAGING", "COMMERCIAL_STAGING"),
        *("RESIDENTIAL_RENDERING", "COMMERCIAL_RENDERING"),
    }
)
OVERLAP = timedelta(hours=1)  # what is older than the newest may have been listed after it
LONGEST = 255  # characters of a key
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


@dataclass(frozen=True)
class _Listed:
    """One list of the platform.

    Attributes:
        visual_type: of the items that do not say theirs.
        is_of_set: all of its items belong to the set that is fetched, whatever type they say.
    """

    items: list[dict[str, Any]]
    visual_type: str
    is_of_set: bool


def fetch(claim: Claim[MaterialSet], client: Client) -> dict[str, Any]:
    """Read the lists of one set and keep what they name; a `poller.Reader`.

    Beside what was announced that is every visual type of the product. Those of another type come
    into the set of that type. At most three calls, for which a lease has time (I13).
    """
    ready = claim.row
    lists = list(_lists(ready, client))  # all of them, before any is written
    kept: dict[str, dict[str, Material]] = {ready.visual_type: {}}
    for one in lists:
        for item in clean(one.items)[0]:
            material = _material(item, ready, one.visual_type, base_url=client.base_url)
            if material.platform_id:
                visual_type = ready.visual_type if one.is_of_set else material.visual_type
                # By id: one statement cannot write one row twice.
                kept.setdefault(visual_type, {})[material.platform_id] = material
    now = timezone.now()
    with transaction.atomic():
        for visual_type, materials in kept.items():
            into = _set_of(ready, visual_type, materials.values(), now=now)
            _keep(into, materials.values(), now=now)
    if kept[ready.visual_type] or ready.materials.exists():
        return {"due_at": None, "fetched_at": now}
    attempts = ready.attempts + 1
    return {
        "due_at": now + backoff(attempts) if attempts < MAX_ATTEMPTS else None,
        "attempts": attempts,
        "problem": "announced as ready, but the platform lists nothing yet",
    }


def _lists(ready: MaterialSet, client: Client) -> Iterator[_Listed]:
    """Read what the set consists of, what was announced last: there it counts."""
    if ready.assignment is None or ready.order is None:
        items = client.get_marketing_materials(ready.property_platform_id)
        mine = [item for item in items if item.get("targetPlatform") == ready.target_platform]
        yield _Listed(mine, "", is_of_set=True)
        return
    order_id, assignment_id = ready.order.platform_id, ready.assignment.platform_id
    since = _since(ready)
    for quality, visual_type in _qualities(ready).items():
        query = {"visualQuality": quality} if quality else {}
        items = client.get_materials(
            order_id, assignment_id, product=ready.product, **query, **since
        )
        # Where nobody announced a type, there is one set for all.
        yield _Listed(items, visual_type, is_of_set=not ready.visual_type)
    if ready.visual_type:
        items = client.get_ready_materials(
            order_id, assignment_id, product=ready.product, visual_type=ready.visual_type
        )
        yield _Listed(items, ready.visual_type, is_of_set=True)


def _qualities(ready: MaterialSet) -> dict[str, str]:
    """Return the qualities to ask for, with their visual types (A52); "": none may be named."""
    kind = ready.assignment.assignment_type if ready.assignment else ""
    is_photo = ready.product in PHOTO_PRODUCTS or kind == "PHOTO"
    return {"WEB": "POST_WEB", "HD": "POST"} if is_photo else {"": ready.visual_type}


def _since(ready: MaterialSet) -> dict[str, str]:
    """Ask a second time only for what is newer, by the platform's clock (A38)."""
    if ready.fetched_at is None:
        return {}
    mine = Material.objects.filter(
        material_set__assignment=ready.assignment_id, material_set__product=ready.product
    )
    newest: datetime | None = mine.aggregate(newest=Max("modified_at"))["newest"]
    if newest is None:
        return {}
    since = (newest - OVERLAP).astimezone(UTC).replace(microsecond=0, tzinfo=None)
    return {"modifiedSince": f"{since.isoformat()}Z"}


def _set_of(
    ready: MaterialSet, visual_type: str, materials: Iterable[Material], *, now: datetime
) -> MaterialSet:
    """Return the set of a visual type; one that nobody announced is there since its first item."""
    if visual_type == ready.visual_type:
        return ready
    moments = [one.modified_at for one in materials if one.modified_at]
    found, _ = MaterialSet.objects.get_or_create(
        assignment=ready.assignment,
        product=ready.product,
        visual_type=visual_type,
        defaults={
            "workspace_id": ready.workspace_id,
            "order": ready.order,
            "property_platform_id": ready.property_platform_id,
            "real_estate_property_id": ready.real_estate_property_id,
            "ready_at": min(moments, default=ready.ready_at),
            "created_at": now,
            "fetched_at": now,
        },
    )
    return found


def _keep(into: MaterialSet, materials: Collection[Material], *, now: datetime) -> None:
    for one in materials:
        one.material_set = into
    before = outgoing.known(into, materials)
    Material.objects.bulk_create(
        materials, update_conflicts=True, unique_fields=UNIQUE, update_fields=COLUMNS
    )
    ids = [one.platform_id for one in materials]
    kept = into.materials.filter(platform_id__in=ids).select_related("material_set")
    if into.assignment is not None:  # of its visual type nothing stays in another set
        others = MaterialSet.objects.filter(assignment=into.assignment, product=into.product)
        twins = Material.objects.filter(
            material_set__in=others.exclude(pk=into.pk),
            visual_type=into.visual_type,
            platform_id__in=ids,
        )
        wanted.move(twins, kept)
        twins.delete()
    wanted.want(kept, now=now)
    outgoing.tell(into, materials, before, now=now)


def _material(
    item: dict[str, Any], ready: MaterialSet, visual_type: str, *, base_url: str
) -> Material:
    url = _word(item, "url")
    return Material(
        platform_id=_word(item, "id")[:LONGEST] or _key(url, base_url),
        product=(_word(item, "product") or ready.product)[:100],
        visual_type=(_word(item, "visualType") or visual_type)[:100],
        target_platform=(_word(item, "targetPlatform") or ready.target_platform)[:100],
        file_name=_word(item, "fileName"),
        mime_type=_word(item, "mimeType")[:255],
        size=_size(item.get("size")),
        url=resolved(url, base_url),
        thumbnail_url=resolved(_word(item, "thumbnailUrl"), base_url),
        modified_at=_moment(item, "modifiedAt") or _moment(item, "createdAt"),
    )


def _key(url: str, base_url: str) -> str:
    """Return by what a thing without an id is known: its address, of a long one the digest."""
    if len(url) <= LONGEST:
        return url
    return hashlib.sha256(resolved(url, base_url).encode()).hexdigest()


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
