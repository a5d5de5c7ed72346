"""Reads the lists of announced materials. `download` gets the files (§4.5, A38, A40)."""

import hashlib
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from crm_sync import row_locks
from crm_sync.models.due import backoff
from crm_sync.naming import FORGOTTEN
from crm_sync.platform.addresses import resolved
from crm_sync.platform.client import Client
from crm_sync.platform.events import NotUnderstood, read_moment
from crm_sync.sentence import Sentence, sentence
from crm_sync.text import clean, plain
from crm_sync.work.leases import Claim
from orders.materials import file_requests, material_lists, material_messages
from orders.materials.material_lists import MaterialSetReading
from orders.mirror.platform_reading import key
from orders.models import Assignment, Material, MaterialSet
from properties.models import Property

LONGEST = 255  # characters of a key
MOST_EMPTY_READS = 8  # some minutes in total: the platform may announce before it lists
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
    "withdrawn_at",
)
Kept = dict[str, dict[str, Material]]  # by the kind of the set, then by the id of the material


def fetch(claim: Claim[MaterialSet], client: Client) -> dict[str, Any]:
    """Read the lists of one set and store their materials; a `poller.Reader`.

    Materials of another visual type or target platform are stored in the set of that kind. Until
    materials of its own kind are listed, the set is read again, a few times (I27).
    """
    ready = claim.row
    reading = material_lists.read(ready, client, until=claim.until)
    kept = _kept(reading, ready, base_url=client.base_url)
    now, is_new = timezone.now(), False
    with transaction.atomic():
        # Of two that read the same lists, the later one finds what the other has reported.
        row_locks.lock(_owner(ready))
        claim.lock()  # else these lists may be older than those of another worker
        for kind, materials in kept.items():
            into = _set_of(ready, kind, materials.values(), now=now)
            is_own_new = _keep(into, materials.values(), now=now)
            is_new |= is_own_new and into == ready
        # A list may be empty for a while.
        is_known = kind_of(ready) in kept or ready.empty_reads + 1 >= MOST_EMPTY_READS
        if reading.is_whole and is_known:
            # Materials that complete lists do not name are withdrawn, never deleted (A38, A40).
            listed = {key for one in kept.values() for key in one}
            there = ready.materials.filter(withdrawn_at=None)
            there.exclude(platform_id__in=listed).update(withdrawn_at=now)
    if reading.failure is not None:
        raise reading.failure
    if kind_of(ready) not in kept and _is_announced(ready):
        return _not_yet(ready, reading, now=now)
    # A list without new materials is no news on the page of the order.
    fetched = {"fetched_at": now} if is_new or ready.fetched_at is None else {}
    return {"due_at": None, "empty_reads": 0, **fetched}


def _owner(ready: MaterialSet) -> QuerySet[Any]:
    """Return the assignment or the property of a set; events lock an assignment before its sets."""
    if ready.assignment_id:
        return Assignment.objects.filter(pk=ready.assignment_id)
    mine = Property.objects.filter(workspace=ready.workspace_id)
    return mine.filter(platform_id=ready.property_platform_id)


def kind_of(ready: MaterialSet) -> str:
    """Return the type or platform that distinguishes the sets of a product or property."""
    return ready.visual_type if ready.assignment_id else ready.target_platform


def _is_announced(ready: MaterialSet) -> bool:
    """Return whether the set must have materials: they were announced or delivered."""
    return bool(ready.assignment_id or ready.target_platform)


def _not_yet(ready: MaterialSet, reading: MaterialSetReading, *, now: datetime) -> dict[str, Any]:
    """Have the list read again later. After `MOST_EMPTY_READS` reads, a person has to check."""
    reads = ready.empty_reads + 1
    is_over = reads >= MOST_EMPTY_READS
    return {
        "due_at": None if is_over else now + backoff(reads),
        "empty_reads": reads,
        "problem": _why(ready, reading, is_over=is_over),
    }


def _why(ready: MaterialSet, reading: MaterialSetReading, *, is_over: bool) -> Sentence:
    if ready.visual_type or ready.target_platform:
        missing = sentence("Announced as ready, but the platform lists nothing.")
    else:
        missing = sentence("Delivered, but the platform lists nothing.")
    if is_over:
        text = sentence(
            "%(missing)s Read it again. If it stays so, look for it on the platform.",
            missing=missing,
        )
    else:
        text = sentence("%(missing)s It is read again by itself.", missing=missing)
    if not reading.refusals:
        return text
    refusals = "; ".join(dict.fromkeys(reading.refusals))
    return sentence("%(text)s (%(refusals)s)", text=text, refusals=refusals)


