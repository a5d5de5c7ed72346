"""What was delivered, and what the platform generated for a property (§4.5, A38, A40)."""

from django.db.models import Q

from orders.models import MaterialSet, Order
from properties.models import Property

NEWEST = 40  # sets of a property; the page of each order has all of its own


def of_order(order: Order) -> list[MaterialSet]:
    """Return what was delivered of an order in the order of its delivery, with materials."""
    sets = order.material_sets.select_related("order").prefetch_related("materials__files")
    return list(sets.order_by("ready_at", "pk"))


def of_property(row: Property) -> list[MaterialSet]:
    """Return what was delivered last for a property, the newest first, with materials and order."""
    sets = MaterialSet.objects.filter(order__real_estate_property=row)
    newest = sets.select_related("order").order_by("-ready_at", "-pk")
    return list(newest.prefetch_related("materials__files")[:NEWEST])


def marketing_of_property(row: Property) -> list[MaterialSet]:
    """Return the sets of a property by target platform, each with its materials.

    By its platform id too: a set may have been announced before we knew the property.
    """
    is_its = Q(real_estate_property=row)
    if row.platform_id is not None:
        is_its |= Q(workspace=row.workspace_id, property_platform_id=row.platform_id)
    sets = MaterialSet.objects.filter(is_its, assignment=None).select_related("order")
    return list(sets.prefetch_related("materials__files").order_by("target_platform", "pk"))
