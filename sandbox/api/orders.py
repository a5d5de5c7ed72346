"""From a session to an order (§4.3), its details (§4.5), reschedule and cancel (§4.4)."""

import uuid
from datetime import timedelta
from typing import Any

from sandbox.interface import catalogue, lifecycle
from sandbox.state.platform import Platform
from sandbox.wire import (
    Answer,
    Document,
    Refused,
    Request,
    bad,
    parse_timestamp,
    timestamp,
    whole_timestamp,
)

SESSION_LIFE = timedelta(hours=1)
MOST_OF_ONE = 100


def open_session(platform: Platform, request: Request) -> Answer:
    """Open a purchase session for a user and a property (§4.3, A30)."""
    user = _user(platform, request)
    property_ = _property(platform, request)
    session = {
        "id": str(uuid.uuid4()),
        "expiresAt": timestamp(platform.now() + SESSION_LIFE),
        "userId": user["id"],
        "realEstatePropertyId": property_["id"],
    }
    if "objectReferenceId" in property_:
        session["objectReferenceId"] = property_["objectReferenceId"]
    platform.workspace.sessions[session["id"]] = session
    platform.version += 1
    return Answer(201, session)


def _user(platform: Platform, request: Request) -> Document:
    """Return the acting user, named in exactly one of two ways (§4.4, A34)."""
    user_id, reference = request.text("userId"), request.text("userReferenceId")
    if (user_id is None) == (reference is None):
        message = "exactly one of userId and userReferenceId is required"
        raise Refused(400, message, {"userId": message, "userReferenceId": message})
    for user in platform.workspace.users.values():
        if user_id == user["id"] or (reference and reference == user.get("userReferenceId")):
            return user
    named = user_id or reference or "''"
    raise Refused(404, f"there is no user {named}", switch="unknownIds" if user_id else "")


def _property(platform: Platform, request: Request) -> Document:
    property_id = request.text("realEstatePropertyId")
    reference = request.text("objectReferenceId")
    if property_id is None and reference is None:
        message = "one of realEstatePropertyId and objectReferenceId is required"
        raise Refused(400, message, {"realEstatePropertyId": message, "objectReferenceId": message})
    if property_id is None:
        return platform.property_by_reference(reference or "")
    found = platform.property_(property_id)
    if reference is not None and reference != found.get("objectReferenceId"):
        raise bad("objectReferenceId", "is not the reference of this property")
    return found


def _session(platform: Platform, session_id: str) -> Document:
    session = platform.workspace.sessions.get(session_id)
    if session is None:
        raise Refused(404, f"there is no session {session_id}", switch="unknownIds")
    if parse_timestamp(session["expiresAt"], "expiresAt") <= platform.now():
        raise Refused(410, f"the session {session_id} has expired")
    return session


def products(platform: Platform, request: Request) -> Answer:
    """List the products that can be ordered in a session (§4.3, A31)."""
    _session(platform, request.params["sessionId"])
    shown = [
        {
            "id": one.id,
            "product": one.product,
            "name": one.name,
            "kind": one.kind,
            "price": {"amount": one.amount, "currency": catalogue.CURRENCY},
        }
        for one in catalogue.PRODUCTS
    ]
    return Answer(200, {"products": shown})


def instructions(platform: Platform, request: Request) -> Answer:
    """List the instruction options for the chosen products (§4.3, A32)."""
    _session(platform, request.params["sessionId"])
    _chosen(request.body.get("products"))
    shown = {
        part: [{"id": key, "label": label} for key, label in options]
        for part, options in catalogue.INSTRUCTIONS.items()
    }
    return Answer(200, shown)


