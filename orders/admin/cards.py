"""An assignment as a card: its status in words, the appointment, and what the platform needs."""

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.cells import badge, local_time, moment
from crm_sync.translated import Text, day_in_words
from orders.admin.cells import assignment_badge, worded
from orders.models import Assignment, Order
from orders.models.statuses import (
    ASSIGNMENT_TERMINAL,
    ORDER_TERMINAL,
    AssignmentStatus,
    may_reschedule,
)

MEANINGS: dict[str, Text] = {  # §3.2
    AssignmentStatus.CREATED: _("Ordered. The work has not started yet."),
    AssignmentStatus.PHOTOGRAPHER_ASSIGNED: _(
        "A photographer has taken it. The date is being set."
    ),
    AssignmentStatus.SCHEDULED: _("Date and time are set."),
    AssignmentStatus.IN_PRODUCTION: _("The shoot is done. The material is being edited."),
    AssignmentStatus.RESCHEDULE_IN_PROCESS: _("Photographer and date are being arranged again."),
    AssignmentStatus.ACTION_REQUIRED: _("The platform cannot go on without something from you."),
    AssignmentStatus.IN_PROCESS: _("The documents are being prepared."),
    AssignmentStatus.DELIVERED: _("It was delivered."),
    AssignmentStatus.CANCELLED: _("It was cancelled."),
}
NEEDS: dict[str, Text] = {  # §3.2, what may be required of the client
    "POWER_OF_ATTORNEY_REQUIRED": _("a signed power of attorney"),
    "DOCUMENT_UPLOAD_REQUIRED": _("documents that you upload"),
}
# §4 has no call for uploading a file.
BRING = _(
    "It cannot be handed in from here: do it on the platform's own pages, at order %(order)s. This"
    " page goes on by itself when the platform has it."
)
PHONE = re.compile(r"\+?[\d ()/.-]{4,30}")
MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]+(\.[\w-]+)+")


def card(order: Order, assignment: Assignment, name: str, now: datetime) -> dict[str, object]:
    """Return the data of one card. The assignment was loaded with its order."""
    is_there = assignment.withdrawn_at is None
    is_waiting = is_there and assignment.status == AssignmentStatus.ACTION_REQUIRED
    return {
        "key": assignment.pk,
        "title": name,
        "id": assignment.platform_id,
        "badge": assignment_badge(assignment),
        "meaning": _meaning(assignment),
        "need": need(assignment) if is_waiting else "",
        "bring": BRING % {"order": order.platform_id},
        "facts": [(title, value) for title, value in _facts(order, assignment, now) if value],
        "problem": assignment.problem,
        "can_move": is_there
        and order.status not in ORDER_TERMINAL
        and may_reschedule(assignment.status, assignment.assignment_type),
    }


def _meaning(assignment: Assignment) -> Text:
    if assignment.withdrawn_at is not None:
        return _("The platform has withdrawn it: its order no longer names it.")
    if assignment.is_told_alone and assignment.status in ASSIGNMENT_TERMINAL:
        return _("A callback reported this. A read of the platform will confirm or correct it.")
    return MEANINGS.get(assignment.status, "")


def need(assignment: Assignment) -> Text:
    """Return what the platform needs for an assignment that waits for us."""
    code = assignment.action_required
    return NEEDS.get(code) or worded(code).lower() or _("an answer, but it does not say to what")


def _facts(order: Order, assignment: Assignment, now: datetime) -> list[tuple[Text, object]]:
    found = assignment.photographer
    person: Mapping[str, Any] = found if isinstance(found, dict) else {}
    at = assignment.scheduled_at
    return [
        (_("Appointment"), at and appointment(at, now)),
        (_("Estimated delivery"), _estimate(order, assignment)),
        (_("Photographer"), person.get("name") or (_("Not named yet") if person.get("id") else "")),
        (_("Phone"), _reached("tel", person.get("phone"), PHONE)),
        (_("Mail"), _reached("mailto", person.get("email"), MAIL)),
    ]


def appointment(at: datetime, now: datetime) -> SafeString:
    """Show the time of an appointment, and how far away it is."""
    return format_html('{} <span class="cs-subtle">({})</span>', local_time(at), moment(at, now))


def _estimate(order: Order, assignment: Assignment) -> SafeString | str:
    day = assignment.estimated_delivery_date
    if day is None:
        return ""
    if is_overdue(order, assignment, timezone.localdate()):
        return format_html("{} {}", day_in_words(day), badge(gettext("Overdue"), "danger"))
    return day_in_words(day)


def is_overdue(order: Order, assignment: Assignment, today: date) -> bool:
    """Return whether the delivery was due before today and the assignment is still open."""
    day = assignment.estimated_delivery_date
    is_open = order.status not in ORDER_TERMINAL and assignment.status not in ASSIGNMENT_TERMINAL
    is_open = is_open and assignment.withdrawn_at is None
    return is_open and day is not None and day < today


def _reached(scheme: str, value: Any, form: re.Pattern[str]) -> SafeString | str:
    """Link a well-formed phone number or mail address, so that a phone can call it (S18)."""
    text = str(value or "").strip()
    if not form.fullmatch(text):
        return text
    there = text if scheme == "mailto" else re.sub(r"[^\d+]", "", text)
    return format_html('<a class="cs-link" href="{}:{}">{}</a>', scheme, there, text)
