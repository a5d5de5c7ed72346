"""How what was delivered is shown: on the page of an order, and on that of a property."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.forms import Media
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.utils import timezone

from crm_sync.admin.ui.cells import is_web_address, link, moment, page_at
from crm_sync.admin.ui.page import page
from crm_sync.hooks.sections import Section
from orders.admin.cells import worded
from orders.materials import delivered, gallery
from orders.materials.files import PHOTO_PRODUCTS
from orders.materials.gallery import QUALITIES, Group, Item
from orders.models import Material, MaterialSet, Order
from properties.models import Property

MOST = 60  # pictures on one page: it stays below 250 KB
MEDIA = Media(css={"all": ["orders/gallery.css"]})


def sections(row: Property, now: datetime) -> list[Section]:
    """Return what was delivered and what was generated for a property, as far as there is any.

    Four queries at most; a `registry.AppHooks.property_sections`.
    """
    found = []
    for slug, title, sets in (
        ("materials", "Materials", delivered.of_property(row)),
        ("marketing", "Marketing", delivered.marketing_of_property(row)),
    ):
        if sets:
            context = shown(sets, now)
            content = render_to_string("orders/property_materials.html", context)
            count = context["count"]
            found.append(Section(slug, title, count, content, "orders.view_order", MEDIA))
    return found


def shown(sets: Iterable[MaterialSet], now: datetime, *, number: int = 1) -> dict[str, Any]:
    """Return what `orders/gallery.html` needs: at most MOST pictures, by groups.

    Args:
        sets: each with its materials and its order fetched.
        number: which page of them, from 1.
    """
    every = gallery.groups(sets)
    groups, first, place = [], (number - 1) * MOST, 0
    for group in every:
        items = group.items[max(0, first - place) : max(0, first + MOST - place)]
        if items or (number == 1 and not group.items):
            groups.append(_group(group, items, now))
        place += len(group.items)
    return {"groups": groups, "count": place, "left_out": max(0, place - first - MOST)}


def materials_page(admin: Any, request: HttpRequest, pk: int) -> HttpResponse:
    """Show everything that was delivered of an order, page by page (S17)."""
    if not admin.has_view_permission(request):
        raise PermissionDenied
    order = get_object_or_404(admin.narrowed(request, Order.objects.all()), pk=pk)
    given = request.GET.get("page", "")
    number = max(1, int(given)) if given.isascii() and given.isdigit() and len(given) < 6 else 1
    found = shown(delivered.of_order(order), timezone.now(), number=number)
    context = found | {
        "title": f"Materials of order {order.platform_id}",
        "original": order,
        "order_url": page_at("orders.order", order.pk),
        "number": number,
        "numbers": range(1, -(-found["count"] // MOST) + 1),
    }
    return page(admin, request, "orders/materials.html", context)


def _group(group: Group, items: Sequence[Item], now: datetime) -> dict[str, Any]:
    newest = max(group.sets, key=lambda one: one.ready_at)
    return {
        "key": group.sets[0].pk,
        "title": ", ".join(worded(name) for name in group.names) or "Materials",
        "order": _order(newest),
        "ready": moment(newest.ready_at, now),
        "state": _state(group.sets),
        "problems": sorted({one.problem for one in group.sets if one.problem}),
        "count": len(group.items),
        "items": [_item(item, now) for item in items],
    }


def _order(ready: MaterialSet) -> str:
    if ready.order is None:
        return ""
    return link(page_at("orders.order", ready.order.pk), f"Order {ready.order.platform_id}")


def _state(sets: Sequence[MaterialSet]) -> str:
    """Say what is not known yet; "" where the platform has told everything."""
    if all(one.fetched_at for one in sets):
        return ""
    return "the list is read soon" if any(one.due_at for one in sets) else "the list was not read"


def _item(item: Item, now: datetime) -> dict[str, Any]:
    first, small = item.versions[0], item.versions[-1]
    return {
        "key": first.pk,
        "name": _name(first),
        "kind": _kind(first),
        "address": _address(small),
        "versions": [_version(one, now) for one in item.versions],
    }


def _version(material: Material, now: datetime) -> dict[str, Any]:
    """Return one quality of a photo, else what kind of file it is (A39)."""
    quality = QUALITIES.get(material.visual_type) if material.product in PHOTO_PRODUCTS else ""
    return {
        "label": quality or _kind(material),
        "size": _size(material.size),
        "address": _address(material),
        "modified": moment(material.modified_at, now) if material.modified_at else "",
    }


def _address(material: Material) -> str:
    """Return where a browser finds the file, "" where it must not follow the address (S18)."""
    return material.url if is_web_address(material.url) else ""


def _name(material: Material) -> str:
    return material.file_name or worded(material.visual_type or "material") + (
        f" {material.platform_id}" if len(material.platform_id) < 40 else ""
    )


def _kind(material: Material) -> str:
    """Return in a word what a material is: "PNG", or "Link" where it is no file."""
    _, dot, ending = material.file_name.rpartition(".")
    if dot and 0 < len(ending) <= 4:
        return ending.upper()
    subtype = material.mime_type.rpartition("/")[2]
    return subtype[:8].upper() or "Link"


def _size(count: int | None) -> str:
    if count is None:
        return ""
    if count < 1_000:
        return f"{count} bytes"
    return f"{count / 1e6:.1f} MB" if count >= 1_000_000 else f"{count / 1e3:.0f} kB"
