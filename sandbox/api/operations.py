"""Every operation of the sandbox as a row, used to route requests and to make the OpenAPI file.

A row contains method, path, handler, the schema of each answer, the schema of the body, and the
statuses of refusals. Some refusals follow and are not listed: 401 where a token is needed, 400 for
a query, 400 and 413 for a body, 404 for an id in the path, 403 on the control paths.
"""

import re

from sandbox.api import control, materials, orders, properties, webhooks
from sandbox.api.openapi import CONTROL, Answers, Operation, Operation as Op, document
from sandbox.state.platform import Platform
from sandbox.wire import Answer, Refused, Request


def token(platform: Platform, request: Request) -> Answer:
    """Return a token for client credentials (A6)."""
    key = platform.workspace.signing_key
    issued = platform.access.issue(request.body, key=key, now=platform.now())
    return Answer(200, {"token": issued})


def describe(platform: Platform, request: Request) -> Answer:
    """Return this description."""
    return Answer(200, DESCRIPTION)


PROPERTIES = "/v1/real-estate-properties"
PROPERTY = f"{PROPERTIES}/{{propertyId}}"
REFERENCE = f"{PROPERTIES}/by-reference/{{objectReferenceId}}"
ORDER = "/v1/orders/{orderId}"
ASSIGNMENT = f"{CONTROL}/assignments/{{assignmentId}}"
PAGE = ("page", "size")
OLD_WEBHOOK = ("/webhook", "/webhook/")  # §4.2

WEBHOOK: Answers = {200: "Webhook", 201: "Webhook"}
SHOWN: Answers = {200: "Assignment"}

