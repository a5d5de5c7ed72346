"""Which of our functions understands which event (§6.2); none of them calls the platform."""

from crm_sync import events
from crm_sync.dispatch import Batch, Effect, Outcome, handles
from crm_sync.events import Event
from orders import materials, mirror
from orders.mirror import Told
from orders.models import StatusChange
from orders.rows import Rows


@handles(events.ORDER_STATUS_UPDATED)
def order_status_updated(batch: Batch, event: Event, delivery_id: int) -> Effect:
    """Move the order; see `mirror`."""
    return mirror.tell_order_status(_told(batch, event, delivery_id))


@handles(events.ASSIGNMENT_STATUS_UPDATED)
def assignment_status_updated(batch: Batch, event: Event, delivery_id: int) -> Effect:
    """Move the assignment, or refresh its logistics; see `mirror`."""
    return mirror.tell_assignment_status(_told(batch, event, delivery_id))


@handles(events.APPOINTMENT_DATE_UPDATED)
def appointment_date_updated(batch: Batch, event: Event, delivery_id: int) -> Effect:
    """Set or clear the appointment; see `mirror`."""
    return mirror.tell_appointment(_told(batch, event, delivery_id))


@handles(events.ESTIMATED_DELIVERY_UPDATED)
def estimated_delivery_updated(batch: Batch, event: Event, delivery_id: int) -> Effect:
    """Set the estimated delivery date; see `mirror`."""
    return mirror.tell_estimate(_told(batch, event, delivery_id))


@handles(events.PHOTOGRAPHER_BOOKED)
def photographer_booked(batch: Batch, event: Event, delivery_id: int) -> Effect:
    """Note who comes; see `mirror`."""
    return mirror.tell_photographer(_told(batch, event, delivery_id))


@handles(events.VISUALS_READY)
def visuals_ready(batch: Batch, event: Event, delivery_id: int) -> Effect:
    """Make the visuals of the assignment due to be fetched."""
    told = _told(batch, event, delivery_id)
    order, assignment = mirror.assignment_of(told)
    product, visual_type = told.word("product"), told.word("visualType")
    is_new = materials.announce_visuals(
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
    is_new = materials.announce_marketing(
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
