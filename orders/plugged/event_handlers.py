"""The function that applies each event (§6.2). None of them calls the platform."""

from collections.abc import Callable, Mapping

from crm_sync.hooks import Effect, EventBatch, EventHandler, Outcome
from crm_sync.platform import events
from crm_sync.platform.events import Event
from crm_sync.sentence import Sentence, sentence
from orders.materials import announcements
from orders.mirror import updates
from orders.mirror.event_rows import EventRows
from orders.mirror.updates import EventContext
from orders.models import StatusChange


def visuals_ready(context: EventContext) -> Effect:
    """Make the visuals of the assignment due to be fetched."""
    order, assignment = updates.assignment_of(context)
    product, visual_type = context.word("product"), context.word("visualType")
    is_new = announcements.announce_visuals(
        order,
        assignment,
        product=product,
        visual_type=visual_type,
        at=context.event.at,
        now=context.rows.now,
        platform_now=context.rows.platform_now,
    )
    context.enter(
        assignment,
        StatusChange.Fact.MATERIALS,
        previous=None,
        new={"id": product, "name": visual_type},
        was_stale=not is_new,
    )
    material = f"{product} {visual_type}"
    text = sentence(
        "order %(order)s, assignment %(assignment)s: %(material)s is ready",
        order=order.platform_id,
        assignment=assignment.platform_id,
        material=material,
    )
    return _announced(text, is_new=is_new)


def marketing_materials_ready(context: EventContext) -> Effect:
    """Make the marketing materials of the property due to be fetched."""
    property_id, target = context.word("propertyId", 255), context.word("targetPlatform")
    is_new = announcements.announce_marketing(
        context.rows.workspace_id,
        property_id=property_id,
        target_platform=target,
        at=context.event.at,
        now=context.rows.now,
        platform_now=context.rows.platform_now,
    )
    text = sentence("property %(id)s: %(material)s is ready", id=property_id, material=target)
    return _announced(text, is_new=is_new)


def _announced(text: Sentence, *, is_new: bool) -> Effect:
    if is_new:
        return Effect(Outcome.APPLIED, text)
    known = sentence("%(text)s; that or something newer is known", text=text)
    return Effect(Outcome.STALE, known)


def _handler(apply: Callable[[EventContext], Effect]) -> EventHandler:
    """Return an event handler that calls a function with the event in its context."""

    def handle(batch: EventBatch, event: Event, received_event_id: int) -> Effect:
        return apply(EventContext(batch.part(EventRows), event, received_event_id))

    return handle


EVENT_HANDLERS: Mapping[str, EventHandler] = {
    events.ORDER_STATUS_UPDATED: _handler(updates.apply_order_status),
    events.ASSIGNMENT_STATUS_UPDATED: _handler(updates.apply_assignment_status),
    events.APPOINTMENT_DATE_UPDATED: _handler(updates.apply_appointment),
    events.ESTIMATED_DELIVERY_UPDATED: _handler(updates.apply_estimate),
    events.PHOTOGRAPHER_BOOKED: _handler(updates.apply_photographer),
    events.VISUALS_READY: _handler(visuals_ready),
    events.MARKETING_MATERIALS_READY: _handler(marketing_materials_ready),
    events.OTHER: _handler(updates.apply_other),
}
