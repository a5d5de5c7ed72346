"""Pure: from the cost of each kind of work and the size of an installation to what it needs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

DAY, YEAR = 86_400, 365 * 86_400  # seconds
BUSY = 0.6  # of a core that is planned for: the rest is for peaks and for machines that fail
PROPERTY_READ_EVERY = DAY  # `properties.pull.walk.FULL_READ`
SWEPT_EVERY = DAY  # `properties.recurring.SWEEP_EVERY`
POLLED_EVERY = {"still": 60.0, "moving": 15.0}  # s, `crm_sync.webhook.schedule`
CLEARING = 20.0  # s of each run of retention, `crm_sync.tasks.BUDGET`
RECEIPTS = 5  # events that bring a poll at once, of the same module
MOVES_FOR = 600.0  # s, how long an event counts there
# `orders.reads.read_schedule`: an open order is read once in a part of its age, within bounds.
READ_SOONEST, READ_LATEST, READ_PARTS = 900.0, 6 * 3600.0, 96


@dataclass(frozen=True)
class Work:
    """What one piece of work costs: milliseconds of processor, statements, bytes of WAL."""

    web: float = 0.0
    worker: float = 0.0
    beat: float = 0.0
    postgresql: float = 0.0
    redis: float = 0.0
    statements: float = 0.0
    wal: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(*(a + b for a, b in zip(self.parts(), other.parts(), strict=True)))

    def __mul__(self, count: float) -> "Work":
        return Work(*(count * one for one in self.parts()))

    def parts(self) -> list[float]:
        return [getattr(self, one.name) for one in fields(self)]


@dataclass(frozen=True)
class Costs:
    """The measured costs.

    Attributes:
        work: name → its cost; "idle" is that of a second of an installation that has nothing to do.
        size: kind of row → bytes with its indexes; "message" is one in Redis.
        memory: process → MiB.
        cleared: old events that retention clears in a second while it runs.
    """

    work: Mapping[str, Work]
    size: Mapping[str, float]
    memory: Mapping[str, float]
    cleared: float

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Costs":
        """Return the costs of a document like costs.json.

        Raises:
            KeyError, TypeError: a cost is missing, or unknown.
        """
        work = {name: Work(**cost) for name, cost in document["work"].items()}
        return cls(work, document["bytes"], document["memory"], document["cleared"])


@dataclass(frozen=True)
class Sizes:
    """An installation, as large as it is to become.

    Attributes:
        events: received in a second, in all workspaces together, day and night.
        edits: of each property in a year.
        pages: opened in a second, by all people.
        events_of_order, order_days: of an order until it ends.
        call_ms: until the platform answers.
        keep_days: of the payload of an event (KEEP_DAYS).
        calls_at_once: of a workspace (*Requests under way at most*).
        order_reads: of a workspace in a minute (ORDER_READS_A_MINUTE).
        connections: that PostgreSQL allows (max_connections).
        clear_every: seconds from one run of retention to the next, a schedule in the admin.
        cores, memory: of the machine of PostgreSQL, and its GiB.
    """

    workspaces: int = 10_000
    properties: int = 10_000_000
    events: float = 1_000.0
    edits: float = 20.0
    pages: float = 20.0
    events_of_order: float = 10.0
    order_days: float = 7.0
    call_ms: float = 100.0
    keep_days: float = 90.0
    calls_at_once: int = 8
    order_reads: float = 120.0
    connections: int = 100
    clear_every: float = 3600.0
    cores: int = 32
    memory: float = 128.0


@dataclass(frozen=True)
class Limit:
    """Something that has an end: how much of it is needed, and how much there is."""

    name: str
    needed: float
    there: float
    unit: str

    @property
    def share(self) -> float:
        """How much of it is used up; above 1 it is not enough."""
        return self.needed / self.there


@dataclass(frozen=True)
class Need:
    """What an installation needs, all rates in a second.

    Attributes:
        rates: kind of work → how often.
        processes: kind → how many.
        disk: what → bytes; "events a day" and "edits a year" are what is added.
        partitions: table → days until it is larger than the memory of PostgreSQL.
        limits: the scarcest first.
    """

    sizes: Sizes
    rates: Mapping[str, float]
    processes: Mapping[str, int]
    work: Work
    connections: int
    cores: float
    calls_under_way: float
    messages: float
    redis_bytes: float
    disk: Mapping[str, float]
    partitions: Mapping[str, float]
    limits: list[Limit]


def reckon(sizes: Sizes, costs: Costs, queues: int = 17) -> Need:
    """Return what an installation needs.

    Args:
        queues: of each workspace; at most one message waits for each.
    """
    rates = rates_of(sizes)
    work, turns = _work(sizes, costs, rates)
    calls = _calls(rates)
    under_way = calls * sizes.call_ms / 1000
    callbacks = costs.work["callback"].web * rates["callback"]
    processes = {
        "callbacks": _processes(callbacks),
        "web": _processes(work.web - callbacks),
        # A worker has 256 threads.
        "worker": max(_processes(work.worker), math.ceil(under_way / 256)),
        "beat": 1,
    }
    # A web process has eight threads, and a worker shares 20 connections (`crm_sync.permits`).
    threads = 8 * (processes["callbacks"] + processes["web"])
    connections = threads + 20 * processes["worker"] + 3 * processes["beat"]
    disk = disk_of(sizes, costs)
    need = Need(
        sizes=sizes,
        rates=rates,
        processes=processes,
        work=work,
        connections=connections,
        cores=work.postgresql / 1000 / BUSY,
        calls_under_way=under_way,
        messages=turns + 1,  # a turn has one message, and so has a tick
        redis_bytes=sizes.workspaces * queues * costs.size["message"],
        disk=disk,
        partitions=partitions(sizes, disk),
        limits=[],
    )
    found = sorted(_limits(need, costs, calls), key=lambda one: -one.share)
    need.limits.extend(found)
    return need


def rates_of(sizes: Sizes) -> dict[str, float]:
    """Return how often each kind of work is done in a second."""
    each = sizes.events / sizes.workspaces
    moves = 1 - math.exp(-each * MOVES_FOR)
    still, moving = 1 / POLLED_EVERY["still"], 1 / POLLED_EVERY["moving"]
    a_poll = max(still + moves * (moving - still), each / RECEIPTS)
    orders = sizes.events / sizes.events_of_order
    most = sizes.workspaces * sizes.order_reads / 60
    return {
        "callback": sizes.events,
        "event": sizes.events,
        "push": sizes.properties * sizes.edits / YEAR,
        "read": sizes.properties / PROPERTY_READ_EVERY,
        "order read": min(orders * reads_of_order(sizes.order_days), most),
        "poll": sizes.workspaces * a_poll,
        "swept": sizes.properties / SWEPT_EVERY,
        "page": sizes.pages,
    }


def reads_of_order(days: float) -> float:
    """Return how often an order is read while it is open."""
    seconds = days * DAY
    young, old = READ_SOONEST * READ_PARTS, READ_LATEST * READ_PARTS
    reads = min(seconds, young) / READ_SOONEST
    if seconds > young:
        reads += READ_PARTS * math.log(min(seconds, old) / young)
    return reads + max(0.0, seconds - old) / READ_LATEST


def _calls(rates: Mapping[str, float]) -> float:
    """Return the calls to the platform in a second: a push and a poll make two."""
    return 2 * rates["push"] + rates["read"] + rates["order read"] + 2 * rates["poll"]


def _work(sizes: Sizes, costs: Costs, rates: Mapping[str, float]) -> tuple[Work, float]:
    """Return the work of a second, and its turns.

    Work that comes rarely has a turn of its own. What comes while a turn is under way is done by
    it, and costs only its row.
    """
    work = costs.work["idle"] + costs.work["tick of a workspace"] * sizes.workspaces
    for name in ("callback", "page", "swept"):
        work += costs.work[name] * rates[name]
    turns = 0.0
    for name in ("event", "push", "read", "order read", "poll"):
        of = "read" if name == "order read" else name
        alone = costs.work[of]
        more = costs.work.get(f"{of} of many", alone)
        took = (alone.worker + alone.postgresql) / 1000
        each = rates[name] / sizes.workspaces
        own = sizes.workspaces * each / (1 + each * took)
        work += alone * own + more * (rates[name] - own)
        turns += own
    return work, turns


def disk_of(sizes: Sizes, costs: Costs) -> dict[str, float]:
    """Return the bytes of each kind of row, and what a day or a year adds."""
    size, a_day = costs.size, sizes.events * DAY
    return {
        "properties": sizes.properties * size["property"],
        "edits a year": sizes.properties * sizes.edits * size["edit"],
        "events with their payload": a_day * sizes.keep_days * size["event"],
        "events a day": a_day * size["event"],
        "events without payload, a day": a_day * size["cleared event"],
        "orders a year": sizes.events * YEAR / sizes.events_of_order * size["order"],
        "workspaces": sizes.workspaces * size["workspace"],
    }


def partitions(sizes: Sizes, disk: Mapping[str, float]) -> dict[str, float]:
    """Return after how many days a table is larger than the memory of PostgreSQL.

    Below that, all of it can be read from memory, and a partition saves nothing.
    """
    there = sizes.memory * 2**30
    return {
        "received events": there / disk["events a day"] if sizes.events else math.inf,
        "history": 365 * there / disk["edits a year"] if sizes.edits else math.inf,
    }


def _processes(milliseconds: float) -> int:
    """Return how many processes do work of so many milliseconds in a second; at least one."""
    return max(1, math.ceil(milliseconds / 1000 / BUSY))


def _limits(need: Need, costs: Costs, calls: float) -> list[Limit]:
    """Return all that has an end."""
    sizes, rates = need.sizes, need.rates
    each = sizes.events / sizes.workspaces
    orders = sizes.events / sizes.events_of_order
    wanted = orders * reads_of_order(sizes.order_days) / sizes.workspaces
    many = costs.work["event of many"]
    tick = costs.work["tick of a workspace"]
    ticking = sizes.workspaces * (tick.worker + tick.postgresql)
    cleared = costs.cleared * CLEARING / sizes.clear_every
    at_once = sizes.calls_at_once * 1000 / sizes.call_ms
    return [
        Limit("reads of orders in a workspace", 60 * wanted, sizes.order_reads, "a minute"),
        Limit("calls of a workspace", calls / sizes.workspaces, at_once, "a second"),
        Limit("events of a workspace", each, 1000 / (many.worker + many.postgresql), "a second"),
        Limit("a tick", ticking, 1000, "ms of a second"),
        Limit("connections of PostgreSQL", need.connections, sizes.connections, "connections"),
        Limit("processor of PostgreSQL", need.cores, sizes.cores, "cores"),
        Limit("processor of Redis", need.work.redis, 1000 * BUSY, "ms of a second"),
        Limit("clearing of old events", rates["event"], cleared, "a second"),
    ]
