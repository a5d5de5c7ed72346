"""The sandbox's own paths under `/_sandbox/` (A53): actions of people on the platform."""

import re
from dataclasses import asdict
from typing import Any

from sandbox.api.orders import MOST_OF_ONE
from sandbox.interface.switches import PLATFORMS, SWITCHES, turned
from sandbox.page.render import POLICY, render
from sandbox.state.callbacks import shown
from sandbox.state.platform import Platform
from sandbox.wire import Answer, Request, bad, parse_timestamp, timestamp

_STATUS = re.compile(r"[A-Z][A-Z0-9_]{0,63}", re.ASCII)
USER_FIELDS = ("userReferenceId", "email", "name", "language", "phone", "country")


def state(platform: Platform, request: Request) -> Answer:
    """Return the whole state, without secrets."""
    known = platform.workspace.to_json()
    del known["signing_key"]
    if known["webhook"]:
        known["webhook"] = shown(known["webhook"])
    return Answer(200, known | {"now": timestamp(platform.now())})


def to_page(platform: Platform, request: Request) -> Answer:
    """Redirect to the page."""
    return Answer(303, content=b"", headers={"Location": "/_sandbox/"})


def page(platform: Platform, request: Request) -> Answer:
    """Show orders, deliveries and buttons as a page."""
    return Answer(
        200,
        content=render(platform, request.query.get("refused", "")),
        content_type="text/html; charset=utf-8",
        headers={"Content-Security-Policy": POLICY},
    )


def calls(platform: Platform, request: Request) -> Answer:
    """List the recorded calls, the oldest first, without secrets."""
    served = [
        {"method": method, "path": path, "body": body, "status": status}
        for method, path, body, status in platform.calls.copy()
    ]
    return Answer(200, {"calls": served})


def step(platform: Platform, request: Request) -> Answer:
    """Move every assignment of every open order one step."""
    return Answer(200, {"moved": platform.step()})


def advance(platform: Platform, request: Request) -> Answer:
    """Move an assignment to its next status."""
    return _assignment(platform, request, moved=platform.advance(request.params["assignmentId"]))


def status(platform: Platform, request: Request) -> Answer:
    """Set any status of an assignment, even one that the interface does not list (A28)."""
    wanted = request.text("status")
    if wanted is None or not _STATUS.fullmatch(wanted):
        raise bad("status", "is required, in capitals")
    platform.set_status(request.params["assignmentId"], wanted)
    return _assignment(platform, request)


def give_input(platform: Platform, request: Request) -> Answer:
    """Provide the missing input: ACTION_REQUIRED becomes CREATED (§3.2)."""
    assignment_id = request.params["assignmentId"]
    if platform.assignment(assignment_id)["status"] != "ACTION_REQUIRED":
        return _assignment(platform, request, moved=False)
    platform.set_status(assignment_id, "CREATED")
    return _assignment(platform, request, moved=True)


def nudge(platform: Platform, request: Request) -> Answer:
    """Send the same status once more."""
    platform.nudge(request.params["assignmentId"])
    return _assignment(platform, request)


def visuals(platform: Platform, request: Request) -> Answer:
    """Announce visuals of a type, POST by default."""
    kind, product = request.text("visualType") or "POST", request.text("product")
    assignment_id = request.params["assignmentId"]
    platform.announce(assignment_id, kind, product, _quantity(request))
    return _assignment(platform, request)


def selection(platform: Platform, request: Request) -> Answer:
    """Deliver a selection of the visuals, if there are more than were ordered."""
    platform.select(request.params["assignmentId"], _quantity(request))
    return _assignment(platform, request)


def _quantity(request: Request) -> int | None:
    quantity = request.body.get("quantity")
    if quantity is not None and (type(quantity) is not int or not 1 <= quantity <= MOST_OF_ONE):
        raise bad("quantity", f"must be a whole number from 1 to {MOST_OF_ONE}")
    return quantity


def appointment(platform: Platform, request: Request) -> Answer:
    """Set the appointment to a timestamp, or clear it with null."""
    if "scheduledAt" not in request.body:
        raise bad("scheduledAt", "is required, a timestamp or null")
    platform.set_appointment(request.params["assignmentId"], request.text("scheduledAt"))
    return _assignment(platform, request)


def estimate(platform: Platform, request: Request) -> Answer:
    """Set the estimated delivery date."""
    wanted = request.text("estimatedDeliveryAt")
    if wanted is None:
        raise bad("estimatedDeliveryAt", "is required, a date")
    platform.set_estimate(request.params["assignmentId"], wanted)
    return _assignment(platform, request)


def _assignment(platform: Platform, request: Request, **more: Any) -> Answer:
    return Answer(200, {**platform.assignment(request.params["assignmentId"]), **more})


def edit_property(platform: Platform, request: Request) -> Answer:
    """Edit a property as somebody on the platform."""
    return Answer(200, platform.edit_property(request.params["propertyId"], request.body))


def marketing(platform: Platform, request: Request) -> Answer:
    """Generate a marketing material."""
    wanted = request.text("targetPlatform") or "REAL_ESTATE_BROCHURE"
    platform.marketing_ready(request.params["propertyId"], wanted)
    return Answer(200, {"targetPlatform": wanted})


def add_user(platform: Platform, request: Request) -> Answer:
    """Add a user to the workspace."""
    given = {name: request.text(name) for name in USER_FIELDS}
    present = {name: value for name, value in given.items() if value is not None}
    user = {"id": platform.workspace.new_id(), **present}
    platform.workspace.users[user["id"]] = user
    platform.version += 1
    return Answer(201, user)


def clock(platform: Platform, request: Request) -> Answer:
    """Set the clock, which then continues from there."""
    platform.set_clock(parse_timestamp(request.text("now") or "", "now"))
    return Answer(200, {"now": timestamp(platform.now())})


def faults(platform: Platform, request: Request) -> Answer:
    """Return the rules for faults."""
    return Answer(200, platform.faults.shown())


def set_faults(platform: Platform, request: Request) -> Answer:
    """Replace the rules for faults. `{}` ends all of them."""
    platform.faults.set(request.body)
    return faults(platform, request)


def switches(platform: Platform, request: Request) -> Answer:
    """List the switches for open points of the interface, and their current positions."""
    listed = [asdict(one) | {"now": platform.switches[name]} for name, one in SWITCHES.items()]
    return Answer(200, {"platforms": list(PLATFORMS), "switches": listed})


def set_switches(platform: Platform, request: Request) -> Answer:
    """Set the named switches."""
    platform.switches = turned(platform.switches, request.body)
    return switches(platform, request)


def reset(platform: Platform, request: Request) -> Answer:
    """Begin again with the seeded workspace."""
    platform.reset()
    return Answer(204)
