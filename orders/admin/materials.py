"""The delivered materials on the page of an order and on the page of a property."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.forms import Media
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _, ngettext, pgettext

from crm_sync.admin.ui.cells import is_web_address, link, moment, page_at
from crm_sync.admin.ui.page import page
from crm_sync.hooks import PropertyFilter, PropertyPictures, PropertyTab, Section
from crm_sync.sentence import said
from crm_sync.text import whole
from crm_sync.translated import Text, number as grouped, said_of
from orders.admin.cells import worded
from orders.admin.file_view import file_address
from orders.materials import deliveries, gallery
from orders.materials.deliveries import LIGHT
from orders.materials.file_types import PICTURES
from orders.materials.gallery import QUALITIES, Item, MaterialGroup
from orders.materials.material_lists import PHOTO_PRODUCTS
from orders.models import Material, MaterialFile, MaterialSet, Order
from properties.models import Property

MOST = 60  # pictures on one page, which stays below 250 KB
MOST_BESIDE_A_FORM = 20  # on the page of a property, whose inputs take most of the 250 KB
MOST_PROBLEMS = 5  # problems listed for a group
MEDIA = Media(css={"all": ["orders/gallery.css"]}, js=["orders/gallery.js"])
Role = MaterialFile.Role


def _pictures(keys: Collection[int]) -> dict[int, str]:
    return {key: file_address(row) for key, row in deliveries.newest_pictures(keys).items()}


OF_PROPERTIES = PropertyPictures("orders.view_order", _pictures)
PHOTOS = PropertyFilter(
    parameter="pictures",
    title=_("pictures"),
    permission="orders.view_order",
    conditions={
        "none": (_("Without pictures"), ~deliveries.with_photos()),
        "some": (_("With pictures"), deliveries.with_photos()),
    },
)


def sections(row: Property, now: datetime) -> list[Section]:
    """Return the sections for delivered materials, even if there are none, and for generated ones.

    At most six queries. A `hooks.AppHooks.property_sections`.
    """
    delivered = _section(
        "materials", pgettext("materials", "Delivered"), deliveries.of_property(row), now
    )
    generated = deliveries.marketing_of_property(row)
    if not generated:
        return [delivered]
    return [delivered, _section("marketing", _("Marketing"), generated, now)]


def _section(slug: str, title: Text, sets: Iterable[MaterialSet], now: datetime) -> Section:
    context = shown(sets, now, most=MOST_BESIDE_A_FORM)
    content = render_to_string("orders/property_materials.html", context)
    tab, count = PropertyTab.PICTURES, context["count"]
    return Section(slug, title, count, content, "orders.view_order", tab, MEDIA)


def shown(
    sets: Iterable[MaterialSet], now: datetime, *, number: int = 1, most: int = MOST
) -> dict[str, Any]:
    """Return the context of `orders/gallery.html`: at most `most` pictures, in groups.

    Args:
        sets: each with its materials and its order fetched.
        number: the number of the page, from 1.
    """
    every = gallery.groups(sets)
    groups, first, place = [], (number - 1) * most, 0
    for group in every:
        items = group.items[max(0, first - place) : max(0, first + most - place)]
        if items or (number == 1 and not group.items):
            groups.append(_group(group, items, now))
        place += len(group.items)
    stored = sum(_file(one) is not None for group in every for one in _versions(group))
    return {
        "groups": groups,
        "count": place,
        "left_out": max(0, place - first - most),
        "stored": stored,
        "may_download": settings.MATERIALS_DOWNLOAD and place > 0,
    }


def materials_page(admin: Any, request: HttpRequest, pk: int) -> HttpResponse:
    """Show all materials of an order, page by page (S17)."""
    order = get_object_or_404(admin.narrowed(request, Order.objects.all()), pk=pk)
    number = whole(request.GET.get("page", "")) or 1
    found = shown(deliveries.of_order(order), timezone.now(), number=number)
    context = found | {
        "title": gettext("Photos and documents of order %(order)s") % {"order": order.platform_id},
        "number": number,
        "numbers": range(1, -(-found["count"] // MOST) + 1),
    }
    return page(admin, request, "orders/materials.html", context, row=order)


def _group(group: MaterialGroup, items: Sequence[Item], now: datetime) -> dict[str, Any]:
    newest = max(group.sets, key=lambda one: one.ready_at)
    return {
        "key": group.sets[0].pk,
        "title": ", ".join(worded(name) for name in group.names) or gettext("Photos and documents"),
        "order": _order(newest),
        "ready": moment(newest.ready_at, now),
        "state": _state(group),
        "problems": sorted({one.problem for one in group.sets if one.problem}),
        "file_problems": _problems(group),
        "count": len(group.items),
        "items": [_item(item, now) for item in items],
    }


def _versions(group: MaterialGroup) -> list[Material]:
    return [version for item in group.items for version in item.versions]


def _problems(group: MaterialGroup) -> list[str]:
    """Return why files are missing: at most `MOST_PROBLEMS` reasons, and a count of the others."""
    found = [
        said_of(_name(version), said(row.problem))
        for version in _versions(group)
        for row in version.files.all()
        if row.role == Role.FILE and row.problem and not row.name
    ]
    found = list(dict.fromkeys(found))  # HD and WEB may fail for the same reason
    rest = len(found) - MOST_PROBLEMS
    more = [gettext("and %(count)s more") % {"count": grouped(rest)}] if rest > 0 else []
    return found[:MOST_PROBLEMS] + more


def _order(ready: MaterialSet) -> str:
    if ready.order is None:
        return ""
    text = gettext("Order %(order)s") % {"order": ready.order.platform_id}
    return link(page_at("orders.order", ready.order.pk), text)


def _state(group: MaterialGroup) -> str:
    """Return what was not read or downloaded yet, in words, or ""."""
    if not all(one.fetched_at for one in group.sets):
        is_due = any(one.due_at for one in group.sets)
        return gettext("the list is read soon") if is_due else gettext("the list was not read")
    wanted = [row for one in _versions(group) for row in one.files.all() if row.role == Role.FILE]
    stored = sum(bool(row.name) for row in wanted)
    if stored == len(wanted):
        return ""
    text = ngettext(
        "%(stored)s of %(count)s file downloaded",
        "%(stored)s of %(count)s files downloaded",
        len(wanted),
    )
    return text % {"stored": grouped(stored), "count": grouped(len(wanted))}


def _item(item: Item, now: datetime) -> dict[str, Any]:
    """Return one picture: the stored file if there is one, else a link to the platform."""
    first, small = item.versions[0], item.versions[-1]
    pictures = [row for row in map(_file, item.versions) if row and _is_picture(row)]
    address = file_address(pictures[-1]) if pictures else _address(small)
    return {
        "key": first.pk,
        "name": _name(first),
        "kind": _kind(first),
        "thumbnail": _thumbnail(item),
        "address": address,
        "is_ours": bool(pictures) or _file(small) is not None,
        "view": address if pictures else "",
        "large": file_address(pictures[0]) if len(pictures) > 1 else "",
        "versions": [_version(one, now) for one in item.versions],
    }


def _thumbnail(item: Item) -> str:
    """Return the address of a small stored picture, or ""."""
    rows = [row for one in item.versions for row in one.files.all() if row.name]
    small = [row for row in rows if row.role == Role.THUMBNAIL]
    light = [row for row in rows if _is_picture(row) and (row.size or 0) <= LIGHT]
    return file_address((small or light)[-1]) if small or light else ""


def _file(material: Material) -> MaterialFile | None:
    """Return the file of a material if it is stored."""
    found = (row for row in material.files.all() if row.role == Role.FILE and row.name)
    return next(found, None)


def _is_picture(row: MaterialFile) -> bool:
    return row.content_type in PICTURES


def _version(material: Material, now: datetime) -> dict[str, Any]:
    """Return one version: the quality of a photo, or the file type of another material (A39)."""
    quality = QUALITIES.get(material.visual_type) if material.product in PHOTO_PRODUCTS else ""
    stored = _file(material)
    label = quality or _kind(material)
    size = stored.size if stored else material.size
    return {
        "label": label
        if material.withdrawn_at is None
        else gettext("%(name)s, withdrawn") % {"name": label},
        "size": "" if size is None else filesizeformat(size),
        "address": file_address(stored, saved=True) if stored else _address(material),
        "is_ours": stored is not None,
        "modified": moment(material.modified_at, now) if material.modified_at else "",
    }


def _address(material: Material) -> str:
    """Return the address of the stored file, else the platform's address if it is a web address."""
    stored = _file(material)
    if stored is not None:
        return file_address(stored)
    return material.url if is_web_address(material.url) else ""


def _name(material: Material) -> str:
    if material.file_name:
        return material.file_name
    kind = worded(material.visual_type) if material.visual_type else gettext("Material")
    return f"{kind} {material.platform_id}" if len(material.platform_id) < 40 else kind


def _kind(material: Material) -> str:
    """Return the kind of a material in one word: "PNG", or "Link" if it is not a file."""
    _, dot, ending = material.file_name.rpartition(".")
    if dot and 0 < len(ending) <= 4:
        return ending.upper()
    subtype = material.mime_type.rpartition("/")[2]
    return subtype[:8].upper() or gettext("Link")
