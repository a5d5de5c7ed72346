"""Changes of orders and assignments, and the events that they emit (§3, §6.2).

All events of one `Change` have the same time.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from sandbox.interface import catalogue, event_fields, lifecycle
from sandbox.state import deliverables
from sandbox.state.workspace import Workspace
from sandbox.wire import Document, parse_timestamp, timestamp


class Change:
    """Changes the workspace and collects the events about the changes."""

    def __init__(self, workspace: Workspace, now: datetime) -> None:
        self.workspace = workspace
        self.now = now
        self.at = timestamp(now)
        self.events: list[Document] = []

    def emit(self, event: str, known: Document) -> None:
        """Emit an event, with all of its fields that are known."""
        self.events.append(event_fields.event(event, self.at, known))

    def place(self, session: Document, lines: Iterable[tuple[catalogue.Product, int]]) -> Document:
        """Create the order of a session: one assignment for each product, all CREATED (§3)."""
        order = {
            "id": self.workspace.new_id(),
            "status": "PLACED",
            "createdAt": self.at,
            "userId": session["userId"],
            "realEstatePropertyId": session["realEstatePropertyId"],
            "assignments": [],
        }
        if "objectReferenceId" in session:
            order["objectReferenceId"] = session["objectReferenceId"]
        for product, quantity in lines:
            assignment = {
                "id": self.workspace.new_id(),
                "orderId": order["id"],
                "assignmentType": product.kind,
                "status": "CREATED",
                "products": [product.product],
            }
            self.workspace.assignments[assignment["id"]] = assignment
            self.workspace.notes[assignment["id"]] = {"quantity": quantity}
            order["assignments"].append(assignment["id"])
        self.workspace.orders[order["id"]] = order
        return order

    def advance(self, assignment: Document) -> bool:
        """Move an assignment to its next status (§3.2). Return False if there is none."""
        product = catalogue.BY_NAME.get(assignment["products"][0])
        note = self.workspace.notes.setdefault(assignment["id"], {})
        asks = bool(product and product.asks and not note.get("inputGiven"))
        following = lifecycle.next_status(
            assignment.get("assignmentType", ""), assignment["status"], asks_client=asks
        )
        if following is not None:
            self.move(assignment, following)
        return following is not None

    def move(self, assignment: Document, status: str) -> None:
        """Set the status of an assignment, with its effects. The order follows.

        Any status can be forced, even one that the interface does not list (A28). The same status
        again is not a change and emits nothing (§3.3 rule 1).
        """
        self._move(assignment, status)
        self._settle(self.workspace.orders[assignment["orderId"]])

    def _move(self, assignment: Document, status: str) -> None:
        previous = assignment["status"]
        if status == previous:
            return
        assignment["status"] = status
        if assignment.pop("actionRequired", None):
            self.workspace.notes[assignment["id"]]["inputGiven"] = True
        place_in_queue = len(self.events)
        if arrival := _ARRIVALS.get(status):
            arrival(self, assignment, previous)
        # Built when its logistics are known, but sent before the events that follow from it.
        known = event_fields.of_assignment(assignment) | {"previousStatus": previous}
        event = event_fields.event("ASSIGNMENT_STATUS_UPDATED", self.at, known)
        self.events.insert(place_in_queue, event)

    def _settle(self, order: Document) -> None:
        """Move the order after its assignments (§3.1, §3.3 rule 2, A48)."""
        states = [self.workspace.assignments[one]["status"] for one in order["assignments"]]
        while following := lifecycle.next_order_status(order["status"], states):
            self._move_order(order, following)

    def _move_order(self, order: Document, status: str) -> None:
        previous, order["status"] = order["status"], status
        self.emit(
            "ORDER_STATUS_UPDATED", event_fields.of_order(order) | {"previousStatus": previous}
        )
        if status == "COMPLETED" and self._has_pictures(order):
            self.marketing(order["realEstatePropertyId"], "REAL_ESTATE_BROCHURE")

    def _has_pictures(self, order: Document) -> bool:
        return any(
            one["status"] == "DELIVERED" and catalogue.PHOTO_PRODUCTS.intersection(one["products"])
            for one in map(self.workspace.assignments.__getitem__, order["assignments"])
        )

    def cancel(self, order: Document) -> None:
        """Cancel an order, and its assignments that are not terminal (§3.1)."""
        for assignment in self.open_assignments(order):
            self._move(assignment, "CANCELLED")
        self._move_order(order, "CANCELLED")

    def open_assignments(self, order: Document) -> list[Document]:
        """Return the assignments of an order that are not terminal."""
        all_of_it = [self.workspace.assignments[one] for one in order["assignments"]]
        return [one for one in all_of_it if one["status"] not in lifecycle.TERMINAL]

    def reschedule(self, assignment: Document, proposed_at: str | None) -> None:
        """Remove the shoot date and store the proposed date. A new creative is selected (§3.2)."""
        if proposed_at is not None:
            self.workspace.notes.setdefault(assignment["id"], {})["proposedAt"] = proposed_at
        self.move(assignment, "RESCHEDULE_IN_PROCESS")

    def nudge(self, assignment: Document) -> None:
        """Send the same status again, with the current logistics (§3.3 rule 3)."""
        known = event_fields.of_assignment(assignment) | {"previousStatus": assignment["status"]}
        self.emit("ASSIGNMENT_STATUS_UPDATED", known)

    def set_appointment(self, assignment: Document, scheduled_at: str | None) -> None:
        """Set the appointment, or clear it (None). The same one again is not a change."""
        if assignment.get("scheduledAt") == scheduled_at:
            return
        assignment.pop("scheduledAt", None)
        if scheduled_at is not None:
            assignment["scheduledAt"] = scheduled_at
        known = event_fields.of_assignment(assignment) | {"scheduledAt": scheduled_at}
        self.emit("APPOINTMENT_DATE_UPDATED", known)

    def set_estimate(self, assignment: Document, estimated_delivery_at: str) -> None:
        """Set the date of the expected delivery. The same date again is not a change."""
        if assignment.get("estimatedDeliveryAt") != estimated_delivery_at:
            assignment["estimatedDeliveryAt"] = estimated_delivery_at
            self.emit("ESTIMATED_DELIVERY_UPDATED", event_fields.of_assignment(assignment))

    def announce(
        self, assignment: Document, product: str, visual_type: str, quantity: int | None
    ) -> None:
        """Announce visuals of one type, and make `quantity` of them.

        If `quantity` is None, the ordered number is made, or none if there are visuals already.
        """
        known = self.workspace.materials.setdefault(assignment["id"], [])
        there = self.visuals(assignment, visual_type, product)
        if quantity is None:
            quantity = 0 if there else self.ordered(assignment)
        kind = assignment.get("assignmentType", "")
        for number in range(len(there) + 1, len(there) + quantity + 1):
            known.append(deliverables.make(product, kind, visual_type, number, self.at))
        self.visuals_ready(assignment, {"product": product, "visualType": visual_type})

    def visuals_ready(self, assignment: Document, visual: Document) -> None:
        order = event_fields.of_order(self.workspace.orders[assignment["orderId"]])
        self.emit("VISUALS_READY", order | visual | {"assignmentId": assignment["id"]})

    def visuals(self, assignment: Document, visual_type: str, product: str = "") -> list[Document]:
        """Return the materials of one type, for one product or for all."""
        made = self.workspace.materials.get(assignment["id"], [])
        of_type = [one for one in made if one["visualType"] == visual_type]
        return [one for one in of_type if product in ("", one["product"])]

    def ordered(self, assignment: Document) -> int:
        """Return the number of ordered visuals."""
        note = self.workspace.notes.get(assignment["id"], {})
        return int(note.get("quantity", 1))

    def select(self, assignment: Document, quantity: int | None) -> bool:
        """Deliver a selection and return True, if there are more visuals than were ordered (A29).

        If `quantity` is None, the ordered number is delivered.
        """
        taken, ordered = len(self.visuals(assignment, "RAW")), self.ordered(assignment)
        if assignment["status"] in lifecycle.TERMINAL or taken <= ordered:
            return False
        self.workspace.notes.setdefault(assignment["id"], {})["quantity"] = min(
            taken, quantity or ordered
        )
        self.move(assignment, "DELIVERED")
        return True

    def marketing(self, property_id: str, target_platform: str) -> None:
        """Add a generated marketing material to a property, with its event (§6.2)."""
        entry = deliverables.marketing(property_id, target_platform, self.at)
        self.workspace.marketing.setdefault(property_id, []).append(entry)
        known = {"propertyId": property_id, "targetPlatform": target_platform}
        self.emit("MARKETING_MATERIALS_READY", known)


def _booked(change: Change, assignment: Document, previous: str) -> None:
    """Book a creative. After a reschedule it is another one."""
    chosen = change.workspace.notes.setdefault(assignment["id"], {})
    number = chosen["bookings"] = chosen.get("bookings", 0) + 1
    creatives = catalogue.PHOTOGRAPHERS
    assignment["photographer"] = dict(creatives[(number - 1) % len(creatives)])
    known = event_fields.of_assignment(assignment)
    change.emit("PHOTOGRAPHER_BOOKED", known | {"photographerId": assignment["photographer"]["id"]})


def _scheduled(change: Change, assignment: Document, previous: str) -> None:
    """Set the appointment that the client proposed, or one in two days at nine."""
    note = change.workspace.notes.setdefault(assignment["id"], {})
    morning = change.now.replace(hour=9, minute=0, second=0, microsecond=0) + timedelta(days=2)
    scheduled_at = note.pop("proposedAt", None) or timestamp(morning)
    change.set_appointment(assignment, scheduled_at)
    shoot = parse_timestamp(scheduled_at, "scheduledAt")
    change.set_estimate(assignment, (shoot + timedelta(days=2)).date().isoformat())


def _rescheduling(change: Change, assignment: Document, previous: str) -> None:
    assignment.pop("photographer", None)
    change.set_appointment(assignment, None)


def _processing(change: Change, assignment: Document, previous: str) -> None:
    change.set_estimate(assignment, (change.now + timedelta(days=5)).date().isoformat())


def _asking(change: Change, assignment: Document, previous: str) -> None:
    product = catalogue.BY_NAME.get(assignment["products"][0])
    assignment["actionRequired"] = (product and product.action) or lifecycle.ACTIONS[0]


def _delivered(change: Change, assignment: Document, previous: str) -> None:
    """Make the visuals, and emit one event for each product (§6.2, A29)."""
    made = deliverables.deliver(assignment, change.ordered(assignment), change.at)
    change.workspace.materials.setdefault(assignment["id"], []).extend(made)
    first = {one["product"]: one for one in reversed(made)}
    for visual in first.values():
        change.visuals_ready(assignment, visual)


# The effects when a status is reached (§6.2).
_ARRIVALS: dict[str, Callable[[Change, Document, str], None]] = {
    "PHOTOGRAPHER_ASSIGNED": _booked,
    "SCHEDULED": _scheduled,
    "RESCHEDULE_IN_PROCESS": _rescheduling,
    "ACTION_REQUIRED": _asking,
    "IN_PROCESS": _processing,
    "DELIVERED": _delivered,
}
