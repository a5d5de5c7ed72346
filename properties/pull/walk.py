"""The pull: a walk over the platform's list of properties, then full reads (I28).

The list has few fields, so the walk only finds the properties to read in full: new ones, changed
ones, those not read for a day and, once the walk is complete, those on no page. The push does the
read and its three-way merge. Pages may shift while somebody adds or removes properties. So a
property on two pages is read once, and a property on no page is read by itself, so that it is never
treated as gone by mistake.
"""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from crm_sync import row_locks
from crm_sync.models import Workspace
from crm_sync.platform.client import PAGE_SIZE
from crm_sync.platform.errors import TransientError
from crm_sync.sentence import sentence
from crm_sync.text import clean, plain
from crm_sync.work.doorbell import doorbell
from crm_sync.work.room import Room, wait_for_room
from properties.catalog import equal
from properties.domain.editing import QUEUE, REFERENCE
from properties.models import Property, Walk
from properties.models.property import ProblemKind, taken_reference, with_problem

FULL_READ = timedelta(hours=24)  # the greatest age of a full read
LISTED = ("title", "propertyType", "address")  # the fields of a list item besides its keys

LONGEST = 255  # characters of a key (§7)

Item = dict[str, Any]
log = logging.getLogger(__name__)


def pull(
    workspace: Workspace,
    *,
    size: int = PAGE_SIZE,
    room: Room = wait_for_room,
) -> Iterator[Walk]:
    """Walk the platform's list, or continue an unfinished walk; yield it after each page.

    The last walk yielded is finished. Properties that must be read in full are then due, and the
    normal turns of the queue of properties read them.

    Args:
        room: holds the room for the call of a page (A8).

    Raises:
        SyncError: the platform does not answer, or there is no room. The next call continues at the
            same page.
    """
    walk, _ = Walk.objects.get_or_create(
        workspace=workspace, finished_at=None, defaults={"started_at": timezone.now()}
    )
    before = None
    while walk.finished_at is None:
        items, is_last = _page(workspace, walk, size, room)
        if items and items == before:  # if the platform ignores `page`, the walk would never end
            raise TransientError(
                sentence("page %(page)s of the list repeats the one before", page=walk.page),
                unclear=False,
            )
        before = items
        _take(walk, items, is_last=is_last, now=timezone.now())
        walk.refresh_from_db()
        yield walk
    doorbell.ring(QUEUE, workspace.pk)


def _page(workspace: Workspace, walk: Walk, size: int, room: Room) -> tuple[list[Item], bool]:
    with room(workspace), workspace.calling() as client:
        items, is_last, *_ = client.property_page(walk.page, size=size)
    return [item for item in clean(items)[0] if _fits(item, workspace)], is_last


def _fits(item: Item, workspace: Workspace) -> bool:
    """Return whether an item has an id and keys that fit our columns; else no page would end."""
    too_long = [key for key in ("id", REFERENCE) if len(plain(item.get(key))) > LONGEST]
    if too_long:
        text = "%s: a property of the list is left out, its %s is longer than %d characters: %.80s"
        log.warning(text, workspace, too_long[0], LONGEST, item.get("id"))
    return plain(item.get("id")) != "" and not too_long


def _take(walk: Walk, items: list[Item], *, is_last: bool, now: datetime) -> None:
    """Write one page in one transaction: a stop loses at most the page that is being read.

    If another worker wrote the page in between, nothing is written.
    """
    by_id = {str(item["id"]): item for item in items}
    with transaction.atomic():
        unwritten = Walk.objects.filter(pk=walk.pk, page=walk.page, finished_at=None)
        if not unwritten.update(page=F("page") + 1):
            return
        mine = Property.objects.filter(workspace_id=walk.workspace_id)
        named = Q(platform_id__in=by_id) | Q(object_reference_id__in=_references(items))
        row_locks.lock(mine.filter(named | _unseen(walk) if is_last else named))
        known = {row.platform_id: row for row in mine.filter(platform_id__in=by_id)}
        added = _add(walk, [item for key, item in by_id.items() if key not in known], now=now)
        stale = [row.pk for key, row in known.items() if _must_read(row, by_id[str(key)], now)]
        asked = mine.filter(pk__in=stale, due_at=None).update(due_at=now)
        mine.filter(platform_id__in=by_id).update(listed_in=walk)
        missing = _ask_for_missing(walk, now=now) if is_last else 0
        Walk.objects.filter(pk=walk.pk).update(
            listed=F("listed") + len(by_id),
            added=F("added") + added,
            asked=F("asked") + asked + added,
            missing=missing,
            finished_at=now if is_last else None,
        )


def _must_read(row: Property, item: Item, now: datetime) -> bool:
    """Return whether the list differs from our last full read, or that read is too old."""
    if row.read_at is None or row.read_at < now - FULL_READ:
        return True
    if row.problem.keys() & {ProblemKind.GONE, ProblemKind.DUPLICATE}:  # it may be over
        return True
    if not equal(REFERENCE, item.get(REFERENCE), row.observed.get(REFERENCE)):
        return True
    return any(
        name in item and not equal(name, item[name], row.observed.get(name)) for name in LISTED
    )


def _references(items: list[Item]) -> set[str]:
    return {plain(item.get(REFERENCE)) for item in items} - {""}


def _add(walk: Walk, items: list[Item], *, now: datetime) -> int:
    """Add rows for unknown properties; return the number of rows due for their first full read."""
    mine = Property.objects.filter(workspace_id=walk.workspace_id)
    named = mine.filter(object_reference_id__in=_references(items))
    ours = {row.object_reference_id: row for row in named}
    rows, adopting = [], []
    for item in items:
        reference = plain(item.get(REFERENCE)) or None
        row = ours.get(reference)
        if row is not None and row.platform_id is None:
            adopting.append(row.pk)  # ours, not pushed yet: its push reads and adopts it
            continue
        new = Property(
            workspace_id=walk.workspace_id, platform_id=str(item["id"]), due_at=now, listed_in=walk
        )
        if row is None:
            new.object_reference_id = reference
        else:
            # A44: a read by reference returns the other property; this one is stored under its id.
            taken = taken_reference(str(reference), row)
            new.problem = with_problem({}, ProblemKind.DUPLICATE, taken)
        if reference is not None:
            ours[reference] = new
        rows.append(new)
    Property.objects.bulk_create(rows)
    asked = mine.filter(pk__in=adopting, due_at=None).update(due_at=now)
    return len(rows) + asked


def _unseen(walk: Walk) -> Q:
    return Q(platform_id__isnull=False) & (~Q(listed_in=walk) | Q(listed_in=None))


def _ask_for_missing(walk: Walk, *, now: datetime) -> int:
    """Make properties due that no page of a complete walk had. Only a 404 means they are gone."""
    unseen = Property.objects.filter(_unseen(walk), workspace_id=walk.workspace_id)
    count = unseen.count()
    unseen.filter(due_at=None).update(due_at=now)
    return count
