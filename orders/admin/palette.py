"""One search for everything: properties, orders, people and screens, from any page.

Each kind shows its first few rows, of the person's workspaces and screens only (S12, S17).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext

from crm_sync.admin.ui.cells import list_of, page_at, shortened
from crm_sync.security.access import sees_several, within
from orders.models import Order, PlatformUser
from orders.models.statuses import OrderStatus, shown
from properties.domain.headline import one_line
from properties.models import Property
from properties.models.search_column import search
from properties.search_text import LONGEST_QUERY, folded

MOST = 6  # rows of each kind


@dataclass(frozen=True)
class Hit:
    """One line of the results, and the page that it opens."""

    title: str
    description: str
    link: str
    icon: str


def search_view(request: HttpRequest) -> HttpResponse:
    """Return what has all words of the query, as a part of a page."""
    query = request.GET.get("s", "").replace("\0", "").strip()[:LONGEST_QUERY]
    hits = list(_hits(request, query)) if query else []
    return render(request, "orders/palette.html", {"hits": hits, "query": query})


def _hits(request: HttpRequest, query: str) -> Iterator[Hit]:
    properties = _properties(request, query)
    yield from (_property_hit(row, request) for row in properties[:MOST])
    if len(properties) > MOST:
        link = f"{list_of('properties.property')}?{urlencode({'q': query})}"
        text = gettext("All properties with “%(query)s”")
        yield Hit(text % {"query": query}, gettext("List"), link, "list")
    yield from _screens(request, query)
    yield from _orders(request, query, [row["pk"] for row in properties[:MOST]])
    yield from _people(request, query)


def _seen(request: HttpRequest, model: type[Any]) -> QuerySet[Any]:
    """Return the rows of a model that this person may see."""
    screen = admin.site.get_model_admin(model)
    rows = model._default_manager.all()
    return within(request.user, rows) if screen.has_view_permission(request) else rows.none()


def _where(row: dict[str, Any], request: HttpRequest) -> str:
    """Return the workspace of a row for people who see several."""
    return row["workspace__slug"] if sees_several(request.user) else ""


def _joined(*parts: str | None) -> str:
    return " · ".join(part for part in parts if part)


def _properties(request: HttpRequest, query: str) -> list[dict[str, Any]]:
    """Return the property with exactly this reference, then others with all words."""
    columns = ("object_reference_id", "platform_id", "title", "desired__address")
    mine = _seen(request, Property).values("pk", *columns, "workspace__slug")
    exact = mine.filter(object_reference_id__in={query, query.upper(), query.lower()})
    others = search(mine, query).order_by("object_reference_id", "pk")
    found = {row["pk"]: row for row in (*exact[:MOST], *others[: MOST + 1])}
    return list(found.values())


def _property_hit(row: dict[str, Any], request: HttpRequest) -> Hit:
    name = row["object_reference_id"] or row["platform_id"]
    where = one_line(row["desired__address"])
    title = _joined(name, where or shortened(row["title"] or "", 60))
    said = _joined(gettext("Property"), shortened(row["title"] or "", 60) if where else "")
    link = page_at("properties.property", row["pk"])
    return Hit(title, _joined(said, _where(row, request)), link, "home_work")


def _orders(request: HttpRequest, query: str, properties: list[int]) -> Iterator[Hit]:
    """Yield the orders with this number or reference, and those of the properties found."""
    named = Q(platform_id=query) | Q(object_reference_id__in={query, query.upper()})
    found = _seen(request, Order).filter(named | Q(real_estate_property__in=properties))
    columns = ("pk", "platform_id", "object_reference_id", "status", "workspace__slug")
    rows = found.order_by("-pk").values(*columns, place=F("real_estate_property__title"))
    for row in rows[:MOST]:
        said = (
            gettext("Order"),
            shown(row["status"], OrderStatus),
            shortened(row["place"] or "", 60),
        )
        title = _joined(row["platform_id"], row["object_reference_id"])
        link = page_at("orders.order", row["pk"])
        yield Hit(title, _joined(*said, _where(row, request)), link, "photo_camera")


def _people(request: HttpRequest, query: str) -> Iterator[Hit]:
    screen = admin.site.get_model_admin(PlatformUser)
    found, _ = screen.get_search_results(request, _seen(request, PlatformUser), query)
    columns = ("pk", "name", "platform_id", "email", "workspace__slug")
    for row in found.order_by("name", "pk").values(*columns)[:MOST]:
        said = _joined(gettext("Platform user"), row["email"], _where(row, request))
        link = page_at("orders.platformuser", row["pk"])
        yield Hit(row["name"] or row["platform_id"], said, link, "badge")


def _screens(request: HttpRequest, query: str) -> Iterator[Hit]:
    """Yield the screens and tabs whose name has words that begin with all of the query."""
    wanted = folded(query).split()
    site: Any = admin.site  # unfold's
    groups = (*site.get_sidebar_list(request), *site.get_tabs_list(request))
    screens: dict[str, Hit] = {}
    for item in (item for group in groups for item in group["items"]):
        title, link = str(item["title"]), str(item["link"])
        screens.setdefault(link, Hit(title, gettext("Screen"), link, item.get("icon", "tab")))
    for hit in screens.values():
        words = folded(hit.title).split()
        if wanted and all(any(one.startswith(word) for one in words) for word in wanted):
            yield hit
