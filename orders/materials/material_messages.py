"""The messages about materials that a list shows for the first time."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _, ngettext

from crm_sync import row_locks
from crm_sync.hooks import MessageFacts, MessageKind
from crm_sync.links import absolute
from crm_sync.outgoing import outbox
from crm_sync.outgoing.outbox import Message
from crm_sync.translated import number
from orders.mirror.status_messages import ids_of, of_orders
from orders.models import Material, MaterialSet
from properties.domain.headline import headline
from properties.models import Property


def facts(workspace_id: int, documents: Sequence[Mapping[str, Any]]) -> list[MessageFacts]:
    """Return what a chat shows of messages about materials. Two queries."""
    orders = of_orders(workspace_id, {one["orderId"] for one in documents if one["orderId"]})
    ids = {one["propertyId"] for one in documents if one["propertyId"]}
    rows = Property.objects.filter(workspace=workspace_id, platform_id__in=ids)
    columns = ("platform_id", "pk", "desired__address", "title")
    of_property = {
        platform_id: (headline(address, title), absolute("admin:properties_property_change", key))
        for platform_id, key, address, title in rows.values_list(*columns)
    }
    found = []
    for one in documents:
        name, link = orders.get(one["orderId"]) or of_property.get(one["propertyId"], ("", ""))
        count = {"count": number(one["count"])}
        status = ngettext("%(count)s new material", "%(count)s new materials", one["count"]) % count
        reference = one["reference"] or one["orderId"] or one["propertyId"] or ""
        found.append(MessageFacts(name, reference, status, link))
    return found


READY = MessageKind(
    "material.ready", _("Materials of an order or of a property are available"), facts
)
MOST = 100  # ids in a message


def lock_known(
    into: MaterialSet, materials: Collection[Material]
) -> dict[tuple[str, datetime | None], str]:
    """Lock what we have of these, in this set or another one of its order: version to file name.

    Until the commit nobody else blanks a name (S23).
    """
    ids = [one.platform_id for one in materials]
    sets = {"order": into.order_id} if into.order_id else {"pk": into.pk}
    of_sets = MaterialSet.objects.filter(**sets).values("pk")
    found = Material.objects.filter(platform_id__in=ids, material_set__in=of_sets)
    row_locks.lock(found)
    rows = found.values_list("platform_id", "modified_at", "file_name")
    return {(key, modified_at): name for key, modified_at, name in rows}


def tell(
    into: MaterialSet,
    materials: Collection[Material],
    before: Collection[tuple[str, datetime | None]],
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
