"""The platform without its HTTP interface: the state, its changes, and the callbacks.

One lock guards the state. Callbacks are sent without the lock, so the receiver may call the
platform.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import requests

from sandbox import deadline
from sandbox.faults import newer
from sandbox.faults.rules import Faults, Rule
from sandbox.interface import lifecycle
from sandbox.interface.event_fields import PLATFORMS, VISUAL_TYPES
from sandbox.interface.switches import USUAL, turned
from sandbox.state import callbacks
from sandbox.state.bearer import Access
from sandbox.state.journal import Journal
from sandbox.state.property_update import merge
from sandbox.state.transitions import Change
from sandbox.state.workspace import Workspace
from sandbox.wire import DAY, Document, Refused, bad, parse_timestamp, timestamp, whole_timestamp

CALLS_KEPT = 10_000
AFTER_ALL = "after all that wait"  # used instead of the time at which an event is due
Call = tuple[str, str, Document | None, int]


def _system_clock() -> datetime:
    return datetime.now(UTC)


class Platform:
    """The state of the workspace, and the actions of people on the platform.

    Unknown ids raise `Refused(404)`, and invalid values `Refused(400)`. In both cases the state
    does not change.
    """

    def __init__(
        self,
        token: str | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        now: Callable[[], datetime] | None = None,
        http: requests.Session | None = None,
        workspace: Workspace | None = None,
        switches: Document | None = None,
    ) -> None:
        self.workspace = workspace or Workspace.seeded()
        self.access = Access(token, client_id, client_secret)
        self.http = http or deadline.session()
        self._usual_switches = turned(USUAL, switches or {})
        self.switches = dict(self._usual_switches)
        self.calls: deque[Call] = deque(maxlen=CALLS_KEPT)
        self.journal: Journal | None = None
        # The accepted host names. Any name, if it runs in the caller's own process.
        self.hosts: frozenset[str] = frozenset({"*"})
        self.effects = 0  # number of calls carried out, without calls that a fault refused
        self.lock = threading.RLock()
        self.has_pending = threading.Event()
        self.version = 0  # grows with each change of the state, for the saver
        self._clock = now or _system_clock
        self._clock_offset = timedelta()
        self._sending = threading.RLock()
        self.faults = Faults()

    def now(self) -> datetime:
        """Return the time on the sandbox's clock, in UTC."""
        return self._clock().astimezone(UTC) + self._clock_offset

    def set_clock(self, now: datetime) -> None:
        """Set the clock to `now`. It then continues from there."""
        with self.lock:
            self._clock_offset += now - self.now()

    def reset(self) -> None:
        """Begin again with the seeded workspace and the real time."""
        with self.lock:
            self.workspace = Workspace.seeded()
            self._clock_offset = timedelta()
            self.faults.set({})
            self.switches = dict(self._usual_switches)
            self.calls.clear()
            self.version += 1

    @property
    def pending(self) -> deque[Document]:
        """The events that were not sent yet."""
        return self.workspace.pending

    @property
    def delayed(self) -> int:
        """The number of events that a fault delays."""
        return len(self.workspace.delayed)

    @contextmanager
    def change(self) -> Iterator[Change]:
        """Lock the state for a change, and queue the events that it emits."""
        with self.lock:
            change = Change(self.workspace, self.now())
            yield change
            self.version += 1
            webhook = self.workspace.webhook
            if webhook and webhook["enabled"] and change.events:
                self.workspace.pending.extend(change.events)
                self.has_pending.set()

    def deliver(self) -> int:
        """Send every pending callback now, in order. Return the number of callbacks sent."""
        sent = 0
        with self._sending:
            while (one := self.deliver_next()) is not None:
                sent += one
        return sent

    def deliver_next(self) -> int | None:
        """Send the next callback, or return None. Several threads may do this at the same time.

        Faults are drawn in the order of the events, even if threads overtake each other.
        """
        todo = self._take_pending()
        return self._send(*todo) if todo else None

    def _take_pending(self) -> tuple[Document, Document, Rule | None] | None:
        """Return the webhook, the next event, and the fault that applies to it."""
        with self.lock:
            webhook = self.workspace.webhook
            if not webhook or not webhook["enabled"]:  # §4.1: deliveries stop
                self.pending.clear()
                self.workspace.delayed.clear()
            late = self._take_delayed()
            if webhook is None or (late is None and not self.pending):
                self.has_pending.clear()
                return None
            self.version += 1
            if late is not None:  # no second fault: a rule without an end would delay it for ever
                return dict(webhook), late, None
            event = self.pending.popleft()
            return dict(webhook), event, self.faults.on_event(event)

    def _take_delayed(self) -> Document | None:
        now = timestamp(self.now())  # as texts, they sort by time
        for index, one in enumerate(self.workspace.delayed):
            if not self.pending if one["due"] == AFTER_ALL else one["due"] <= now:
                event: Document = self.workspace.delayed.pop(index)["event"]
                return event
        return None

    def _send(self, webhook: Document, event: Document, fault: Rule | None) -> int:
        """Call the webhook with an event, as the fault changes it. Return the number of calls."""
        if "timestamp" in event:  # the time of the first sending (§6.1 rule 6)
            event = event | {"timestamp": timestamp(self.now())}
        calls = [event]
        match fault.fault if fault else None:
            case "LOST":
                return 0
            case "DROPPED":
                self._remember(callbacks.dropped(event, timestamp(self.now())), webhook)
                return 0
            case "DELAYED" if fault:
                self._hold(event, timestamp(self.now() + timedelta(seconds=fault.seconds)))
                return 0
            case "REORDERED" if self.pending:
                self._hold(event, AFTER_ALL)
                return 0
            case "REPEATED":
                calls = [event, event]
            case "OLD_SECRET":
                webhook["authSecret"] = webhook.get("previousSecret", "an-old-secret")
            case "NEWER_FIELD":
                calls = [event | newer.FIELDS]
            case "NEWER_EVENT":
                calls = [newer.event(event), event]
            case "NEWER_VALUE":
                calls = [newer.with_values(event, newer.VALUE)]
            case "UNKNOWN_VALUE":
                calls = [newer.with_values(event, newer.UNKNOWN)]
        for one in calls:
            record = callbacks.call(self.http, webhook, one, timestamp(self.now()))
            self._remember(record, webhook)
        return len(calls)

    def _hold(self, event: Document, due: str) -> None:
        with self.lock:
            self.workspace.delayed.append({"due": due, "event": event})
            self.version += 1

    def _remember(self, record: Document, called: Document) -> None:
        with self.lock:
            webhook = self.workspace.webhook
            if not webhook or webhook["id"] != called["id"]:  # it was removed with its history
                return
            webhook["lastTriggeredAt"] = timestamp(self.now())  # success or failure (§6.1 rule 4)
            self.workspace.history.append(record)
            del self.workspace.history[: -callbacks.KEPT]
            self.version += 1

    def order(self, order_id: str) -> Document:
        return _found(self.workspace.orders, order_id, "order")

    def assignment(self, assignment_id: str) -> Document:
        return _found(self.workspace.assignments, assignment_id, "assignment")

    def property_(self, property_id: str) -> Document:
        return _found(self.workspace.properties, property_id, "property")

    def property_by_reference(self, reference: str) -> Document:
        found = self.workspace.properties.by_reference(reference)
        if found is None:
            raise Refused(404, f"there is no property with the reference {reference}")
        return found

    def step(self) -> int:
        """Move every assignment of every open order one step. Return the number of moves."""
        with self.change() as change:
            return sum(
                change.advance(assignment)
                for order in list(self.workspace.orders.values())
                if lifecycle.ORDER_MOVES.get(order["status"])
                for assignment in change.open_assignments(order)
            )

    def advance(self, assignment_id: str) -> bool:
        """Move one assignment one step. Return False if it is terminal."""
        with self.change() as change:
            return change.advance(self.assignment(assignment_id))

    def set_status(self, assignment_id: str, status: str) -> None:
        """Set any status of an assignment, with its events."""
        with self.change() as change:
            change.move(self.assignment(assignment_id), status)

    def nudge(self, assignment_id: str) -> None:
        """Send the status of an assignment again (§3.3 rule 3)."""
        with self.change() as change:
            change.nudge(self.assignment(assignment_id))

    def announce(
        self, assignment_id: str, visual_type: str, product: str | None, quantity: int | None
    ) -> None:
        """Announce visuals of one type, by default for the first product; see `Change.announce`."""
        if visual_type not in VISUAL_TYPES:
            raise bad("visualType", f"must be one of {', '.join(VISUAL_TYPES)}")
        assignment = self.assignment(assignment_id)
        product = product or assignment["products"][0]
        if product not in assignment["products"]:
            raise bad("product", "is not one of this assignment")
        with self.change() as change:
            change.announce(assignment, product, visual_type, quantity)

    def select(self, assignment_id: str, quantity: int | None) -> None:
        """Deliver the client's selection of visuals, or raise a 409; see `Change.select`."""
        with self.change() as change:
            if not change.select(self.assignment(assignment_id), quantity):
                raise Refused(409, "there are no more RAW visuals than were ordered")

    def set_appointment(self, assignment_id: str, scheduled_at: str | None) -> None:
        """Set or clear (None) the shooting appointment."""
        if scheduled_at is not None:
            scheduled_at = whole_timestamp(scheduled_at, "scheduledAt")
        with self.change() as change:
            change.set_appointment(self.assignment(assignment_id), scheduled_at)

    def set_estimate(self, assignment_id: str, estimated_delivery_at: str) -> None:
        """Set the estimated delivery date, which has no time."""
        if not DAY.fullmatch(estimated_delivery_at):
            raise bad("estimatedDeliveryAt", "must be a date such as 2026-01-31")
        parse_timestamp(f"{estimated_delivery_at}T00:00", "estimatedDeliveryAt")
        with self.change() as change:
            change.set_estimate(self.assignment(assignment_id), estimated_delivery_at)

    def merged(self, stored: Document, changes: Document, *, by_platform: bool = False) -> Document:
        """Return a property with changes merged in, by the rules of the switches; see `merge`."""
        return merge(
            stored,
            changes,
            refuse_unknown=self.switches["unknownFields"] == "refused",
            shallow=self.switches["merge"] == "shallow",
            by_platform=by_platform,
        )

    def edit_property(self, property_id: str, changes: Document) -> Document:
        """Edit a property like a person on the platform: with the same merge rules and no event.

        They may set read-only fields, and give two properties the same reference (A44).
        """
        with self.lock:
            document = self.merged(self.property_(property_id), changes, by_platform=True)
            document["id"] = property_id
            self.workspace.properties.put(property_id, document, now=self.now())
            if "objectReferenceId" in changes:
                self.workspace.properties.index_again()
            self.version += 1
            return self.workspace.properties[property_id]

    def marketing_ready(self, property_id: str, target_platform: str) -> None:
        """Generate a marketing material for a property."""
        if target_platform not in PLATFORMS:
            raise bad("targetPlatform", f"must be one of {', '.join(PLATFORMS)}")
        with self.change() as change:
            self.property_(property_id)
            change.marketing(property_id, target_platform)


def _found(documents: dict[str, Document], key: str, name: str) -> Document:
    try:
        return documents[key]
    except KeyError:
        raise Refused(404, f"there is no {name} {key}", switch="unknownIds") from None
