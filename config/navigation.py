"""The sidebar of the admin: the only module that names the screens of all apps."""

import functools
from collections.abc import Callable
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from crm_sync import hooks
from crm_sync.admin.ui.paginator import counted
from crm_sync.inbox.store import STUCK
from crm_sync.models import ReceivedEvent
from crm_sync.security import second_factor
from crm_sync.translated import Text
from properties.models import Conflict

MOST_COUNTED = 99  # a larger number would not help

# A screen of the sidebar has a title, an icon (Material Symbols) and its lists. The lists of one
# screen are the tabs of each other. A list is named by its model; a slash separates the model from
# a page that is not its list.
Screen = tuple[Text, str, *tuple[str, ...]]
DAILY: tuple[Screen, ...] = (
    (_("Properties"), "home_work", "properties.property"),
    (_("What changed"), "history", "properties.property/changes"),
    (_("Conflicts"), "call_split", "properties.conflict"),
    (_("Orders"), "photo_camera", "orders.order", "orders.placement"),
    (_("Calendar"), "calendar_month", "orders.order/calendar"),
    (_("Imports"), "upload_file", "properties.import", "properties.source", "properties.sender"),
)
PLATFORM: tuple[Screen, ...] = (
    (_("Workspaces"), "hub", "crm_sync.workspace"),
    (_("Platform users"), "badge", "orders.platformuser"),
    (_("Received events"), "inbox", "crm_sync.receivedevent"),
    (_("Calls"), "swap_vert", "crm_sync.platformcall"),
    (_("Drift"), "difference", "properties.driftcheck"),
    (_("Files"), "download", "orders.materialfile", "orders.target", "orders.targetfile"),
    (_("Outgoing messages"), "send", "crm_sync.outgoingmessage", "crm_sync.subscription"),
)
SCHEDULES = ("periodictask", "intervalschedule", "crontabschedule")
SETTINGS: tuple[Screen, ...] = (
    (_("Users"), "person", "auth.user", "auth.group", "crm_sync.authenticatorapp"),
    (_("Failed logins"), "lock_clock", "axes.accessattempt"),
    (_("Mail and calendars"), "outgoing_mail", "orders.personsettings", "orders.calendarfeed"),
    (_("API tokens"), "key", "crm_sync.apitoken"),
    (_("Schedules"), "schedule", *(f"django_celery_beat.{name}" for name in SCHEDULES)),
)


def sections(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the screens that this user may open, for unfold's sidebar.

    What people work with every day comes first. *Settings* is folded until one of it is open.
    """
    overview = {"title": _("Overview"), "icon": "dashboard", "link": reverse("admin:index")}
    groups = [
        _group("", [overview, *_items(request, DAILY)]),
        _group(_("Platform"), _items(request, PLATFORM)),
        _group(_("Settings"), [*_mine(request), *_items(request, SETTINGS)], folds=True),
    ]
    _mark(request.path, [item for group in groups for item in group["items"]])
    return groups


def tabs(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the lists that stand on one another's pages as tabs, for unfold."""
    found = []
    for __, __, *labels in (*DAILY, *PLATFORM, *SETTINGS):
        allowed = [label for label in labels if _may_open(request, label)]
        if len(allowed) > 1:
            found.append({"models": allowed, "items": [_tab(request, name) for name in allowed]})
    return found


def _tab(request: HttpRequest, label: str) -> dict[str, Any]:
    title, link = capfirst(_admin_of(label).opts.verbose_name_plural), _link(label)
    return {"title": title, "link": link, "active": request.path == link}


def _mine(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the pages on which people set what concerns themselves."""
    screens = [
        (_("My settings"), "manage_accounts", "admin:orders_personsettings_mine"),
        (_("Sessions"), "devices", "admin:auth_user_sessions"),
    ]
    if second_factor.concerns(request.user):
        screens.append((_("Second factor"), "security", second_factor.MINE))
    return [{"title": title, "icon": icon, "link": reverse(name)} for title, icon, name in screens]


def _group(title: Text, items: list[dict[str, Any]], *, folds: bool = False) -> dict[str, Any]:
    return {"title": title, "collapsible": folds, "separator": bool(title), "items": items}


def _items(request: HttpRequest, screens: tuple[Screen, ...]) -> list[dict[str, Any]]:
    items = []
    for title, icon, *labels in screens:
        allowed = [label for label in labels if _may_open(request, label)]
        if not allowed:
            continue
        lists = [_link(label) for label in allowed]
        if "crm_sync.workspace" in allowed:
            lists += _plugged_tabs()
        item = {"title": title, "icon": icon, "link": lists[0], "lists": lists}
        for label in allowed:
            if label in WAITING:
                item |= _badge(_admin_of(label).narrowed(request, WAITING[label]()))
        items.append(item)
    return items


@functools.cache
def _plugged_tabs() -> list[str]:
    """Return how the addresses of the tabs begin that other apps add to a workspace."""
    pages = [one.page for one in hooks.plugged().workspace_tabs]
    return [reverse(page, args=[0]).removesuffix("0/") for page in pages]


@functools.cache
def _admin_of(label: str) -> Any:
    return admin.site._registry.get(apps.get_model(label.partition("/")[0]))


def _may_open(request: HttpRequest, label: str) -> bool:
    screen = _admin_of(label)
    return screen is not None and bool(screen.has_view_permission(request))


@functools.cache
def _link(label: str) -> str:
    model, _, page = label.partition("/")
    return reverse(f"admin:{model.replace('.', '_')}_{page or 'changelist'}")


def _mark(path: str, items: list[dict[str, Any]]) -> None:
    """Mark the open screen: the one of whose lists the longest address begins the path."""
    index = reverse("admin:index")
    links = {link: item for item in items for link in item.pop("lists", [item["link"]])}
    longest = max((link for link in links if path.startswith(link)), key=len)
    for item in items:
        item["active"] = item is links[longest] and (longest != index or path == index)


# Screen → its rows that wait for a person.
WAITING: dict[str, Callable[[], QuerySet[Any]]] = {
    "crm_sync.receivedevent": lambda: ReceivedEvent.objects.filter(state__in=STUCK),
    "properties.conflict": lambda: Conflict.objects.filter(decision=""),
}


def _badge(waiting: QuerySet[Any]) -> dict[str, str]:
    """Return the badge, counted along an index, up to MOST_COUNTED."""
    found = counted(waiting, MOST_COUNTED)
    return {"badge": str(found), "badge_variant": "danger"} if found else {}