def _kept(reading: MaterialSetReading, ready: MaterialSet, *, base_url: str) -> Kept:
    kept: Kept = {}
    for one in reading.lists:
        for item in clean(one.items)[0]:
            material = _material(item, ready, one.kind, base_url=base_url)
            if not material.platform_id:
                continue
            its_own = material.visual_type if ready.assignment_id else material.target_platform
            kind = kind_of(ready) if one.is_of_set else its_own
            # By id, because one statement cannot write a row twice.
            kept.setdefault(kind, {})[material.platform_id] = material
    return kept


def _set_of(
    ready: MaterialSet, kind: str, materials: Iterable[Material], *, now: datetime
) -> MaterialSet:
    """Return the set of a kind. A set that nobody announced is dated by its first item."""
    if kind == kind_of(ready):
        return ready
    moments = [one.modified_at for one in materials if one.modified_at]
    if ready.assignment_id:
        names = {"product": ready.product, "visual_type": kind}
    else:
        names = {"property_platform_id": ready.property_platform_id, "target_platform": kind}
    found, _ = MaterialSet.objects.get_or_create(
        workspace_id=ready.workspace_id,
        assignment=ready.assignment,
        **names,
        defaults={
            "order": ready.order,
            "property_platform_id": ready.property_platform_id,
            "real_estate_property_id": ready.real_estate_property_id,
            "ready_at": min(moments, default=ready.ready_at),
            "created_at": now,
            "fetched_at": now,
        },
    )
    return found


def _keep(into: MaterialSet, materials: Collection[Material], *, now: datetime) -> bool:
    """Write the materials of a set. Return whether one of the versions is new."""
    for one in materials:
        one.material_set = into
    before = material_messages.lock_known(into, materials)
    blanked = {key: name for (key, _), name in before.items() if FORGOTTEN in name}
    for one in materials:  # a person whom we were asked to forget does not come back (S23)
        one.file_name = blanked.get(one.platform_id, one.file_name)
    Material.objects.bulk_create(
        materials, update_conflicts=True, unique_fields=UNIQUE, update_fields=COLUMNS
    )
    ids = [one.platform_id for one in materials]
    kept = into.materials.filter(platform_id__in=ids).select_related("material_set")
    if into.assignment is not None:  # no other set may hold materials of its visual type
        others = MaterialSet.objects.filter(assignment=into.assignment, product=into.product)
        twins = Material.objects.filter(
            material_set__in=others.exclude(pk=into.pk),
            visual_type=into.visual_type,
            platform_id__in=ids,
        )
        file_requests.move(twins, kept)
        twins.delete()
    file_requests.want(kept, now=now)
    is_new = material_messages.tell(into, materials, before, now=now)
    # A set that was given up has its list now. A set that is due is read anyway.
    given_up = MaterialSet.objects.filter(pk=into.pk, due_at=None)
    fetched_at = now if is_new else Coalesce("fetched_at", Value(now))
    given_up.update(problem="", empty_reads=0, fetched_at=fetched_at)
    return is_new


def _material(item: dict[str, Any], ready: MaterialSet, kind: str, *, base_url: str) -> Material:
    url = _word(item, "url")
    visual_type, target = (kind, "") if ready.assignment_id else ("", kind)
    return Material(
        platform_id=key(item, "id") or _key(url, base_url),
        product=(_word(item, "product") or ready.product)[:100],
        visual_type=(_word(item, "visualType") or visual_type)[:100],
        target_platform=(_word(item, "targetPlatform") or target)[:100],
        file_name=_word(item, "fileName"),
        mime_type=_word(item, "mimeType")[:255],
        size=_size(item.get("size")),
        url=resolved(url, base_url),
        thumbnail_url=resolved(_word(item, "thumbnailUrl"), base_url),
        modified_at=_moment(item, "modifiedAt") or _moment(item, "createdAt"),
    )


def _key(url: str, base_url: str) -> str:
    """Return the key of a material without an id: its address, or the digest of a long one."""
    if len(url) <= LONGEST:
        return url
    return hashlib.sha256(resolved(url, base_url).encode()).hexdigest()


def _word(item: dict[str, Any], name: str) -> str:
    return plain(item.get(name))


def _size(value: Any) -> int | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return value if is_whole and 0 <= value < 2**63 else None


def _moment(item: dict[str, Any], name: str) -> datetime | None:
    try:
        return read_moment(name, item[name])
    except (KeyError, NotUnderstood):
        return None
