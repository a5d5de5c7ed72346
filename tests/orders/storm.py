"""Orders that live for hours on the platform while the world fails: a world on a virtual clock.

The platform is the sandbox, everything of ours is real: view, inbox, handlers, look at the history,
client. Nothing happens but at a moment of the virtual clock, and chance comes from one seed.
"""

import hashlib
import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import requests
import time_machine
from django.db.models import Count, Min, Sum
from requests.adapters import BaseAdapter

from crm_sync import hooks
from crm_sync.models import Gap, ReceivedEvent, WebhookMonitor, Workspace
from crm_sync.webhook.history import KEPT
from crm_sync.work import turn
from orders.mirror.refresh import read_all_open
from orders.models import Assignment, MaterialSet, Order
from sandbox.api.orders import shown_order
from sandbox.app import Sandbox
from sandbox.interface import lifecycle
from sandbox.interface.catalogue import PRODUCTS
from sandbox.wire import encode, parse_timestamp
from tests.conftest import OURS, PLATFORM
from tests.platforms import Between, Canned, Environ

START = datetime(2027, 1, 4, 8, tzinfo=UTC)
TICK = timedelta(seconds=5)  # of the worker that finds what no doorbell rang for
RING = timedelta(seconds=0.2)  # from a callback to the worker
SETTLED = timedelta(minutes=5)  # after the last event: what is late has come, what failed came back
LATE = (5, 30, 90, 180)  # seconds that a callback may come late

# Nobody edits a property here, so the tick asks these alone.
QUEUES = {
    "webhooks": WebhookMonitor,
    "received_events": ReceivedEvent,
    "orders": Order,
    "assignments": Assignment,
    "materials": MaterialSet,
}


@dataclass(frozen=True)
class Weather:
    """What the world does to us.

    Attributes:
        dropped, repeated, late, stale, errors, slow: shares of callbacks and of reads.
        outages: from when to when every callback fails.
        ahead: how far our clock is ahead of the platform's, after the start.
    """

    dropped: float = 0.2
    repeated: float = 0.2
    late: float = 0.2
    stale: float = 0.05
    errors: float = 0.03
    slow: float = 0.05
    outages: tuple[tuple[timedelta, timedelta], ...] = ()
    ahead: Callable[[timedelta], timedelta] = lambda _: timedelta()


BLACKOUT = ((timedelta(), timedelta(days=1)),)


def outages(seed: int, hours: float, count: int = 6) -> tuple[tuple[timedelta, timedelta], ...]:
    """Some outages of 1 to 15 minutes in four hours, shorter ones in less."""
    rng = random.Random(f"outages {seed}")
    begins = [timedelta(hours=rng.random() * hours) for _ in range(count)]
    return tuple((one, one + timedelta(minutes=rng.uniform(1, 15) * hours / 4)) for one in begins)


@dataclass(frozen=True)
class Outcome:
    """What a seed came to.

    Attributes:
        told: how many orders there was an event about.
        at_rest: orders that nothing had happened to for a while, at each of some moments.
        wrong_at_rest: those of them that we had otherwise: moment, order, ours and theirs.
        wrong: the same after the last pass over all open orders.
        undiscovered: orders with an event of which we know nothing.
        overflows: looks at the history that found nothing of the look before.
        gaps: how many of those a person was told.
        trace: a digest of all that was done (I30).
        truth: how the orders stand on the platform.
    """

    told: int
    at_rest: int
    wrong_at_rest: list[tuple[str, str, list[Any]]]
    wrong: dict[str, list[Any]]
    undiscovered: set[str]
    overflows: int
    gaps: int
    trace: str
    truth: dict[str, list[Any]]


class Line(BaseAdapter):
    """The way of a callback from the platform to us."""

    def __init__(self, inner: BaseAdapter, is_lost: Callable[[], bool]) -> None:
        super().__init__()
        self.inner = inner.inner if isinstance(inner, Line) else inner
        self.is_lost = is_lost
        self.attempts = self.stored = 0

    def send(self, request: Any, **kwargs: Any) -> requests.Response:  # type: ignore[override]
        self.attempts += 1
        if self.is_lost():
            raise requests.ConnectionError("the callback is lost", request=request)
        response = self.inner.send(request, **kwargs)
        assert response.status_code == 200, response.content
        self.stored += 1
        return response

    def close(self) -> None:
        """Nothing is open."""


