"""The sidebar of the admin: the only module that names the screens of all apps."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from crm_sync.inbox.store import STUCK
from crm_sync.models import ReceivedEvent
from crm_sync.security import second_factor
from properties.models import Conflict

MOST_COUNTED = 99  # a larger number would not help

# Each group has a title, whether it folds, and its screens. A screen has a title, an icon (Material
# Symbols) and a model. A slash separates the model from a page that is not its list.
SECTIONS = (
    (
        "",
        False,
        (
            ("Properties", "home_work", "properties.property"),
            ("Conflicts", "call_split", "properties.conflict"),
            ("Drift", "difference", "properties.driftcheck"),
            ("Imports", "upload_file", "properties.import"),
            ("Sources", "cloud_download", "properties.source"),
            ("Senders", "contact_mail", "properties.sender"),
            ("Orders", "photo_camera", "orders.order"),
            ("Calendar", "calendar_month", "orders.order/calendar"),
            ("Placements", "add_shopping_cart", "orders.placement"),
            ("Platform users", "badge", "orders.platformuser"),
        ),
    ),
    (
        "Platform",
        False,
        (
            ("Workspaces", "hub", "crm_sync.workspace"),
            ("Received events", "inbox", "crm_sync.receivedevent"),
            ("Calls", "swap_vert", "crm_sync.platformcall"),
            ("Subscriptions", "outbox", "crm_sync.subscription"),
            ("Outgoing messages", "send", "crm_sync.outgoingmessage"),
            ("Files", "download", "orders.materialfile"),
        ),
    ),
    (
        "Administration",
        True,
        (
            ("API tokens", "key", "crm_sync.apitoken"),
            ("Schedules", "schedule", "django_celery_beat.periodictask"),
            ("Intervals", "timer", "django_celery_beat.intervalschedule"),
            ("Crontabs", "calendar_month", "django_celery_beat.crontabschedule"),
            ("Calendar addresses", "link", "orders.calendarfeed"),
            ("Mail to people", "outgoing_mail", "orders.personsettings"),
            ("Users", "person", "auth.user"),
            ("Groups", "group", "auth.group"),
            ("Failed logins", "lock_clock", "axes.accessattempt"),
            ("Second factors", "phonelink_lock", "crm_sync.authenticatorapp"),
        ),
    ),
)


def sections(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the screens that this user may open, for unfold's sidebar."""
    models = {model._meta.label_lower: screen for model, screen in admin.site._registry.items()}
    groups: list[dict[str, Any]] = []
    for title, folds, screens in SECTIONS:
        items = [
            _item(request, models[model], name, icon, label)
            for name, icon, label in screens
            if (model := label.partition("/")[0]) in models
            and models[model].has_view_permission(request)
        ]
        groups.append(
            {"title": title, "collapsible": folds, "separator": bool(title), "items": items}
        )
    overview = {"title": "Overview", "icon": "dashboard", "link": reverse("admin:index")}
    mine = {
        "title": "My settings",
        "icon": "manage_accounts",
        "link": reverse("admin:orders_personsettings_mine"),
    }
    factor = {"title": "Second factor", "icon": "security", "link": reverse(second_factor.MINE)}
    asked = [factor] if second_factor.concerns(request.user) else []
    logins = {"title": "Sessions", "icon": "devices", "link": reverse("admin:auth_user_sessions")}
    groups[0]["items"] = [overview, *groups[0]["items"], mine, logins, *asked]
    _mark(request.path, [item for group in groups for item in group["items"]])
    return groups


def _mark(path: str, items: list[dict[str, Any]]) -> None:
    """Mark the open screen: the one with the longest address that begins the path."""
    index = reverse("admin:index")
    longest = max((item["link"] for item in items if path.startswith(item["link"])), key=len)
    for item in items:
        item["active"] = item["link"] == longest and (longest != index or path == index)


def _item(request: HttpRequest, screen: Any, title: str, icon: str, label: str) -> dict[str, Any]:
    model, _, page = label.partition("/")
    link = reverse(f"admin:{model.replace('.', '_')}_{page or 'changelist'}")
    item = {"title": title, "icon": icon, "link": link}
    if label in WAITING:
        item |= _badge(screen.narrowed(request, WAITING[label]()))
    return item


# Screen → its rows that wait for a person.
WAITING: dict[str, Callable[[], QuerySet[Any]]] = {
    "crm_sync.receivedevent": lambda: ReceivedEvent.objects.filter(state__in=STUCK),
    "properties.conflict": lambda: Conflict.objects.filter(decision=""),
}


def _badge(waiting: QuerySet[Any]) -> dict[str, str]:
    """Return the badge, counted along an index, up to MOST_COUNTED."""
    found = waiting.order_by()[: MOST_COUNTED + 1].count()
    if not found:
        return {}
    text = f"{MOST_COUNTED}+" if found > MOST_COUNTED else str(found)
    return {"badge": text, "badge_variant": "danger"}
