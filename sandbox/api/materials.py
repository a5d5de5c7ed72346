"""Materials on both paths, marketing materials (§4.5), and their files."""

from collections.abc import Callable

from sandbox.interface import catalogue
from sandbox.interface.event_fields import VISUAL_TYPES
from sandbox.state import deliverables
from sandbox.state.platform import Platform
from sandbox.wire import Answer, Document, Refused, Request, bad, parse_timestamp

QUALITIES = {"HD": "POST", "WEB": "POST_WEB"}  # A52


def of_assignment(platform: Platform, request: Request) -> Answer:
    """List the materials of an assignment (§4.5, A38)."""
    product = _product(platform, request)
    quality = request.query.get("visualQuality")
    if quality is not None and quality not in QUALITIES:
        raise bad("visualQuality", f"must be one of {', '.join(QUALITIES)}")
    if quality and product and product not in catalogue.PHOTO_PRODUCTS:
        raise bad("visualQuality", "applies to photo products alone")
    wanted = QUALITIES[quality or "HD"]  # §4.5
    return _answer(
        platform,
        request,
        lambda one: one["visualType"] == wanted or one["product"] not in catalogue.PHOTO_PRODUCTS,
    )


def of_event(platform: Platform, request: Request) -> Answer:
    """List the materials that a VISUALS_READY event announces (§4.5)."""
    _product(platform, request)
    visual_type = request.query.get("visualType")
    if visual_type is not None and visual_type not in VISUAL_TYPES:
        raise bad("visualType", f"must be one of {', '.join(VISUAL_TYPES)}")
    return _answer(platform, request, lambda one: visual_type in (None, one["visualType"]))


def _product(platform: Platform, request: Request) -> str | None:
    order = platform.order(request.params["orderId"])
    assignment_id = request.params["assignmentId"]
    if assignment_id not in order["assignments"]:
        raise Refused(404, f"the order has no assignment {assignment_id}", switch="unknownIds")
    product = request.query.get("product")
    if product is None and platform.switches["product"] == "required":
        raise bad("product", "is required")
    if product is not None and product not in platform.assignment(assignment_id)["products"]:
        raise Refused(404, f"the assignment has no product {product}")
    return product


def _answer(platform: Platform, request: Request, wanted: Callable[[Document], bool]) -> Answer:
    product = request.query.get("product")
    since = request.query.get("modifiedSince")
    earliest = parse_timestamp(since, "modifiedSince") if since is not None else None
    chosen = [
        _absolute(one, request)
        for one in platform.workspace.materials.get(request.params["assignmentId"], [])
        if product in (None, one["product"])
        and (earliest is None or parse_timestamp(one["modifiedAt"], "modifiedAt") >= earliest)
        and wanted(one)
    ]
    return Answer(200, {"materials": chosen})


def _absolute(entry: Document, request: Request) -> Document:
    addresses = {
        name: request.base_url + entry[name] for name in ("url", "thumbnailUrl") if name in entry
    }
    return entry | addresses


def marketing(platform: Platform, request: Request) -> Answer:
    """List the generated marketing materials of a property (§4.5, A40)."""
    property_id = platform.property_(request.params["propertyId"])["id"]
    entries = platform.workspace.marketing.get(property_id, [])
    return Answer(200, {"marketingMaterials": [_absolute(one, request) for one in entries]})


def file(platform: Platform, request: Request) -> Answer:
    """Return the file of a material. No token is needed: its address is secret (A38, A51)."""
    name = request.params["name"]
    content = deliverables.content(request.params["key"], request.params["quality"], name)
    if content is None:
        raise Refused(404, f"there is no file {name}")
    mime_type = deliverables.MIME_TYPES[name.rpartition(".")[2]]
    return Answer(200, content=content, content_type=mime_type)


def tour(platform: Platform, request: Request) -> Answer:
    """Return the page of a virtual tour (A38)."""
    page = b"<!doctype html><title>Tour</title><p>A virtual tour would begin here."
    return Answer(200, content=page, content_type="text/html; charset=utf-8")