class Storm:
    """One seed of it."""

    def __init__(
        self, box: Sandbox, workspace: Workspace, clock: Any, seed: int, weather: Weather
    ) -> None:
        self.box, self.workspace, self.clock, self.weather = box, workspace, clock, weather
        self.seed, self.at = seed, START
        self.rng = random.Random(f"weather {seed}")
        random.seed(seed)  # what the product draws: waits before another try
        self.trace = hashlib.sha256()
        self.line = Line(box.http.get_adapter(OURS), self._is_lost)
        box.http.mount(OURS, self.line)
        box.faults.set({"seed": seed, "rules": list(self._rules())})
        between = Between(box, PLATFORM)
        between.before, between.after = self._before, self._after
        self.overflows = self._seen = 0
        self.told: set[str] = set()  # orders about which there was an event
        self._todo: list[tuple[datetime, int, Callable[[], None]]] = []
        self._number = itertools.count()
        self.at_rest = 0
        self.wrong_at_rest: list[tuple[str, str, list[Any]]] = []
        self._past: dict[str, list[tuple[datetime, bytes]]] = {}
        self._placed: dict[int, str] = {}
        self._late: set[str] = set()
        self._ticked = START
        self._is_ringing = False
        self._set_clock()

    # --- what happens on the platform

    def blow(self, orders: int, hours: float) -> Outcome:
        """Let so many orders live for so long, then read all that are open once more."""
        self._live(orders, hours)
        read_all_open(self.workspace.pk, datetime.now(UTC))
        self.run(self.at - START + timedelta(minutes=3))
        gaps = Gap.objects.filter(why=Gap.Why.OVERFLOW).count()
        self._note(sorted(_mirror().items()), gaps, self.line.stored)
        return Outcome(
            told=len(self.told),
            at_rest=self.at_rest,
            wrong_at_rest=self.wrong_at_rest,
            wrong=self.wrong(),
            undiscovered=self.told - set(_mirror()),
            overflows=self.overflows,
            gaps=gaps,
            trace=self.trace.hexdigest(),
            truth=self._truth(),
        )

    def _live(self, orders: int, hours: float) -> None:
        for number in range(orders):
            rng = random.Random(f"order {self.seed} {number}")
            placed = rng.uniform(0, hours * 2400)
            self._plan(placed, partial(self._place, number, rng))
            moment = placed
            for _ in range(14):
                moment += (
                    rng.uniform(0.5, 4) if rng.random() < 0.25 else rng.uniform(20, 225 * hours)
                )
                if moment < hours * 3600:
                    self._plan(moment, partial(self._step, number, rng))
        for minute in range(1, int(hours * 60) + 8):
            self._plan(60 * minute, self._tick)
            self._plan(60 * minute, self._look)
        self.run(timedelta(hours=hours) + SETTLED)

    def _place(self, number: int, rng: random.Random) -> None:
        products = rng.sample(PRODUCTS, rng.choice((1, 1, 2)))
        session = {"userId": "101", "realEstatePropertyId": "201", "objectReferenceId": "SEED-1"}
        with self.box.change() as change:
            order = change.place(session, [(one, 1) for one in products])
        self._placed[number] = order["id"]

    def _step(self, number: int, rng: random.Random) -> None:
        order = self.box.workspace.orders[self._placed[number]]
        with self.box.change() as change:
            is_open = change.open_assignments(order)
            draw, one = rng.random(), rng.choice(is_open) if is_open else None
            if one is None or not lifecycle.ORDER_MOVES.get(order["status"]):
                return
            if draw < 0.02:
                change.cancel(order)
            elif draw < 0.15 and one["status"] in lifecycle.CAN_BE_RESCHEDULED:
                change.reschedule(one, None)
            elif draw < 0.25:
                change.nudge(one)
            elif draw < 0.33 and "scheduledAt" in one:
                day = parse_timestamp(one["scheduledAt"], "") + timedelta(days=rng.choice((-1, 1)))
                change.set_appointment(one, day.isoformat().replace("+00:00", "Z"))
            elif draw < 0.37 and "estimatedDeliveryAt" in one:
                change.set_estimate(one, f"2027-02-{rng.randint(10, 28)}")
            else:
                change.advance(one)
            self.told |= {event["orderId"] for event in change.events if "orderId" in event}
        self._remember(order["id"])

    def _remember(self, order_id: str) -> None:
        """Keep how the order reads from now on, for answers of an earlier moment."""
        body = encode(shown_order(self.box, self.box.order(order_id)))
        self._past.setdefault(order_id, []).append((self.at, body))

    # --- time

    def run(self, until: timedelta) -> None:
        """Let time pass until so long after the start, and the worker do what becomes due."""
        end = START + until
        while (moment := self._next()) is not None and moment <= end:
            self._move(moment)
            if self._todo and self._todo[0][0] <= moment:
                heapq.heappop(self._todo)[2]()
                self._deliver()
            else:
                self._ticked = moment
                self._work()
            self.check_conservation()
        self._move(max(end, self.at))

    def _next(self) -> datetime | None:
        """When something happens again: on the platform, or at a tick of the worker."""
        moments = [self._todo[0][0]] if self._todo else []
        if first := min(self._dues().values(), default=None):
            ticks = max(1, -((START - (first - self._ahead())) // TICK))
            after = (self._ticked - START) // TICK + 1
            moments.append(max(START + max(ticks, after) * TICK, self.at))
        return min(moments, default=None)

    def _dues(self) -> dict[str, datetime]:
        """When the first row of each queue is due, by our clock."""
        firsts = {
            name: model.objects.aggregate(first=Min("due_at"))["first"]
            for name, model in QUEUES.items()
        }
        return {name: first for name, first in firsts.items() if first is not None}

    def _move(self, moment: datetime) -> None:
        self.at = max(moment, self.at)
        self._set_clock()

    def _ahead(self) -> timedelta:
        return self.weather.ahead(self.at - START)

    def _set_clock(self) -> None:
        self.clock.move_to(self.at + self._ahead(), tick=False)
        self.box.set_clock(self.at)

    def _plan(self, seconds: float, action: Callable[[], None]) -> None:
        moment = START + timedelta(seconds=int(seconds) + 0.5)  # never the second of a `Date`
        self._push(moment, action)

    def _push(self, moment: datetime, action: Callable[[], None]) -> None:
        heapq.heappush(self._todo, (moment, next(self._number), action))

    # --- ours

    def _deliver(self) -> None:
        """Send the callbacks that are ready; the doorbell rings, mostly."""
        before = self.line.stored
        self.box.deliver()
        for one in self.box.workspace.delayed:
            if one["due"] not in self._late:
                self._late.add(one["due"])
                self._push(parse_timestamp(one["due"], ""), lambda: None)
        if self.line.stored > before and not self._is_ringing and self.rng.random() < 0.9:
            self._is_ringing = True
            self._push(self.at + RING, self._ring)

    def _ring(self) -> None:
        self._is_ringing = False
        self._work("received_events")
        self._work("orders")

    def _work(self, *only: str) -> None:
        for name, first in self._dues().items():
            if first <= datetime.now(UTC) and (not only or name in only):
                for workspace_id in hooks.queue(name).workspaces(datetime.now(UTC)):
                    self._drain(name, workspace_id)

    def _tick(self) -> None:
        """What the tick does each time: between two of these only what is known to be due."""
        for name, workspace_id in turn.waiting(datetime.now(UTC)):
            self._drain(name, workspace_id)

    def _drain(self, name: str, workspace_id: int) -> None:
        tally = turn.take(hooks.queue(name), workspace_id, seconds=20.0)
        self._note(name, sorted(tally.counts.items()))

    def _note(self, *words: Any) -> None:
        self.trace.update(repr((self.at, *words)).encode())

    def check_conservation(self) -> None:
        """Every delivery is in one known state, and every 200 is accounted for (I31)."""
        rows = ReceivedEvent.objects.values("state", "source").annotate(
            n=Count("pk"), r=Sum("repeats")
        )
        states: Counter[str] = Counter()
        received = 0
        for row in rows:
            states[row["state"]] += row["n"]
            is_callback = row["source"] == ReceivedEvent.Source.CALLBACK
            received += row["r"] + (row["n"] if is_callback else 0)
        assert set(states) <= set(ReceivedEvent.State.values)
        assert received == self.line.stored, (received, self.line.stored)

    # --- faults

    def _rules(self) -> Iterator[dict[str, Any]]:
        left = 1.0
        shares = [("REPEATED", 0, self.weather.repeated)]
        shares += [("DELAYED", one, self.weather.late / len(LATE)) for one in LATE]
        for fault, seconds, share in shares:
            yield {"fault": fault, "seconds": seconds, "chance": share / left}
            left -= share

    def _is_lost(self) -> bool:
        since = self.at - START
        is_out = any(begin <= since < end for begin, end in self.weather.outages)
        return is_out or self.rng.random() < self.weather.dropped

    def _before(self, environ: Environ) -> Canned | None:
        if environ["REQUEST_METHOD"] != "GET":
            return None
        path = environ["PATH_INFO"]
        if self.rng.random() < self.weather.errors:
            self._note("error", path)
            match self.rng.randrange(3):
                case 0:
                    raise ConnectionResetError
                case 1:
                    return "503 Service Unavailable", [], b"{}"
            return "500 Internal Server Error", [], b"{}"
        if path.endswith("/triggers"):
            self.overflows += self.line.attempts - self._seen >= KEPT
            self._seen = self.line.attempts
        past = self._past.get(path.rpartition("/")[2])
        if past and self.rng.random() < self.weather.stale:
            moment = self.at - timedelta(seconds=self.rng.uniform(0.5, 8))
            earlier = [body for at, body in past if at <= moment]
            if earlier:
                self._note("stale", path)
                headers = [("Date", self.box.date()), ("Content-Type", "application/json")]
                return "200 OK", headers, earlier[-1]
        return None

    def _after(self, environ: Environ) -> None:
        """Let the answer take its time: events come and are applied before it is here (I23)."""
        if "/v1/orders/" in environ["PATH_INFO"] and self.rng.random() < self.weather.slow:
            end = self.at + timedelta(seconds=1.5)
            while self._todo and self._todo[0][0] <= end:
                moment, _, action = heapq.heappop(self._todo)
                self._move(moment)
                action()
                self._deliver()
            self._move(end)
            self._work("received_events")

    # --- the verdict

    def _look(self) -> None:
        """Compare the orders that nothing has happened to for a while."""
        wrong = self.wrong()
        for key, past in self._past.items():
            if past[-1][0] <= self.at - SETTLED:
                self.at_rest += 1
                if key in wrong:
                    self.wrong_at_rest.append((f"{self.at:%H:%M:%S}", key, wrong[key]))

    def wrong(self) -> dict[str, list[Any]]:
        """Orders that we know and that are otherwise on the platform, with both sides."""
        mirror = _mirror()
        return {
            order_id: [mirror[order_id], truth]
            for order_id, truth in self._truth().items()
            if order_id in mirror and mirror[order_id] != truth
        }

    def _truth(self) -> dict[str, list[Any]]:
        there = self.box.workspace
        return {
            key: [
                order["status"],
                sorted(_facts(there.assignments[one]) for one in order["assignments"]),
            ]
            for key, order in there.orders.items()
            if key in self.told
        }


def _facts(one: dict[str, Any]) -> tuple[str, ...]:
    at = one.get("scheduledAt")
    moment = parse_timestamp(at, "").isoformat() if at else ""
    return one["id"], one["status"], moment, one.get("estimatedDeliveryAt", "")


def _mirror() -> dict[str, list[Any]]:
    orders: dict[str, list[Any]] = {
        key: [status, []] for key, status in Order.objects.values_list("platform_id", "status")
    }
    for row in Assignment.objects.select_related("order"):
        moment = row.scheduled_at.astimezone(UTC).isoformat() if row.scheduled_at else ""
        estimate = row.estimated_delivery_date
        facts = (row.platform_id, row.status, moment, estimate.isoformat() if estimate else "")
        orders[row.order.platform_id][1].append(facts)
    return {key: [status, sorted(facts)] for key, (status, facts) in orders.items()}


@contextmanager
def virtual_clock() -> Iterator[Any]:
    with time_machine.travel(START, tick=False) as clock:
        yield clock
