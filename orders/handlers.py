"""Which of our functions understands which event (§6.2); none of them calls the platform."""

from collections.abc import Mapping

from crm_sync.hooks.handlers import Batch, Effect, EventHandler, Outcome
from crm_sync.platform import events
from crm_sync.platform.events import Event
from orders.materials import announced
from orders.mirror import updates
from orders.mirror.rows import Rows
from orders.mirror.updates import EventContext
from orders.models import StatusChange


def order_status_updated(batch: Batch, event: Event, received_event_id: int) -> Effect:
    """Move the order; see `mirror.updates`."""
    return updates.tell_order_status(_context(batch, event, received_event_id))


def assignment_status_updated(batch: Batch, event: Event, received_event_id: int) -> Effect:
    """Move the assignment, or refresh its logistics; see `mirror.updates`."""
    return updates.tell_assignment_status(_context(batch, event, received_event_id))


def appointment_date_updated(batch: Batch, event: Event, received_event_id: int) -> Effect:
    """Set or clear the appointment; see `mirror.updates`."""
    return updates.tell_appointment(_context(batch, event, received_event_id))


def estimated_delivery_updated(batch: Batch, event: Event, received_event_id: int) -> Effect:
    """Set the estimated delivery date; see `mirror.updates`."""
    return updates.tell_estimate(_context(batch, event, received_event_id))


def photographer_booked(batch: Batch, event: Event, received_event_id: int) -> Effect:
    """Note who comes; see `mirror.updates`."""
    return updates.tell_photographer(_context(batch, event, received_event_id))


def visuals_ready(batch: Batch, event: Event, received_event_id: int) -> Effect:
    """Make the visuals of the assignment due to be fetched."""
    context = _context(batch, event, received_event_id)
    order, assignment = updates.assignment_of(context)
    product, visual_type = context.word("product"), context.word("visualType")
    is_new = announced.announce_visuals(
        order,
        assignment,
        product=product,
        visual_type=visual_type,
        at=event.at,
        now=batch.now,
    )
    context.enter(
        assignment,
        StatusChange.Fact.MATERIALS,
        previous=None,
        new=f"{product} {visual_type}",
        was_stale=not is_new,
    )
    return _announced(f"{order}, {assignment}: {product} {visual_type} is ready", is_new=is_new)


def marketing_materials_ready(batch: Batch, event: Event, received_event_id: int) -> Effect:
    """Make the marketing materials of the property due to be fetched."""
    context = _context(batch, event, received_event_id)
    property_id, target = context.word("propertyId", 255), context.word("targetPlatform")
    is_new = announced.announce_marketing(
        batch.workspace_id,
        property_id=property_id,
        target_platform=target,
        at=event.at,
        now=batch.now,
    )
    return _announced(f"property {property_id}: {target} is ready", is_new=is_new)


def _context(batch: Batch, event: Event, received_event_id: int) -> EventContext:
    return EventContext(batch.part(Rows), event, received_event_id)


def _announced(text: str, *, is_new: bool) -> Effect:
    if is_new:
        return Effect(Outcome.APPLIED, text)
    return Effect(Outcome.STALE, f"{text}; that or something newer is known")


EVENT_HANDLERS: Mapping[str, EventHandler] = {
    events.ORDER_STATUS_UPDATED: order_status_updated,
    events.ASSIGNMENT_STATUS_UPDATED: assignment_status_updated,
    events.APPOINTMENT_DATE_UPDATED: appointment_date_updated,
    events.ESTIMATED_DELIVERY_UPDATED: estimated_delivery_updated,
    events.PHOTOGRAPHER_BOOKED: photographer_booked,
    events.VISUALS_READY: visuals_ready,
    events.MARKETING_MATERIALS_READY: marketing_materials_ready,
}
