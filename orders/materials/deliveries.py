"""Delivered materials, and materials generated for a property (§4.5, A38, A40)."""

from collections.abc import Collection

from django.db.models import Exists, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from orders.materials.file_types import PICTURES
from orders.materials.material_lists import PHOTO_PRODUCTS
from orders.models import Material, MaterialFile, MaterialSet, Order
from properties.models import Property

LIGHT = 200_000  # the most bytes of a picture that serves as its own thumbnail
NEWEST = 40  # sets of a property. The page of an order shows all of its sets.


def of_order(order: Order) -> list[MaterialSet]:
    """Return the sets of an order in the sequence of delivery, with their materials."""
    return shown(Q(order=order))


def shown(which: Q) -> list[MaterialSet]:
    """Return sets in the sequence of delivery, with their materials.

    An empty set that nobody announced is left out.
    """
    is_nothing = Q(assignment=None, target_platform="", problem="", materials=None)
    sets = MaterialSet.objects.filter(which).exclude(is_nothing).select_related("order")
    return list(sets.prefetch_related("materials__files").order_by("ready_at", "pk"))


def of_property(row: Property) -> list[MaterialSet]:
    """Return the newest sets of a property, newest first, with their materials and orders."""
    sets = MaterialSet.objects.filter(order__real_estate_property=row)
    newest = sets.select_related("order").order_by("-ready_at", "-pk")
    return list(newest.prefetch_related("materials__files")[:NEWEST])


def marketing_of_property(row: Property) -> list[MaterialSet]:
    """Return the generated sets of a property by target platform, with their materials."""
    return sorted(shown(is_generated_for(row)), key=lambda one: one.target_platform)


def is_generated_for(row: Property) -> Q:
    """Return the condition for sets that were generated for a property.

    It includes the platform's id, because a set may be announced before we know the property.
    """
    is_its = Q(real_estate_property=row, assignment=None)
    known = row.platform_id
    return is_its | is_generated_for_id(row.workspace_id, known) if known else is_its


def is_generated_for_id(workspace_id: int, platform_id: str) -> Q:
    """Return the condition for sets generated for a property, by its id on the platform."""
    mine = Q(workspace=workspace_id, property_platform_id=platform_id)
    return mine & Q(assignment=None)


def newest_pictures(keys: Collection[int]) -> dict[int, MaterialFile]:
    """Return the small stored picture of the newest photo of each property that has one.

    Two queries for any number of properties.

    Args:
        keys: primary keys of properties.
    """
    light = MaterialFile.objects.exclude(name="").filter(
        material__product__in=PHOTO_PRODUCTS,
        material__withdrawn_at=None,
        content_type__in=PICTURES,
        size__lte=LIGHT,
    )
    mine = light.filter(material__material_set__order__real_estate_property=OuterRef("pk"))
    age = Coalesce("material__modified_at", "stored_at")
    newest = Subquery(mine.order_by(age.desc(), "role", "-pk").values("pk")[:1])
    found = Property.objects.filter(pk__in=keys).annotate(picture_key=newest)
    pairs = dict(found.exclude(picture_key=None).values_list("pk", "picture_key"))
    rows = MaterialFile.objects.in_bulk(set(pairs.values()))
    return {key: rows[row] for key, row in pairs.items() if row in rows}


def with_photos() -> Q:
    """Properties with a delivered photo that the platform has not withdrawn, downloaded or not."""
    photos = Material.objects.filter(product__in=PHOTO_PRODUCTS, withdrawn_at=None)
    return Q(Exists(photos.filter(material_set__order__real_estate_property=OuterRef("pk"))))
