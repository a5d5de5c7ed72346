"""Checks the assumptions about orders, assignments, materials and users on a live platform."""

from collections.abc import Iterator
from typing import Any, TypeAlias

from django.conf import settings

from crm_sync.doctor.checking import Seen, check_assumptions, listed, names_of, objects_in
from crm_sync.hooks import Finding, Verdict
from crm_sync.platform import references
from crm_sync.platform.read_only import Live
from crm_sync.text import counted
from orders.materials.material_lists import PHOTO_PRODUCTS
from orders.models import Order, Target, TargetFile
from orders.models.statuses import AssignmentStatus, OrderStatus
from orders.targets import uploads

Item: TypeAlias = dict[str, Any]
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
    "A54": "The address of a material may expire.",
}


def findings(workspace_id: int, live: Live) -> Iterator[Finding]:
    """Yield the findings from the users, and from the newest order that we know."""
    mine = Order.objects.filter(workspace_id=workspace_id).order_by("-pk")
    key = mine.values_list("platform_id", flat=True).first() or ""
    document = live.document(f"{ORDERS}/{key}") if key else None
    order = document if isinstance(document, dict) else {}
    looks = (_users(live), _order(order, key), _assignments(live, order, key))
    more = (_materials(live, order, key), _marketing(live, order))
    yield from check_assumptions("orders", ASSUMPTIONS, *looks, *more)
    yield from _targets(workspace_id)


def _targets(workspace_id: int) -> Iterator[Finding]:
    """Yield whether the targets take files, without calling them; nothing if there are none."""
    targets = Target.objects.filter(workspace=workspace_id).defer("secret")
    mine = list(targets.order_by("pk"))
    if mine and not settings.MATERIALS_DOWNLOAD:
        text = "No file is downloaded, so no target gets one."
        yield Finding("targets", Verdict.WARNING, text, "Set MATERIALS_DOWNLOAD=true.")
    failing = [one for one in mine if one.attempts >= uploads.TRIES]
    for one in failing:
        text = f"{one.name} takes nothing: {one.problem}"
        yield Finding("targets", Verdict.FAILED, text, "Correct it on its page, then test it.")
    files = TargetFile.objects.filter(workspace=workspace_id, due_at=None).exclude(problem="")
    if count := files.count():
        text = f"{counted(count, 'file')} at targets: not taken."
        yield Finding("targets", Verdict.WARNING, text, "Files at targets says why.")
    if mine and settings.MATERIALS_DOWNLOAD and not failing and not count:
        text = f"Nothing is wrong with {counted(len(mine), 'target')}."
        yield Finding("targets", Verdict.OK, text)


def _users(live: Live) -> Iterator[tuple[str, Seen]]:
    page = live.document("/v1/users", **FIRST)
    yield "A41", names_of(objects_in(page), IN_USER, "a user")


def _order(order: Item, key: str) -> Iterator[tuple[str, Seen]]:
    if not order:
        nothing = Seen(None, "There is no order here that can be read.")
        for name in ("A28", "A35", "A36", "A37", "A38", "A39", "A40", "A43"):
            yield name, nothing
        return
    yield "A35", names_of([order], IN_ORDER, "an order")
    theirs = str(order["id"]) if "id" in order else ""
    says = f"the platform's is {theirs}" if theirs else "the platform's has no `id`"
    yield "A43", Seen(theirs == key, f"Our id is {key}, {says}.")


def _assignments(live: Live, order: Item, key: str) -> Iterator[tuple[str, Seen]]:
    if not order:
        return
    if (one := live.get(f"{ORDERS}/{key}/assignments")) is not None:
        yield "A36", Seen(one.status == 200, f"The list answers {one.status}.")
    parts = _assignment(live, order)
    yield "A37", names_of([parts] if parts else [], IN_ASSIGNMENT, "an assignment")
    others = {str(order.get("status"))} - set(OrderStatus.values)
    others |= {str(parts.get("status", AssignmentStatus.UNKNOWN))} - set(AssignmentStatus.values)
    known = "Each status that was seen is known."
    yield "A28", Seen(not others, f"Unknown: {listed(sorted(others))}." if others else known)
    products = _products(parts)
    photos = [one for one in products if one in PHOTO_PRODUCTS]
    text = f"Of {listed(products)}, these count as photos: {listed(photos) or 'none'}."
    yield "A39", Seen(None, text if products else "No product was seen.")


def _assignment(live: Live, order: Item) -> Item:
    """Return the first assignment of an order, or {} if the order does not name one by its id."""
    key = _first_key(order)
    document = live.document(f"/v1/assignments/{key}") if key else None
    return document if isinstance(document, dict) else {}


def _first_key(order: Item) -> str:
    listed_there = order.get("assignments")
    first = listed_there[0] if isinstance(listed_there, list) and listed_there else None
    key = first.get("id") if isinstance(first, dict) else first
    return str(key) if isinstance(key, str | int) and not references.path_fault(str(key)) else ""


def _products(parts: Item) -> list[str]:
    products = parts.get("products")
    return [str(one) for one in products] if isinstance(products, list) else []


def _materials(live: Live, order: Item, key: str) -> Iterator[tuple[str, Seen]]:
    products = _products(_assignment(live, order))
    if not products:
        return
    path = f"{ORDERS}/{key}/assignments/{_first_key(order)}/materials"
    items = objects_in(live.document(path, product=products[0]))
    yield "A38", names_of(items, IN_MATERIAL, "a material")
    if urls := [str(one["url"]) for one in items if one.get("url")]:
        is_relative = not urls[0].startswith("http")
        says = f"It is {'relative' if is_relative else 'absolute'}; we read both."
        yield "A51", Seen(True, says)


def _marketing(live: Live, order: Item) -> Iterator[tuple[str, Seen]]:
    owner = order.get("realEstatePropertyId")
    if isinstance(owner, str | int) and owner and not references.path_fault(str(owner)):
        path = f"/v1/real-estate-properties/{owner}/marketing-materials"
        items = objects_in(live.document(path))
        yield "A40", names_of(items, IN_MARKETING, "a marketing material")
