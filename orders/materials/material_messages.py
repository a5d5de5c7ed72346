"""The messages about materials that a list shows for the first time."""

from collections.abc import Collection
from datetime import datetime

from django.utils.translation import gettext_lazy as _

from crm_sync.hooks import MessageKind
from crm_sync.outgoing import outbox
from crm_sync.outgoing.outbox import Message
from orders.mirror.status_messages import ids_of
from orders.models import Material, MaterialSet

READY = MessageKind("material.ready", _("Materials of an order or of a property are available"))
MOST = 100  # ids in a message


def known(into: MaterialSet, materials: Collection[Material]) -> set[tuple[str, datetime | None]]:
    """Return which of these versions we have, in this set or in another set of its order."""
    ids = [one.platform_id for one in materials]
    sets = {"material_set__order": into.order_id} if into.order_id else {"material_set": into}
    found = Material.objects.filter(platform_id__in=ids, **sets)
    return set(found.values_list("platform_id", "modified_at"))


def tell(
    into: MaterialSet,
    materials: Collection[Material],
    before: set[tuple[str, datetime | None]],
    *,
    now: datetime,
) -> bool:
    """Write a message about the new versions, in the transaction that writes them.

    Returns:
        True when there are any.
    """
    new = [one.platform_id for one in materials if (one.platform_id, one.modified_at) not in before]
    if new:
        outbox.tell(into.workspace_id, [_message(into, new, now)], now=now)
    return bool(new)


def _message(into: MaterialSet, ids: list[str], now: datetime) -> Message:
    order = into.order
    of_property = {"orderId": None, "reference": None, "propertyId": into.property_platform_id}
    if order is None and into.real_estate_property is not None:
        of_property["reference"] = into.real_estate_property.object_reference_id
    data = (of_property if order is None else ids_of(order)) | {
        "assignmentId": into.assignment.platform_id if into.assignment else None,
        "product": into.product or None,
        "visualType": into.visual_type or None,
        "targetPlatform": into.target_platform or None,
        "materials": sorted(ids)[:MOST],
        "count": len(ids),
    }
    return Message(READY.name, now, data)