# fmt: off
OPERATIONS = (
    Op("POST", PROPERTIES, properties.create, {201: "Property"}, "PropertyChanges", (409,),
        switch="created"),
    Op("PATCH", PROPERTY, properties.update, {200: "Property"}, "PropertyChanges", (409,),
        switch="updated"),
    Op("PATCH", REFERENCE, properties.update, {200: "Property"}, "PropertyChanges", (409,),
        switch="updated"),
    Op("GET", PROPERTY, properties.read, {200: "Property"}),
    Op("GET", REFERENCE, properties.read, {200: "Property"}),
    Op("GET", PROPERTIES, properties.listing, {200: "PropertyPage"}, query=PAGE),
    Op("GET", "/v1/users", properties.users, {200: "UserPage"}, query=PAGE),
    Op("POST", "/v1/sessions", orders.open_session, {201: "Session"}, "SessionRequest", (404,)),
    Op("GET", "/v1/sessions/{sessionId}/products", orders.products, {200: "Products"}, "", (410,)),
    Op("POST", "/v1/sessions/{sessionId}/instructions", orders.instructions, {200: "Instructions"},
        "InstructionsRequest", (410,)),
    Op("POST", "/v1/orders", orders.place, {201: "Order"}, "OrderRequest", (404, 409, 410),
        switch="placed"),
    Op("PUT", f"{ORDER}/reschedule", orders.reschedule, {200: "Order"}, "RescheduleRequest",
        (409,), switch="changed"),
    Op("PUT", f"{ORDER}/cancel", orders.cancel, {200: "Order"}, "CancelRequest", (409,),
        switch="changed"),
    Op("GET", ORDER, orders.read, {200: "Order"}),
    Op("GET", f"{ORDER}/assignments", orders.assignments, {200: "Assignments"}),
    Op("GET", "/v1/assignments/{assignmentId}", orders.assignment, {200: "Assignment"}),
    Op("GET", f"{ORDER}/assignments/{{assignmentId}}/materials", materials.of_assignment,
        {200: "Materials"}, query=("product", "visualQuality", "modifiedSince")),
    Op("GET", "/materials/{orderId}/{assignmentId}", materials.of_event, {200: "Materials"},
        query=("product", "visualType", "modifiedSince")),
    Op("GET", f"{PROPERTY}/marketing-materials", materials.marketing, {200: "MarketingMaterials"}),
    Op("GET", "/files/{key}/{quality}/{name}", materials.file, {200: "file"}),
    Op("GET", "/tours/{key}", materials.tour, {200: "page"}),
    Op("GET", "/v1/webhooks", webhooks.read, {200: "Webhook"}, "", (404,)),
    Op("PUT", "/v1/webhooks", webhooks.put, WEBHOOK, "WebhookRequest", switch="configured"),
    Op("PATCH", "/v1/webhooks", webhooks.patch, {200: "Webhook"}, "Enabled", (404,),
        switch="configured"),
    Op("DELETE", "/v1/webhooks", webhooks.delete, {204: None}, "", (404,)),
    Op("GET", "/v1/webhooks/triggers", webhooks.triggers, {200: "Triggers"}, "", (404,)),
    *(Op("GET", one, webhooks.read, {200: "Webhook"}, "", (404, 410)) for one in OLD_WEBHOOK),
    *(Op(method, one, webhooks.put, WEBHOOK, "WebhookRequest", (410,), switch="configured")
      for one in OLD_WEBHOOK for method in ("POST", "PUT")),
    *(Op("DELETE", one, webhooks.delete, {204: None}, "", (404, 410)) for one in OLD_WEBHOOK),
    Op("PATCH", "/webhook/enabled", webhooks.legacy_enabled, {200: "Webhook"}, "", (404, 410),
        query=("enabled",), switch="configured"),
    Op("GET", "/webhook/history", webhooks.triggers, {200: "Triggers"}, "", (404, 410)),
    Op("POST", "/auth/token", token, {200: "Token"}, "TokenRequest", (401,)),
    Op("GET", "/openapi.json", describe, {200: "object"}),
    Op("GET", CONTROL, control.to_page, {303: None}),
    Op("GET", f"{CONTROL}/", control.page, {200: "page"}, query=("refused",)),
    Op("GET", f"{CONTROL}/state", control.state, {200: "object"}),
    Op("GET", f"{CONTROL}/calls", control.calls, {200: "object"}),
    Op("POST", f"{CONTROL}/step", control.step, {200: "object"}, "object?"),
    Op("POST", f"{CONTROL}/reset", control.reset, {204: None}, "object?"),
    Op("GET", f"{CONTROL}/faults", control.faults, {200: "Faults"}),
    Op("POST", f"{CONTROL}/faults", control.set_faults, {200: "Faults"}, "Faults"),
    Op("GET", f"{CONTROL}/switches", control.switches, {200: "Switches"}),
    Op("POST", f"{CONTROL}/switches", control.set_switches, {200: "Switches"}, "Positions"),
    Op("POST", f"{CONTROL}/clock", control.clock, {200: "Clock"}, "Clock"),
    Op("POST", f"{CONTROL}/users", control.add_user, {201: "User"}, "UserRequest"),
    Op("POST", f"{ASSIGNMENT}/advance", control.advance, SHOWN, "object?"),
    Op("POST", f"{ASSIGNMENT}/status", control.status, SHOWN, "Status"),
    Op("POST", f"{ASSIGNMENT}/input", control.give_input, SHOWN, "object?"),
    Op("POST", f"{ASSIGNMENT}/nudge", control.nudge, SHOWN, "object?"),
    Op("POST", f"{ASSIGNMENT}/visuals", control.visuals, SHOWN, "Visuals?"),
    Op("POST", f"{ASSIGNMENT}/selection", control.selection, SHOWN, "Selection?", (409,)),
    Op("POST", f"{ASSIGNMENT}/appointment", control.appointment, SHOWN, "Appointment"),
    Op("POST", f"{ASSIGNMENT}/estimate", control.estimate, SHOWN, "Estimate"),
    Op("PATCH", f"{CONTROL}/properties/{{propertyId}}", control.edit_property, {200: "Property"},
        "PropertyChanges"),
    Op("POST", f"{CONTROL}/properties/{{propertyId}}/marketing", control.marketing,
        {200: "Marketing"}, "Marketing?"),
)
# fmt: on
DESCRIPTION = document(OPERATIONS)
_ROUTES = [
    (re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(one.path))), one)
    for one in OPERATIONS
]


def route(method: str, path: str) -> tuple[Operation, dict[str, str]]:
    """Return the operation of a path, and the words in the path.

    Raises `Refused`: 404 for an unknown path, 405 for a method that the path does not support.
    """
    allowed = []
    for pattern, operation in _ROUTES:
        if match := pattern.fullmatch(path):
            if operation.method == method:
                return operation, match.groupdict()
            allowed.append(operation.method)
    if not allowed:
        raise Refused(404, f"there is no path {path}")
    refusal = Refused(405, f"{path} does not take {method}")
    refusal.headers["Allow"] = ", ".join(sorted(allowed))
    raise refusal
