"""The marketing materials that the platform generated for a property (§4.5, A40)."""

from django.db.models import Q

from orders.models import MaterialSet
from properties.models import Property


def of_property(row: Property) -> list[MaterialSet]:
    """Return the sets of a property by target platform, each with its materials.

    By its platform id too: a set may have been announced before we knew the property.
    """
    is_its = Q(real_estate_property=row)
    if row.platform_id is not None:
        is_its |= Q(workspace=row.workspace_id, property_platform_id=row.platform_id)
    sets = MaterialSet.objects.filter(is_its, assignment=None).prefetch_related("materials")
    return list(sets.order_by("target_platform", "pk"))
