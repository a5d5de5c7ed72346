"""What a live platform shows of the assumptions about orders, assignments, materials and users."""

from collections.abc import Iterator
from typing import Any

from crm_sync.hooks.doctor import Finding, Live, Seen, check_assumptions, listed, names_of
from orders.materials.files import PHOTO_PRODUCTS
from orders.models import Order
from orders.statuses import AssignmentStatus, OrderStatus

FIRST = {"page": 0, "size": 5}
ORDERS = "/v1/orders"
IN_ORDER = {
    *("id", "status", "createdAt", "userId", "realEstatePropertyId", "objectReferenceId"),
    "assignments",
}
IN_ASSIGNMENT = {
    *("id", "orderId", "assignmentType", "status", "products", "photographer", "scheduledAt"),
    *("estimatedDeliveryAt", "actionRequired"),
}
IN_MATERIAL = {
    *("id", "product", "visualType", "fileName", "mimeType", "size", "url", "thumbnailUrl"),
    "modifiedAt",
}
IN_MARKETING = {"id", "targetPlatform", "fileName", "mimeType", "url", "createdAt"}
IN_USER = {"id", "userReferenceId", "email", "name", "language", "phone", "country"}

ASSUMPTIONS = {
    "A28": "A status is a text; one that we do not know is kept and shown as unknown.",
    "A29": "VISUALS_READY comes after editing, or after the client's choice.",
    "A30": "A session is opened for a user and a property.",
    "A31": "A session has products with id, name, kind and price.",
    "A32": "Instructions are billing, organization and delivery.",
    "A33": "A session places one order; there is no idempotency key.",
    "A34": "A reschedule or a cancellation names one user.",
    "A35": "The names in an order.",
    "A36": "The assignments of an order can be listed.",
    "A37": "The names in an assignment.",
    "A38": "The names in a material.",
    "A39": "Which products are photos.",
    "A40": "The names in a marketing material.",
    "A41": "The names in a user.",
    "A42": "There is no list of orders.",
    "A43": "An order has one id, whatever its field is called.",
    "A48": "Documents have statuses and moves of their own.",
    "A49": "A reschedule without an assignment moves all that can be moved.",
    "A51": "The address of a material may be relative.",
}


def findings(workspace_id: int, live: Live) -> Iterator[Finding]:
    """Yield what the newest order that we know shows, if there is one."""
    yield from check_assumptions(ASSUMPTIONS, _users(live) | _order(workspace_id, live))


def _users(live: Live) -> dict[str, Seen]:
    page = live.document("/v1/users", **FIRST)
    return {"A41": names_of(_listed(page), IN_USER, "a user")}


def _listed(document: Any) -> list[Any]:
    """Return the one list of an answer."""
    if isinstance(document, list):
        return document
    values = document.values() if isinstance(document, dict) else ()
    return next((value for value in values if isinstance(value, list)), [])


def _order(workspace_id: int, live: Live) -> dict[str, Seen]:
    mine = Order.objects.filter(workspace_id=workspace_id).order_by("-pk")
    row = mine.values_list("platform_id", flat=True).first()
    order = live.document(f"{ORDERS}/{row}") if row else None
    if not isinstance(order, dict):
        nothing = Seen(None, "There is no order here that can be read.")
        return dict.fromkeys(("A28", "A35", "A36", "A37", "A38", "A39", "A40", "A43"), nothing)
    found = {"A35": names_of([order], IN_ORDER, "an order")}
    found["A43"] = Seen(
        str(order.get("id")) == row, f"Our id is {row}, the platform's is {order['id']}."
    )
    one = live.get(f"{ORDERS}/{row}/assignments")
    if one is not None:
        found["A36"] = Seen(one.status == 200, f"The list answers {one.status}.")
    keys = [str(part["id"]) for part in order.get("assignments") or () if part.get("id")]
    assignment = live.document(f"/v1/assignments/{keys[0]}") if keys else None
    found["A37"] = names_of([assignment], IN_ASSIGNMENT, "an assignment")
    parts = assignment if isinstance(assignment, dict) else {}
    others = {str(order.get("status"))} - set(OrderStatus.values)
    others |= {str(parts.get("status", AssignmentStatus.UNKNOWN))} - set(AssignmentStatus.values)
    text = (
        f"Unknown: {listed(sorted(others))}." if others else "Each status that was seen is known."
    )
    found["A28"] = Seen(not others, text)
    products = [str(one) for one in parts.get("products") or ()]
    photos = [one for one in products if one in PHOTO_PRODUCTS]
    found["A39"] = Seen(
        None, f"Of {listed(products)}, these count as photos: {listed(photos) or 'none'}."
    )
    if products:
        path = f"{ORDERS}/{row}/assignments/{keys[0]}/materials"
        found |= _materials(_listed(live.document(path, product=products[0])))
    if owner := order.get("realEstatePropertyId"):
        path = f"/v1/real-estate-properties/{owner}/marketing-materials"
        found["A40"] = names_of(_listed(live.document(path)), IN_MARKETING, "a marketing material")
    return found


def _materials(items: list[Any]) -> dict[str, Seen]:
    found = {"A38": names_of(items, IN_MATERIAL, "a material")}
    urls = [str(one["url"]) for one in items if isinstance(one, dict) and one.get("url")]
    if urls:
        is_relative = not urls[0].startswith("http")
        says = f"It is {'relative' if is_relative else 'absolute'}; we read both."
        found["A51"] = Seen(True, says)
    return found
