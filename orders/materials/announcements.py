"""Announced materials become due to be fetched (§4.5, I21)."""

from datetime import datetime

from django.db.models import Q

from orders.models import Assignment, MaterialSet, Order
from orders.reads import poller
from properties.models import Property

QUEUE = "materials"
ANEW = {"attempts": 0, "empty_reads": 0}  # the columns to reset when a list is requested again


def announce_visuals(
    order: Order,
    assignment: Assignment,
    *,
    product: str,
    visual_type: str,
    at: datetime,
    now: datetime,
    platform_now: datetime | None = None,
) -> bool:
    """Make the visuals of an assignment due to be fetched (VISUALS_READY).

    Args:
        platform_now: see `_announce`. It is the same for the marketing materials.

    Returns:
        False when the same or a later announcement is known already.
    """
    is_named = _name_unannounced(assignment, product=product, visual_type=visual_type, at=at)
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
            "due_at": now,
        },
    )
    is_first = is_first or is_named
    return _announce(ready, is_first=is_first, at=at, now=now, platform_now=platform_now)


def _name_unannounced(
    assignment: Assignment, *, product: str, visual_type: str, at: datetime
) -> bool:
    """Give a set that was fetched without an announcement (`expectations`) the announced type.

    Returns:
        True when there was one. It is fetched again. Its materials of other visual types then move
        to the sets of those types.
    """
    mine = MaterialSet.objects.filter(assignment=assignment, product=product)
    if not visual_type or mine.filter(visual_type=visual_type).exists():
        return False
    columns = {"visual_type": visual_type, "ready_at": at, "due_at": at}
    return mine.filter(visual_type="").update(**columns, **ANEW) == 1


def announce_marketing(
    workspace_id: int,
    *,
    property_id: str,
    target_platform: str,
    at: datetime,
    now: datetime,
    platform_now: datetime | None = None,
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
        defaults={
            "real_estate_property": mine.first(),
            "ready_at": at,
            "created_at": now,
            "due_at": now,
        },
    )
    return _announce(ready, is_first=is_first, at=at, now=now, platform_now=platform_now)


def _announce(
    ready: MaterialSet,
    *,
    is_first: bool,
    at: datetime,
    now: datetime,
    platform_now: datetime | None,
) -> bool:
    """Make the set due, unless the same or a later announcement already did.

    Args:
        platform_now: the present time of the platform's clock. An announcement that is dated later,
            within the limit of S11, gives way to any other one. Otherwise it would hide the real
            announcements until its date.
    """
    row = MaterialSet.objects.filter(pk=ready.pk)
    older = Q(ready_at__lt=at)
    if platform_now is not None:
        older |= Q(ready_at__gt=max(at, platform_now))
    if not is_first and row.filter(older).update(ready_at=at, **ANEW) != 1:
        return False
    poller.ask(row, QUEUE, ready.workspace_id, now=now)
    return True
