"""The sidebar of the admin: the one place that names a screen of every app."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from crm_sync.inbox.store import STUCK
from crm_sync.models import ReceivedEvent

MOST_COUNTED = 99  # beyond that the number says nothing more

# Group, whether it folds, and its screens: title, icon (Material Symbols), model.
SECTIONS = (
    (
        "",
        False,
        (
            ("Properties", "home_work", "properties.property"),
            ("Conflicts", "call_split", "properties.conflict"),
            ("Drift", "difference", "properties.driftcheck"),
            ("Imports", "upload_file", "properties.import"),
            ("Orders", "photo_camera", "orders.order"),
            ("Placements", "add_shopping_cart", "orders.placement"),
        ),
    ),
    (
        "Platform",
        False,
        (
            ("Received events", "inbox", "crm_sync.receivedevent"),
            ("Webhooks", "webhook", "crm_sync.webhookmonitor"),
            ("Gaps", "event_busy", "crm_sync.gap"),
            ("Workspaces", "hub", "crm_sync.workspace"),
        ),
    ),
    (
        "Administration",
        True,
        (
            ("Schedules", "schedule", "django_celery_beat.periodictask"),
            ("Intervals", "timer", "django_celery_beat.intervalschedule"),
            ("Crontabs", "calendar_month", "django_celery_beat.crontabschedule"),
            ("Users", "person", "auth.user"),
            ("Groups", "group", "auth.group"),
        ),
    ),
)


def sections(request: HttpRequest) -> list[dict[str, Any]]:
    """Return what this user may open, for unfold's sidebar."""
    models = {model._meta.label_lower: screen for model, screen in admin.site._registry.items()}
    groups: list[dict[str, Any]] = []
    for title, folds, screens in SECTIONS:
        items = [
            _item(request, name, icon, label)
            for name, icon, label in screens
            if label in models and models[label].has_view_permission(request)
        ]
        groups.append(
            {"title": title, "collapsible": folds, "separator": bool(title), "items": items}
        )
    overview = {"title": "Overview", "icon": "dashboard", "link": reverse("admin:index")}
    groups[0]["items"].insert(0, overview)
    return groups


def _item(request: HttpRequest, title: str, icon: str, label: str) -> dict[str, Any]:
    link = reverse(f"admin:{label.replace('.', '_')}_changelist")
    item = {"title": title, "icon": icon, "link": link}
    if label == "crm_sync.receivedevent":
        item |= _stuck_badge()
    return item


def _stuck_badge() -> dict[str, str]:
    """Count along an index, and no further than somebody would read."""
    found = ReceivedEvent.objects.filter(state__in=STUCK).order_by()[: MOST_COUNTED + 1].count()
    if not found:
        return {}
    text = f"{MOST_COUNTED}+" if found > MOST_COUNTED else str(found)
    return {"badge": text, "badge_variant": "danger"}
