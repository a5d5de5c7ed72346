"""Every operation of the sandbox, as one table: requests are routed by it, OpenAPI is made of it.

    METHOD path … ?query …
        section, what it does
        module.handler Body -> status Schema | status Schema | status

Several paths do the same. The words in braces are those of the interface document. `Body?` may be
left out. A status of 400 or more answers with the error body (A4), another one without a schema
with nothing. Left out because they follow: 401 wherever a token is needed, 400 and 413 wherever
there is a body, 403 on the control paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

TABLE = """
POST /v1/real-estate-properties
    §4.6 Create a property; every field is optional
    properties.create PropertyChanges -> 201 Property | 409
PATCH /v1/real-estate-properties/{propertyId}
    §4.6 Change a property, with the rules of merging
    properties.update PropertyChanges -> 200 Property | 404 | 409
PATCH /v1/real-estate-properties/by-reference/{objectReferenceId}
    §4.6 The same, by reference
    properties.update PropertyChanges -> 200 Property | 404 | 409
GET /v1/real-estate-properties/{propertyId}
    §4.6 Read the full property
    properties.read -> 200 Property | 404
GET /v1/real-estate-properties/by-reference/{objectReferenceId}
    §4.6 The same, by reference
    properties.read -> 200 Property | 404
GET /v1/real-estate-properties ?page ?size
    §4.6 List properties, page by page
    properties.listing -> 200 PropertyPage | 400
GET /v1/users ?page ?size
    §4.6 List the users of the workspace, page by page
    properties.users -> 200 UserPage | 400

POST /v1/sessions
    §4.3 Open a purchase session for a user and a property
    orders.open_session SessionRequest -> 201 Session | 404
GET /v1/sessions/{sessionId}/products
    §4.3 List what can be ordered in the session
    orders.products -> 200 Products | 404 | 410
POST /v1/sessions/{sessionId}/instructions
    §4.3 Get the instruction options for chosen products
    orders.instructions InstructionsRequest -> 200 Instructions | 404 | 410
POST /v1/orders
    §4.3 Place the order of a session
    orders.place OrderRequest -> 201 Order | 404 | 409 | 410

PUT /v1/orders/{orderId}/reschedule
    §4.4 Reschedule, in the name of one user
    orders.reschedule RescheduleRequest -> 200 Order | 404 | 409
PUT /v1/orders/{orderId}/cancel
    §4.4 Cancel, in the name of one user
    orders.cancel CancelRequest -> 200 Order | 404 | 409

GET /v1/orders/{orderId}
    §4.5 Read an order with its assignments
    orders.read -> 200 Order | 404
GET /v1/orders/{orderId}/assignments
    A36 Read the assignments of an order
    orders.assignments -> 200 Assignments | 404
GET /v1/assignments/{assignmentId}
    §4.5 Read an assignment: photographer, schedule, products
    orders.assignment -> 200 Assignment | 404
GET /v1/orders/{orderId}/assignments/{assignmentId}/materials ?product ?visualQuality ?modifiedSince
    §4.5 List materials
    materials.of_assignment -> 200 Materials | 400 | 404
GET /materials/{orderId}/{assignmentId} ?product ?visualType ?modifiedSince
    §4.5 List materials for VISUALS_READY
    materials.of_event -> 200 Materials | 400 | 404
GET /v1/real-estate-properties/{propertyId}/marketing-materials
    §4.5 List generated materials
    materials.marketing -> 200 MarketingMaterials | 404
GET /files/{key}/{quality}/{name}
    A38 The file of a material; its address is the secret
    materials.file -> 200 file | 404
GET /tours/{key}
    A38 A tour is a page
    materials.tour -> 200 page

GET /v1/webhooks
    §4.1 Read the webhook configuration
    webhooks.read -> 200 Webhook | 404
PUT /v1/webhooks
    §4.1 Create the webhook, or replace it; a secret that is left out is kept
    webhooks.put WebhookRequest -> 200 Webhook | 201 Webhook
PATCH /v1/webhooks
    §4.1 Enable or disable without removing
    webhooks.patch Enabled -> 200 Webhook | 404
DELETE /v1/webhooks
    §4.1 Remove the webhook and its history
    webhooks.delete -> 204 | 404
GET /v1/webhooks/triggers
    §4.1 The last ten deliveries, the newest first
    webhooks.triggers -> 200 Triggers | 404

GET /webhook /webhook/
    §4.2 Deprecated: GET /v1/webhooks
    webhooks.read -> 200 Webhook | 404 | 410
POST /webhook /webhook/
    §4.2 Deprecated: PUT /v1/webhooks
    webhooks.put WebhookRequest -> 200 Webhook | 201 Webhook | 410
PUT /webhook /webhook/
    §4.2 Deprecated: PUT /v1/webhooks
    webhooks.put WebhookRequest -> 200 Webhook | 201 Webhook | 410
