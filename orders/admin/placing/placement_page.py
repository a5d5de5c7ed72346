"""The page of one placement: its state, and what a person can do now."""

from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy as _, pgettext

from crm_sync.admin.ui.cells import EMPTY, exact_moment, link, page_at
from crm_sync.admin.ui.delays import row_delay
from crm_sync.models import Hold
from crm_sync.models.hold import HoldCause
from crm_sync.platform.problems import explain
from crm_sync.platform.work_kind import WorkKind
from crm_sync.translated import Text
from orders.admin.cells import placement_badge, who_fact
from orders.admin.placing.draft_pages import ADD, is_open_for, step_page
from orders.admin.placing.review import calls, instructions_in_words, lines
from orders.models import Placement
from orders.placing.session_offer import total

State = Placement.State
FOLLOWS = _("This page follows by itself, and may be closed.")
SAYS: dict[str, Text] = {
    State.DRAFT: _("Nothing is chosen for good yet, and nothing was ordered."),
    State.PREPARING: _("A worker opens its session. Nothing was ordered."),
    State.READY: _("It can be reviewed. Nothing was ordered."),
    State.CONFIRMED: _("A worker places it now. This page follows by itself, and may be closed."),
    State.SENDING: _("A worker sends it to the platform now."),
    State.PLACED: _("It was placed."),
    State.UNCERTAIN: _(
        "The platform may have the order. It is never sent a second time by itself."
    ),
    State.FAILED: _("Nothing was ordered."),
}
TRIED_AGAIN = _("Nothing was ordered yet; it is tried again soon.")


def placement_page(placement: Any, user: Any, *, now: datetime) -> dict[str, Any]:
    """Return what the template needs.

    Args:
        placement: annotated with `workspace_slug`, `order_name` and `delays.PAUSE`.
    """
    state = State(placement.state)
    waits = state == State.CONFIRMED
    is_paused = placement.paused_until is not None and placement.paused_until > now
    hold = Hold.objects.holding(placement.workspace_id, WorkKind.ORDERS, now) if waits else None
    later = row_delay(placement, now, done="placed") if waits and is_paused else ""
    if hold:
        later = _held(hold)
    may_order = user.has_perm(ADD)
    order = page_at("orders.order", placement.order_id)
    return {
        "badge": placement_badge(placement),
        "says": FOLLOWS if later else SAYS[state],
        "is_uncertain": state == State.UNCERTAIN,
        "order_url": order,
        "go_on": step_page(placement) if is_open_for(placement, user) else "",
        "again": may_order and state == State.FAILED and placement.real_estate_property_id,
        "can_take_back": waits and may_order and placement.created_by_id == user.pk,
        "is_under_way": state in (State.PREPARING, State.CONFIRMED, State.SENDING),
        "waits_because": later or _why(placement) if waits else "",
        "facts": [(name, value) for name, value in _facts(placement, order, now) if value],
        "lines": lines(placement) if state != State.DRAFT else [],
        "sum": total(placement.products),
        "calls": calls(placement),
    }


def _why(placement: Any) -> str:
    return f"{TRIED_AGAIN} {explain(placement.problem).sentence}" if placement.problem else ""


def _held(hold: Hold) -> str:
    if hold.cause == HoldCause.WATCH_ONLY:
        return gettext(
            "Nothing was ordered: watch only: nobody has seen the first plan and said go. It is"
            " sent once somebody resumes orders."
        )
    text = gettext(
        "Nothing was ordered: held by %(person)s: %(reason)s. It is sent once somebody resumes"
        " orders."
    )
    return text % {"person": hold.who or gettext("a person"), "reason": hold.reason}


def _facts(placement: Any, order: str, now: datetime) -> list[tuple[str, object]]:
    address = page_at("properties.property", placement.real_estate_property_id)
    return [
        (gettext("Property"), link(address, placement.object_reference_id or EMPTY)),
        (gettext("Ordered by"), who_fact(placement.who)),
        (gettext("Order"), placement.order_name and link(order, placement.order_name)),
        *instructions_in_words(placement),
        (
            gettext("Ordered together"),
            placement.group and link(_group_page(placement), pgettext("placement", "All of them")),
        ),
        (gettext("Workspace"), placement.workspace_slug),
        (pgettext("placement", "Number"), str(placement.pk)),
        (gettext("Session"), placement.session_id),
        (pgettext("placement", "Begun"), exact_moment(placement.created_at, now)),
        (gettext("Begun by"), placement.beginner or placement.program),
        (
            gettext("Confirmed"),
            placement.confirmed_at and exact_moment(placement.confirmed_at, now),
        ),
        (pgettext("moment", "Sent"), placement.sent_at and exact_moment(placement.sent_at, now)),
    ]


def _group_page(placement: Any) -> str:
    return reverse("admin:orders_placement_group", args=[placement.group])
