"""Properties and users (§4.6)."""

from collections.abc import Callable, Collection
from itertools import islice

from sandbox.state.platform import Platform
from sandbox.wire import Answer, Document, Refused, Request

LISTED = ("id", "title", "propertyType", "address", "objectReferenceId")  # §2.4
LARGEST_PAGE = 100  # §8
USUAL_PAGE = 50  # §8


def create(platform: Platform, request: Request) -> Answer:
    """Create a property (§4.6). Every field is optional. An existing reference is a 409 (A45)."""
    document = platform.merged({}, request.body)
    _check_reference(platform, document, own_id=None)
    key = platform.workspace.new_id()
    document = {"id": key, **document}
    platform.workspace.properties.put(key, document, now=platform.now())
    platform.version += 1
    return Answer(201, document)


def update(platform: Platform, request: Request) -> Answer:
    """Change a property by the rules of merging (§4.6). An unknown property is a 404 (A3)."""
    stored = _named(platform, request)
    document = platform.merged(stored, request.body)
    if document.get("objectReferenceId") != stored.get("objectReferenceId"):
        _check_reference(platform, document, own_id=stored["id"])
    platform.workspace.properties.put(stored["id"], document, now=platform.now())
    platform.version += 1
    return Answer(200, document)


def _named(platform: Platform, request: Request) -> Document:
    """Return the property that the path names by its id or by its reference."""
    if "propertyId" in request.params:
        return platform.property_(request.params["propertyId"])
    return platform.property_by_reference(request.params["objectReferenceId"])


def _check_reference(platform: Platform, document: Document, *, own_id: str | None) -> None:
    if reference := document.get("objectReferenceId"):
        holder = platform.workspace.properties.by_reference(reference)
        if holder is not None and holder["id"] != own_id:
            raise Refused(409, f"there is a property with the reference {reference}")


def read(platform: Platform, request: Request) -> Answer:
    """Read the full property (§4.6)."""
    return Answer(200, _named(platform, request))


def listing(platform: Platform, request: Request) -> Answer:
    """List properties, page by page (§4.6)."""
    return page(request, platform.workspace.properties.values(), _list_item)


def users(platform: Platform, request: Request) -> Answer:
    """List the users of the workspace, page by page (§4.6)."""
    return page(request, platform.workspace.users.values(), dict)


def _list_item(document: Document) -> Document:
    return {name: document[name] for name in LISTED if name in document}


def page(
    request: Request, documents: Collection[Document], shown: Callable[[Document], Document]
) -> Answer:
    """Return one page in its envelope (§2.6, A1). After the last page it is empty."""
    number = request.number("page", 0, lowest=0)
    size = request.number("size", USUAL_PAGE, lowest=1, highest=LARGEST_PAGE)
    total_pages = -(-len(documents) // size)
    chosen = islice(documents, number * size, (number + 1) * size)
    envelope = {
        "content": [shown(one) for one in chosen],
        "totalElements": len(documents),
        "totalPages": total_pages,
        "first": number == 0,
        "last": number >= total_pages - 1,
    }
    return Answer(200, envelope)
