"""Pure: appointments as a file for calendar programs (RFC 5545)."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.utils.translation import gettext as _

from crm_sync.translated import said_of
from orders.calendar.appointments import Appointment
from orders.models.statuses import AssignmentStatus, shown
from properties.domain.headline import one_line

LENGTH = timedelta(hours=1)  # the platform does not report a duration (§6.3)
FIXED = {AssignmentStatus.SCHEDULED, AssignmentStatus.IN_PRODUCTION, AssignmentStatus.DELIVERED}
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")  # not allowed in a text of RFC 5545


@dataclass(frozen=True)
class Method:
    """How a file in a mail is meant (RFC 5546).

    PUBLISH and not REQUEST: nobody is asked for an answer, and we are not who decides on the
    appointment. CANCEL removes it again.

    Attributes:
        organizer: the mail address of this installation, which each event must name.
    """

    name: str
    organizer: str


PUBLISH, CANCEL = "PUBLISH", "CANCEL"


def calendar(
    found: Iterable[Appointment],
    *,
    host: str,
    page: Callable[[int], str],
    zone: str,
    method: Method | None = None,
) -> bytes:
    """Return the file. The same appointments give the same bytes.

    Args:
        host: makes the ids of the events globally unique.
        page: returns the address of an order by its key.
        zone: the zone in which programs show the calendar. Times are in UTC, because the
            description of a zone (RFC 5545, VTIMEZONE) would take ten times as long as all
            appointments.
        method: of a file in a mail, None for a calendar that a program reads.
    """
    # Only the web needs it, and loading it takes a tenth of the start of any other process.
    from icalendar import Calendar, Event  # noqa: PLC0415

    whole = Calendar()
    whole.add("prodid", "-//CRM sync//appointments//EN")
    whole.add("version", "2.0")
    if method is None:
        whole.add("x-wr-calname", _("Appointments"))
        whole.add("x-wr-timezone", zone)
    else:
        whole.add("method", method.name)
    is_off = method is not None and method.name == CANCEL
    for one in found:
        event = Event()
        event.add("uid", f"assignment-{one.key}@{host}")
        event.add("dtstamp", one.set_at)
        # An order may end before the status of its assignment is known.
        event.add("sequence", one.sequence + is_off)
        if method is not None:
            event.add("organizer", f"mailto:{method.organizer}")
        event.add("dtstart", one.at)
        event.add("dtend", one.at + LENGTH)
        of_what = one.title or one.reference or one.order
        event.add("summary", _text(said_of(what(one), of_what)))
        if where := one_line(one.address):
            event.add("location", _text(where))
        event.add("description", _text(_description(one)))
        stands = "CONFIRMED" if one.status in FIXED else "TENTATIVE"
        event.add("status", "CANCELLED" if is_off else stands)
        event.add("url", page(one.order_key))
        whole.add_component(event)
    written: bytes = whole.to_ical()
    return written


def what(one: Appointment) -> str:
    """Return the products in words: "Ground photo, Floor plan"."""
    names = ", ".join(name.replace("_", " ").capitalize() for name in one.products)
    return names or _("Appointment")


def _description(one: Appointment) -> str:
    person = one.photographer
    reached = [str(person[name]) for name in ("name", "phone", "email") if person.get(name)]
    order = {"order": one.order, "status": shown(one.status, AssignmentStatus)}
    lines = [_("Order %(order)s: %(status)s") % order]
    if one.reference:
        lines.append(_("Reference %(reference)s") % {"reference": one.reference})
    if reached:
        lines.append(_("Photographer: %(people)s") % {"people": ", ".join(reached)})
    return "\n".join(lines)


def _text(value: str) -> str:
    return CONTROL.sub("", value)
