"""What the tests of orders share: a property of ours, an order on its way, events by hand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.timezone import now

from crm_sync import hooks
from crm_sync.hooks import Effect, EventBatch
from crm_sync.models import ReceivedEvent, Workspace
from crm_sync.platform import transport
from crm_sync.platform.events import OTHER, Event, parse
from orders.models import Assignment, MaterialSet, Order, PlatformUser, StatusChange
from orders.platform_users import user_list
from properties.models import Property
from sandbox.app import Sandbox
from tests.conftest import PLATFORM
from tests.crm_sync.admin_pages import client_of
from tests.placing import place_at_once
from tests.wsgi import WsgiAdapter

MIRROR = {
    Order: ("platform_id", "status", "status_at", "status_digest"),
    Assignment: (
        *("platform_id", "assignment_type", "status", "status_at", "status_digest"),
        *("scheduled_at", "scheduled_watermark", "scheduled_digest"),
        *("estimated_delivery_date", "estimate_watermark", "estimate_digest"),
        *("action_required", "action_watermark", "action_digest"),
        *("photographer", "photographer_watermark", "photographer_digest"),
    ),
    MaterialSet: ("product", "visual_type", "target_platform", "ready_at"),
}


def at(second: int) -> str:
    """The wire form of a moment in the past, by its seconds."""
    return f"2026-01-31T10:{second // 60:02}:{second % 60:02}Z"


Fields = dict[str, Any]


def moved(second: int, previous: str, new: str, **more: Any) -> Fields:
    """The event of a new status of the one assignment of the one order."""
    event = {"event": "ASSIGNMENT_STATUS_UPDATED", "occurredAt": at(second), "orderId": "1"}
    return event | {"assignmentId": "7", "previousStatus": previous, "newStatus": new, **more}


def order_moved(second: int, previous: str, new: str) -> Fields:
    event = {"event": "ORDER_STATUS_UPDATED", "occurredAt": at(second), "orderId": "1"}
    return event | {"previousStatus": previous, "newStatus": new}


def appointed(second: int, moment: str | None) -> Fields:
    event = {"event": "APPOINTMENT_DATE_UPDATED", "occurredAt": at(second), "orderId": "1"}
    return event | {"assignmentId": "7", "scheduledAt": moment}


def move(workspace: Workspace, second: int, previous: str, new: str, **more: Any) -> Effect:
    return tell(workspace, **moved(second, previous, new, **more))


def move_order(workspace: Workspace, second: int, previous: str, new: str) -> Effect:
    return tell(workspace, **order_moved(second, previous, new))


def tell(workspace: Workspace, event: str, **fields: Any) -> Effect:
    """Let the handler understand an event, in a transaction as the inbox does it."""
    parsed = parse(json.dumps({"event": event, **fields}).encode())
    with transaction.atomic():
        return handled(workspace.pk, parsed)


def handled(workspace_id: int, *events: Event) -> Effect:
    """Let the handlers understand events together; the effect of the last."""
    batch = EventBatch(workspace_id, events, now=now())
    for event in events:
        kind = event.kind if event.is_known else OTHER
        effect = hooks.plugged().event_handlers[kind](batch, event, None)  # type: ignore[arg-type]
    batch.write()
    return effect


def mirror() -> dict[str, list[tuple[Any, ...]]]:
    """All mirrored facts with their watermarks; what schedules reads is no part of it."""
    return {
        model.__name__: sorted(model.objects.values_list(*columns), key=repr)
        for model, columns in MIRROR.items()
    }


def timeline(**where: Any) -> list[tuple[str, str, str]]:
    lines = StatusChange.objects.filter(**where).order_by("occurred_at", "pk")
    return list(lines.values_list("fact", "previous", "new"))


def set_aside(order: Order) -> None:
    """Nothing is to be read: what makes the order due after this is what a test looks at."""
    Order.objects.filter(pk=order.pk).update(due_at=None)


def is_due(order: Order) -> bool:
    return Order.objects.filter(pk=order.pk, due_at__lte=now()).exists()


def calls(box: Sandbox, method: str = "") -> list[tuple[str, str]]:
    return [(verb, path) for verb, path, _, _ in box.calls if verb.startswith(method)]


def effects() -> list[str]:
    """What the deliveries did, in the order in which they came."""
    return list(ReceivedEvent.objects.order_by("pk").values_list("effect", flat=True))


@pytest.fixture
def folder(settings, tmp_path) -> Path:
    """Switch the downloads on; return the folder of the storage."""
    settings.DATA_DIR = tmp_path
    settings.MATERIALS_DOWNLOAD = True
    settings.MATERIALS_INTERNAL_HOSTS = ["127.0.0.1"]
    options = {"location": str(tmp_path / "materials"), "base_url": None}
    mine = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}
    settings.STORAGES = settings.STORAGES | {"materials": mine}
    return tmp_path / "materials"


@pytest.fixture
def home(workspace: Workspace) -> Property:
    """Return our property that the sandbox knows as 201."""
    return Property.objects.create(
        workspace=workspace, object_reference_id="SEED-1", platform_id="201"
    )


@pytest.fixture
def place(workspace: Workspace, home: Property) -> Callable[..., Order]:
    """Return a function that places an order and gives it back as the mirror has it."""

    def place_one(*products: str) -> Order:
        done = place_at_once(
            workspace,
            reference="SEED-1",
            user="AGENT-1",
            products=products or ["GROUND_PHOTO"],
            now=now(),
        )
        assert done.order is not None
        return done.order

    return place_one


@pytest.fixture
def scheduled(place, box, drain_all) -> Order:
    """Return an order whose photos have a photographer and a date, and whose plan is begun."""
    order = place("GROUND_PHOTO", "FLOOR_PLAN")
    for _ in range(2):
        box.step()
        box.deliver()
    drain_all()
    box.calls.clear()
    return order


@pytest.fixture
def ended(box, place, drain_all) -> Order:
    """Return an order that has ended, with a brochure of which no callback told."""
    order = place("GROUND_PHOTO")
    box.faults.set({"rules": [{"fault": "LOST", "event": "MARKETING_MATERIALS_READY"}]})
    box.set_status(order.assignments.get().platform_id, "DELIVERED")
    box.deliver()
    drain_all()
    return order


class Wire:
    """Stands between our client and the sandbox: what a test hooks in happens around a call."""

    def __init__(self, box: Sandbox) -> None:
        self.box = box
        self.before: dict[str, Callable[[], object]] = {}
        self.after: dict[str, Callable[[], object]] = {}
        self.answers: dict[str, tuple[str, bytes]] = {}  # said instead of asking the sandbox
        self.has_date = True

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        """Serve one request; a hook is found by the end of "METHOD path"."""
        call = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
        self._hook(self.before, call)
        for end, (status, body) in self.answers.items():
            if call.endswith(end):
                start_response(status, [("Content-Type", "application/json")])
                return [body]

        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            kept = [one for one in headers if self.has_date or one[0].lower() != "date"]
            return start_response(status, kept, *rest)

        body = b"".join(self.box(environ, start))
        self._hook(self.after, call)
        return [body]

    def _hook(self, hooks: dict[str, Callable[[], object]], call: str) -> None:
        for end in [end for end in hooks if call.endswith(end)]:
            hooks.pop(end)()


def lost() -> None:
    """The answer never comes."""
    raise TimeoutError("the answer is lost")


@pytest.fixture
def wire(box: Sandbox) -> Wire:
    """Return the wire to the sandbox, for faults."""
    between = Wire(box)
    transport.MOUNTS[PLATFORM] = WsgiAdapter(between)
    return between


@pytest.fixture
def agent(workspace, home, drain_all, box):
    """Return an agent who is a user of the platform, too."""
    from tests.orders.placing_agent import Agent

    user_list.ask(workspace.pk, now())
    drain_all()
    client = client_of(
        *("properties.view_property", "properties.change_property", "orders.view_order"),
        *("orders.view_placement", "orders.add_placement", "orders.change_placement"),
    )
    PlatformUser.objects.filter(platform_id="101").update(account=User.objects.get())
    box.calls.clear()
    return Agent(client)
