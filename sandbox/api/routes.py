"""The table of routes, and the way from a method and a path to its handler."""

from __future__ import annotations

import re
from collections.abc import Callable

from sandbox.api import access, control, description, materials, orders, properties, webhooks
from sandbox.state.platform import Platform
from sandbox.wire import Answer, Refused, Request

Handler = Callable[[Platform, Request], Answer]

# The words in braces are those of the interface document.
ROUTES: tuple[tuple[str, str, Handler], ...] = (
    # §4.6
    ("PATCH", "/v1/real-estate-properties/{propertyId}", properties.update),
    (
        "PATCH",
        "/v1/real-estate-properties/by-reference/{objectReferenceId}",
        properties.update_by_reference,
    ),
    ("GET", "/v1/real-estate-properties/{propertyId}", properties.read),
    (
        "GET",
        "/v1/real-estate-properties/by-reference/{objectReferenceId}",
        properties.read_by_reference,
    ),
    ("GET", "/v1/real-estate-properties", properties.listing),
    ("POST", "/v1/real-estate-properties", properties.create),
    ("GET", "/v1/users", properties.users),
    # §4.3
    ("POST", "/v1/sessions", orders.open_session),
    ("GET", "/v1/sessions/{sessionId}/products", orders.products),
    ("POST", "/v1/sessions/{sessionId}/instructions", orders.instructions),
    ("POST", "/v1/orders", orders.place),
    # §4.4
    ("PUT", "/v1/orders/{orderId}/reschedule", orders.reschedule),
    ("PUT", "/v1/orders/{orderId}/cancel", orders.cancel),
    # §4.5
    ("GET", "/v1/orders/{orderId}", orders.read),
    ("GET", "/v1/orders/{orderId}/assignments", orders.assignments),
    ("GET", "/v1/assignments/{assignmentId}", orders.assignment),
    ("GET", "/v1/orders/{orderId}/assignments/{assignmentId}/materials", materials.of_assignment),
    ("GET", "/materials/{orderId}/{assignmentId}", materials.of_event),
    ("GET", "/v1/real-estate-properties/{propertyId}/marketing-materials", materials.marketing),
    ("GET", "/files/{key}/{quality}/{name}", materials.file),
    ("GET", "/tours/{key}", materials.tour),
    # §4.1
    ("GET", "/v1/webhooks", webhooks.read),
    ("PUT", "/v1/webhooks", webhooks.put),
    ("PATCH", "/v1/webhooks", webhooks.patch),
    ("DELETE", "/v1/webhooks", webhooks.delete),
    ("GET", "/v1/webhooks/triggers", webhooks.triggers),
    # §4.2, A24
    *(
        (method, path, handler)
        for path in ("/webhook", "/webhook/")
        for method, handler in (
            ("GET", webhooks.read),
            ("POST", webhooks.put),
            ("PUT", webhooks.put),
            ("DELETE", webhooks.delete),
        )
    ),
    ("PATCH", "/webhook/enabled", webhooks.legacy_enabled),
    ("GET", "/webhook/history", webhooks.triggers),
    # A6
    ("POST", "/auth/token", access.token),
    # §4, described for machines
    ("GET", "/openapi.json", description.openapi),
    # A53
    ("GET", "/_sandbox", control.to_page),
    ("GET", "/_sandbox/", control.page),
    ("GET", "/_sandbox/state", control.state),
    ("GET", "/_sandbox/calls", control.calls),
    ("POST", "/_sandbox/step", control.step),
    ("POST", "/_sandbox/reset", control.reset),
    ("GET", "/_sandbox/faults", control.faults),
    ("POST", "/_sandbox/faults", control.set_faults),
    ("POST", "/_sandbox/clock", control.clock),
    ("POST", "/_sandbox/users", control.add_user),
    ("POST", "/_sandbox/assignments/{assignmentId}/advance", control.advance),
    ("POST", "/_sandbox/assignments/{assignmentId}/status", control.status),
    ("POST", "/_sandbox/assignments/{assignmentId}/input", control.give_input),
    ("POST", "/_sandbox/assignments/{assignmentId}/nudge", control.nudge),
    ("POST", "/_sandbox/assignments/{assignmentId}/appointment", control.appointment),
    ("POST", "/_sandbox/assignments/{assignmentId}/estimate", control.estimate),
    ("PATCH", "/_sandbox/properties/{propertyId}", control.edit_property),
    ("POST", "/_sandbox/properties/{propertyId}/marketing", control.marketing),
)

CONTROL = "/_sandbox"
# No token: A6, A51, A53.
OPEN = ("/auth/token", "/files/", "/tours/", "/openapi.json", CONTROL)
NOT_RECORDED = ("/files/", "/tours/", "/openapi.json", CONTROL)
# These take no body, or live without one.
BODY_OPTIONAL = (
    *(control.step, control.reset, control.advance, control.give_input, control.nudge),
    *(control.marketing, webhooks.legacy_enabled),
)
BODY_METHODS = ("POST", "PUT", "PATCH")

_PATTERNS = tuple(
    (re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path))), method, handler)
    for method, path, handler in ROUTES
)


def route(method: str, path: str) -> tuple[Handler, dict[str, str]]:
    """The handler of a path and the words in it; 404 for no such path, 405 for its methods."""
    allowed = []
    for pattern, of_method, handler in _PATTERNS:
        if match := pattern.fullmatch(path):
            if of_method == method:
                return handler, match.groupdict()
            allowed.append(of_method)
    if not allowed:
        raise Refused(404, f"there is no path {path}")
    refusal = Refused(405, f"{path} does not take {method}")
    refusal.headers["Allow"] = ", ".join(allowed)
    raise refusal