def _chosen(value: Any) -> list[tuple[catalogue.Product, int]]:
    """Return the products of a body, each with its quantity. A 400 names the wrong member."""
    if not isinstance(value, list) or not value or len(value) > MOST_OF_ONE:
        raise bad("products", "is required, a list of at least one product")
    chosen = []
    for index, line in enumerate(value):
        where = f"products[{index}]"
        if not isinstance(line, dict):
            raise bad(where, "must be an object")
        key, quantity = line.get("id"), line.get("quantity", 1)
        if not isinstance(key, str) or key not in catalogue.BY_ID:
            raise bad(f"{where}.id", "is not a product of this session")
        whole = isinstance(quantity, int) and not isinstance(quantity, bool)
        if not whole or not 1 <= quantity <= MOST_OF_ONE:
            raise bad(f"{where}.quantity", f"must be a whole number from 1 to {MOST_OF_ONE}")
        chosen.append((catalogue.BY_ID[key], quantity))
    return chosen


def place(platform: Platform, request: Request) -> Answer:
    """Place the order of a session (§4.3). A second order is a 409 (A33)."""
    session_id = request.text("sessionId")
    if session_id is None:
        raise bad("sessionId", "is required")
    session = _session(platform, session_id)
    chosen = _chosen(request.body.get("products"))
    _check_instructions(request.body.get("instructions"))
    if "orderId" in platform.workspace.notes.get(session_id, {}):
        raise Refused(409, f"the session {session_id} has served its order")
    with platform.change() as change:
        order = change.place(session, chosen)
        platform.workspace.notes[session_id] = {"orderId": order["id"]}
    return Answer(201, shown_order(platform, order))


def _check_instructions(value: Any) -> None:
    if not isinstance(value, dict):
        raise bad("instructions", "is required, an object")
    for part, options in catalogue.INSTRUCTIONS.items():
        if value.get(part) not in [key for key, _ in options]:
            raise bad(f"instructions.{part}", "must be the id of one of the options")


def read(platform: Platform, request: Request) -> Answer:
    """Read an order with its assignments (§4.5)."""
    return Answer(200, shown_order(platform, platform.order(request.params["orderId"])))


def assignments(platform: Platform, request: Request) -> Answer:
    """List the assignments of an order (A36)."""
    order = shown_order(platform, platform.order(request.params["orderId"]))
    return Answer(200, order["assignments"])


def assignment(platform: Platform, request: Request) -> Answer:
    """Read an assignment: photographer, schedule, products (§4.5)."""
    return Answer(200, dict(platform.assignment(request.params["assignmentId"])))


def shown_order(platform: Platform, order: Document) -> Document:
    """Return an order with its assignments (A35)."""
    all_of_it = [dict(platform.assignment(one)) for one in order["assignments"]]
    return {**order, "assignments": all_of_it}


def reschedule(platform: Platform, request: Request) -> Answer:
    """Reschedule one assignment, or all that can be, in the name of a user (§4.4, A34, A49)."""
    order = platform.order(request.params["orderId"])
    _user(platform, request)
    request.text("reason")
    proposed_at = request.text("proposedAt")
    if proposed_at is not None:
        proposed_at = whole_timestamp(proposed_at, "proposedAt")
    assignment_id = request.text("assignmentId")
    if assignment_id is not None and assignment_id not in order["assignments"]:
        raise Refused(404, f"the order has no assignment {assignment_id}", switch="unknownIds")
    wanted = order["assignments"] if assignment_id is None else [assignment_id]
    chosen = [
        one
        for one in map(platform.assignment, wanted)
        if one["status"] in lifecycle.CAN_BE_RESCHEDULED
        and one.get("assignmentType") != lifecycle.DOCUMENT
    ]
    if not chosen:
        raise Refused(409, "there is no assignment that can be rescheduled")
    with platform.change() as change:
        for one in chosen:
            change.reschedule(one, proposed_at)
    return Answer(200, shown_order(platform, order))


def cancel(platform: Platform, request: Request) -> Answer:
    """Cancel an order that is PLACED or IN_PROGRESS, in the name of a user (§3.1, §4.4, A34)."""
    order = platform.order(request.params["orderId"])
    _user(platform, request)
    request.text("reason")
    if not lifecycle.ORDER_MOVES.get(order["status"]):
        raise Refused(409, f"the order is {order['status']}")
    with platform.change() as change:
        change.cancel(order)
    return Answer(200, shown_order(platform, order))