DELETE /webhook /webhook/
    §4.2 Deprecated: DELETE /v1/webhooks
    webhooks.delete -> 204 | 404 | 410
PATCH /webhook/enabled ?enabled
    §4.2 Deprecated: PATCH /v1/webhooks
    webhooks.legacy_enabled -> 200 Webhook | 400 | 404 | 410
GET /webhook/history
    §4.2 Deprecated: GET /v1/webhooks/triggers
    webhooks.triggers -> 200 Triggers | 404 | 410

POST /auth/token
    A6 A token for client credentials
    access.token TokenRequest -> 200 Token | 401
GET /openapi.json
    This description
    openapi.describe -> 200 object

GET /_sandbox
    A53 To the page
    control.to_page -> 303
GET /_sandbox/ ?refused
    A53 A page that shows orders, deliveries and buttons
    control.page -> 200 page
GET /_sandbox/state
    A53 All that the sandbox knows, without secrets
    control.state -> 200 object
GET /_sandbox/calls
    A53 What was called, the oldest first
    control.calls -> 200 object
POST /_sandbox/step
    A53 Move every open order one step
    control.step object? -> 200 object
POST /_sandbox/reset
    A53 Begin again with the seeded workspace
    control.reset object? -> 204
GET /_sandbox/faults
    A53 The rules for faults
    control.faults -> 200 Faults
POST /_sandbox/faults
    A53 Replace the rules for faults
    control.set_faults Faults -> 200 Faults
GET /_sandbox/switches
    A53 What the interface leaves open, and what holds now
    control.switches -> 200 Switches
POST /_sandbox/switches
    A53 Decide what the interface leaves open
    control.set_switches Positions -> 200 Switches
POST /_sandbox/clock
    A53 Set the clock; it runs on from there
    control.clock Clock -> 200 Clock
POST /_sandbox/users
    A53 Add a user to the workspace
    control.add_user UserRequest -> 201 User
POST /_sandbox/assignments/{assignmentId}/advance
    A53 Move an assignment to its next status
    control.advance object? -> 200 Assignment | 404
POST /_sandbox/assignments/{assignmentId}/status
    A53 Put an assignment into any status
    control.status Status -> 200 Assignment | 404
POST /_sandbox/assignments/{assignmentId}/input
    A53 The client brought what ACTION_REQUIRED asks
    control.give_input object? -> 200 Assignment | 404
POST /_sandbox/assignments/{assignmentId}/nudge
    A53 Tell the same status again
    control.nudge object? -> 200 Assignment | 404
POST /_sandbox/assignments/{assignmentId}/visuals
    A53 Announce visuals of any type
    control.visuals Visuals? -> 200 Assignment | 404
POST /_sandbox/assignments/{assignmentId}/selection
    A53 The client chose of more visuals than were ordered
    control.selection Selection? -> 200 Assignment | 404 | 409
POST /_sandbox/assignments/{assignmentId}/appointment
    A53 Set the appointment, or clear it by null
    control.appointment Appointment -> 200 Assignment | 404
POST /_sandbox/assignments/{assignmentId}/estimate
    A53 Set the estimated delivery date
    control.estimate Estimate -> 200 Assignment | 404
PATCH /_sandbox/properties/{propertyId}
    A53 Edit a property as somebody on the platform
    control.edit_property PropertyChanges -> 200 Property | 404
POST /_sandbox/properties/{propertyId}/marketing
    A53 Generate a marketing material
    control.marketing Marketing? -> 200 Marketing | 404"""
CONTROL = "/_sandbox"
OPEN = ("/auth/token", "/files/", "/tours/", "/openapi.json", CONTROL)  # no token: A6, A51, A53


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path."""

    method: str
    path: str
    query: tuple[str, ...]
    summary: str
    handler: str  # the module of `sandbox.api` and the function in it
    body: str | None  # the name of a schema
    body_required: bool
    answers: tuple[tuple[int, str | None], ...]


def parse(table: str) -> dict[tuple[str, str], Operation]:
    """The operations of a table by method and path."""
    lines = [line for line in table.splitlines() if line]
    three = zip(lines[::3], lines[1::3], lines[2::3], strict=True)
    return {(one.method, one.path): one for entry in three for one in _operations(*entry)}


def _operations(call: str, summary: str, tail: str) -> Iterator[Operation]:
    method, *words = call.split()
    takes, _, answers = tail.partition("-> ")
    handler, *body = takes.split()
    for path in words:
        if path.startswith("/"):
            yield Operation(
                method=method,
                path=path,
                query=tuple(one.removeprefix("?") for one in words if one.startswith("?")),
                summary=summary.strip(),
                handler=handler,
                body=body[0].removesuffix("?") if body else None,
                body_required=bool(body) and not body[0].endswith("?"),
                answers=tuple(_answer(one) for one in answers.split(" | ")),
            )


def _answer(text: str) -> tuple[int, str | None]:
    status, *schema = text.split()
    return int(status), schema[0] if schema else None


OPERATIONS = parse(TABLE)
