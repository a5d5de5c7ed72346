"""Which of our functions understands which event (§6.2); none of them calls the platform."""

from crm_sync.inbox import events
from crm_sync.inbox.events import Event
from crm_sync.inbox.handlers import Batch, Effect, Outcome, handles
from orders.materials import announced
from orders.mirror import updates
from orders.mirror.rows import Rows
from orders.mirror.updates import Told
from orders.models import StatusChange


@handles(events.ORDER_STATUS_UPDATED)
def order_status_updated(batch: Batch, event: Event, delivery_id: int) -> Effect:
    """Move the order; see `mirror.updates`."""
    return updates.tell_order_status(_told(batch, event, delivery_id))


@handles(events.ASSIGNMENT_STATUS_UPDATED)
def assignment_status_updated(batch: Batch, event: Event, delivery_id: int) -> Effect:
    """Move the assignment, or refresh its logistics; see `mirror.updates`."""
    return updates.tell_assignment_status(_told(batch, event, delivery_id))


@handles(events.APPOINTMENT_DATE_UPDATED)
def appointment_date_updated(batch: Batch, event: Event, delivery_id: int) -> Effect:
    """Set or clear the appointment; see `mirror.updates`."""
    return updates.tell_appointment(_told(batch, event, delivery_id))


@handles(events.ESTIMATED_DELIVERY_UPDATED)
def estimated_delivery_updated(batch: Batch, event: Event, delivery_id: int) -> Effect:
    """Set the estimated delivery date; see `mirror.updates`."""
    return updates.tell_estimate(_told(batch, event, delivery_id))


@handles(events.PHOTOGRAPHER_BOOKED)
def photographer_booked(batch: Batch, event: Event, delivery_id: int) -> Effect:
    """Note who comes; see `mirror.updates`."""
    return updates.tell_photographer(_told(batch, event, delivery_id))


@handles(events.VISUALS_READY)
def visuals_ready(batch: Batch, event: Event, delivery_id: int) -> Effect:
    """Make the visuals of the assignment due to be fetched."""
    told = _told(batch, event, delivery_id)
    order, assignment = updates.assignment_of(told)
    product, visual_type = told.word("product"), told.word("visualType")
    is_new = announced.announce_visuals(
        order,
        assignment,
        product=product,
        visual_type=visual_type,
        at=event.at,
        now=batch.now,
    )
    told.enter(
        assignment,
        StatusChange.Fact.MATERIALS,
        previous=None,
        new=f"{product} {visual_type}",
        was_stale=not is_new,
    )
    return _announced(f"{order}, {assignment}: {product} {visual_type} is ready", is_new=is_new)


@handles(events.MARKETING_MATERIALS_READY)
def marketing_materials_ready(batch: Batch, event: Event, delivery_id: int) -> Effect:
    """Make the marketing materials of the property due to be fetched."""
    told = _told(batch, event, delivery_id)
    property_id, target = told.word("propertyId", 255), told.word("targetPlatform")
    is_new = announced.announce_marketing(
        batch.workspace_id,
        property_id=property_id,
        target_platform=target,
        at=event.at,
        now=batch.now,
    )
    return _announced(f"property {property_id}: {target} is ready", is_new=is_new)


def _told(batch: Batch, event: Event, delivery_id: int) -> Told:
    return Told(batch.part(Rows), event, delivery_id)


def _announced(text: str, *, is_new: bool) -> Effect:
    if is_new:
        return Effect(Outcome.APPLIED, text)
    return Effect(Outcome.STALE, f"{text}; that or something newer is known")
