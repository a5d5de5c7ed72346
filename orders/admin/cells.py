"""Badges for the statuses of orders, assignments and placements. The text repeats the colour."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.cells import EMPTY, badge, link, page_at, shortened, two_lines
from crm_sync.translated import Text
from orders.models import Assignment, Order, Placement
from orders.models.platform_user import Who
from orders.models.statuses import AssignmentStatus, OrderStatus

# An unknown status is in neither table, so its badge is grey.
ORDER_TONES: dict[str, str] = {
    OrderStatus.PLACED: "info",
    OrderStatus.IN_PROGRESS: "warning",
    OrderStatus.COMPLETED: "good",
    OrderStatus.CANCELLED: "danger",
}
ASSIGNMENT_TONES: dict[str, str] = {
    AssignmentStatus.CREATED: "info",
    AssignmentStatus.PHOTOGRAPHER_ASSIGNED: "info",
    AssignmentStatus.SCHEDULED: "info",
    AssignmentStatus.IN_PRODUCTION: "warning",
    AssignmentStatus.IN_PROCESS: "warning",
    AssignmentStatus.ACTION_REQUIRED: "warning",
    AssignmentStatus.RESCHEDULE_IN_PROCESS: "warning",
    AssignmentStatus.DELIVERED: "good",
    AssignmentStatus.CANCELLED: "danger",
}
PLACEMENT_TONES: dict[str, str] = {
    Placement.State.DRAFT: "muted",
    Placement.State.PREPARING: "info",
    Placement.State.READY: "muted",
    Placement.State.CONFIRMED: "info",
    Placement.State.SENDING: "info",
    Placement.State.PLACED: "good",
    Placement.State.UNCERTAIN: "warning",
    Placement.State.FAILED: "danger",
}
TOLD_ALONE = _("A callback reported this. The next read of the platform confirms or corrects it.")
LONGEST_NAME = 28  # characters of a name in a list
NOTES: dict[str, Text] = {"gone": _("Gone"), "not known here": _("Not known here")}
NOTE_TONES = {"gone": "warning", "not known here": "muted"}


def order_badge(order: Order) -> SafeString:
    """Show the status of an order, and whether only a callback has reported it."""
    return _status_badge(order, ORDER_TONES)


def assignment_badge(assignment: Assignment, name: str = "") -> SafeString:
    """Show the status of an assignment, whether only a callback reported it, or its withdrawal.

    Args:
        name: that of the assignment, in a place that does not say it beside the badge.
    """
    if assignment.withdrawn_at is not None:
        return badge(_named(name, gettext("Withdrawn")), "danger")
    return _status_badge(assignment, ASSIGNMENT_TONES, name)


def _status_badge(row: Order | Assignment, tones: Mapping[str, str], name: str = "") -> SafeString:
    tone, text = tones.get(row.status, "muted"), _named(name, row.status_shown)
    if not row.is_told_alone:
        return badge(text, tone)
    return format_html(
        '<span class="cs-badge cs-told cs-{}" title="{}">{}'
        ' <span class="cs-light">{}</span></span>',
        *(tone, TOLD_ALONE, text, _("not confirmed")),
    )


def _named(name: str, status: str) -> SafeString | str:
    if not name:
        return status
    colon = gettext("%(name)s:") % {"name": ""}  # French sets it apart
    return format_html(
        '<span class="cs-light">{}{}</span> {}', shortened(name, LONGEST_NAME), colon, status
    )


def placement_badge(placement: Placement) -> SafeString:
    """Show the state of a placement. The page explains it."""
    return badge(placement.get_state_display(), PLACEMENT_TONES.get(placement.state, "muted"))


def worded(value: object) -> str:
    """Return a code of the platform as words: GROUND_PHOTO becomes "Ground photo"."""
    return str(value).replace("_", " ").capitalize()


def assignment_names(assignments: Iterable[Assignment]) -> dict[int, str]:
    """Return the name of each assignment of an order, by key: its products, not its id.

    Assignments with the same products are numbered.
    """
    rows = sorted(assignments, key=lambda one: one.pk)
    plain = {one.pk: ", ".join(map(worded, one.products)) or gettext("Assignment") for one in rows}
    twins, seen = Counter(plain.values()), Counter[str]()
    names = {}
    for key, name in plain.items():
        seen[name] += 1
        numbered = {"name": name, "number": seen[name], "count": twins[name]}
        is_alone = twins[name] == 1
        names[key] = name if is_alone else gettext("%(name)s (%(number)s of %(count)s)") % numbered
    return names


def who_fact(who: Who) -> SafeString | str:
    """Link a user of the platform on a page, with a note if the user is gone or unknown here."""
    if not who.key:
        return EMPTY
    address = page_at("orders.platformuser", who.pk)
    name = link(address, replace(who, note=""))
    note = badge(NOTES[who.note], NOTE_TONES[who.note]) if who.note else ""
    return format_html("{} {}", name, note) if note else name


def who_lines(who: Who) -> SafeString | str:
    """Name a user of the platform in a list."""
    if not who.key:
        return EMPTY
    quiet = NOTES.get(who.note) or (who.key if who.name else "")
    return two_lines(shortened(who.name or who.key, LONGEST_NAME), quiet)


def ordered(placement: Placement) -> str:
    """Return the ordered products: "Ground photo, Floor plan (2)"."""
    names = []
    for item in placement.products:
        name = worded(item.get("product") or item.get("id") or "?")
        count = item.get("quantity") or 1
        names.append(name if count == 1 else f"{name} ({count})")
    return ", ".join(names) or EMPTY
