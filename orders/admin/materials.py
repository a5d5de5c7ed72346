"""How what was delivered is shown: on the page of an order, and on that of a property."""

from datetime import datetime
from typing import Any

from django.template.loader import render_to_string

from crm_sync.admin.ui.cells import EMPTY, moment, outside_link
from crm_sync.hooks.sections import Section
from orders.admin.cells import worded
from orders.materials import marketing
from orders.models import MaterialSet
from properties.models import Property


def sections(row: Property, now: datetime) -> list[Section]:
    """Return the marketing materials of a property as one section; none when there are none.

    Two queries at most; a `registry.AppHooks.property_sections`.
    """
    sets = marketing.of_property(row)
    if not sets:
        return []
    shown = [shown_set(one, now) for one in sets]
    content = render_to_string("orders/marketing.html", {"sets": shown})
    count = sum(len(one.materials.all()) for one in sets)
    return [Section("marketing", "Marketing", count, content, "orders.view_order")]


def shown_set(one: MaterialSet, now: datetime) -> dict[str, object]:
    """Return what `orders/material_set.html` shows of one set, its materials fetched with it."""
    names = [one.product, one.visual_type, one.target_platform]
    if one.fetched_at is not None:
        state = "fetched"
    else:
        state = "will be fetched" if one.due_at is not None else "not fetched"
    return {
        "title": ", ".join(worded(name) for name in names if name) or "Materials",
        "ready": moment(one.ready_at, now),
        "state": state,
        "problem": one.problem,
        "materials": [
            {
                "name": outside_link(material.url, _name(material)),
                "kind": material.mime_type or EMPTY,
                "size": _size(material.size),
                "modified": moment(material.modified_at, now),
            }
            for material in one.materials.all()
        ],
    }


def _name(material: Any) -> str:
    return material.file_name or worded(material.visual_type or "material") + (
        f" {material.platform_id}" if len(material.platform_id) < 40 else ""
    )


def _size(count: int | None) -> str:
    if count is None:
        return EMPTY
    if count < 1_000:
        return f"{count} bytes"
    return f"{count / 1e6:.1f} MB" if count >= 1_000_000 else f"{count / 1e3:.0f} kB"
