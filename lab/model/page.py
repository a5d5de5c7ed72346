"""The figures of the model in words, as lines for a terminal and as tables of docs/sizing.md."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from lab.model.growth import Costs, Limit, Need, Sizes, Work, reckon

PAGE = Path(__file__).parents[2] / "docs" / "sizing.md"
COSTS = Path(__file__).parent / "costs.json"
COMMAND = "python -m lab.model"
# The sizes that the page reckons, by the arguments of the command beside each.
SHOWN: tuple[dict[str, float], ...] = (
    {"workspaces": 100, "properties": 100_000, "events": 1},
    {"workspaces": 1_000, "properties": 1_000_000, "events": 10},
    {"workspaces": 10_000, "properties": 10_000_000, "events": 100},
    {},
)
Row = tuple[str, str]
WORK = {
    "idle": "a second in which nothing is due",
    "tick of a workspace": "a second of one workspace more",
    "callback": "a callback stored",
    "event": "an event applied, in a turn of its own",
    "event of many": "one of many events of a workspace",
    "push": "a property pushed, in a turn of its own",
    "push of many": "one of five of a workspace",
    "read": "a property read, in a turn of its own",
    "read of many": "one of five of a workspace",
    "poll": "a webhook polled",
    "swept": "a property swept",
    "page": "a page of properties",
}


def rows(need: Need) -> Iterator[Row]:
    """Yield what an installation needs: what, and how much of it."""
    rates, disk = need.rates, need.disk
    first, *others = need.limits
    yield "the first limit", _limit(first)
    close = [_limit(one) for one in others if one.share > 0.5]
    yield "others that are used by more than half", "; ".join(close) or "none"
    calls = 2 * rates["push"] + rates["read"] + rates["order read"] + 2 * rates["poll"]
    yield (
        "calls to the platform",
        f"{_count(calls)} a second, {_count(need.calls_under_way)} under way: orders are read"
        f" {_count(rates['order read'])} times, webhooks polled {_count(rates['poll'])},"
        f" properties pushed {_count(rates['push'])} and read {_count(rates['read'])}",
    )
    yield "processes", ", ".join(f"{count:,} {name}" for name, count in need.processes.items())
    yield (
        "PostgreSQL",
        f"{need.cores:,.1f} cores, {_count(need.work.statements)} statements a second,"
        f" {_bytes(need.work.wal)} of WAL a second, {need.connections:,} connections",
    )
    yield (
        "Redis",
        f"{_count(need.messages)} messages a second, {need.work.redis / 10:,.1f} % of a core,"
        f" {_bytes(need.redis_bytes)} if one waits for each queue",
    )
    yield (
        "disk",
        f"properties {_bytes(disk['properties'])}, their edits {_bytes(disk['edits a year'])} a"
        f" year, orders {_bytes(disk['orders a year'])} a year, events"
        f" {_bytes(disk['events with their payload'])} with their payload and"
        f" {_bytes(disk['events without payload, a day'])} a day after that",
    )
    yield (
        "partitions begin to pay",
        "; ".join(f"{name}: after {_days(days)}" for name, days in need.partitions.items()),
    )


def lines(need: Need) -> Iterator[str]:
    """Yield the rows for a terminal."""
    for what, value in rows(need):
        yield f"{what:<40} {value}"


def document(need: Need) -> dict[str, Any]:
    """Return everything as JSON has it."""
    return {
        "sizes": {one.name: getattr(need.sizes, one.name) for one in fields(Sizes)},
        "rates": dict(need.rates),
        "processes": dict(need.processes),
        "work": {one.name: getattr(need.work, one.name) for one in fields(Work)},
        "connections": need.connections,
        "cores": need.cores,
        "calls under way": need.calls_under_way,
        "messages": need.messages,
        "redis bytes": need.redis_bytes,
        "disk": dict(need.disk),
        "partitions": dict(need.partitions),
        "limits": [
            {"name": one.name, "needed": one.needed, "there": one.there, "unit": one.unit}
            for one in need.limits
        ],
    }


def with_figures(text: str, measured: Mapping[str, Any]) -> str:
    """Return the page with its generated parts anew.

    Args:
        measured: costs.json.
    """
    costs = Costs.of(measured)
    text = _with_part(text, "costs", _costs(measured))
    return _with_part(text, "needs", "\n".join(_need(given, costs) for given in SHOWN))


def _with_part(text: str, name: str, part: str) -> str:
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    old = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not old.search(text):
        raise ValueError(f"the page has no part {name}")
    return old.sub(lambda _: f"{begin}\n{part}\n{end}", text)


def _costs(measured: Mapping[str, Any]) -> str:
    head = "| what | web | worker | PostgreSQL | Redis | statements | WAL |\n"
    head += "|---|---|---|---|---|---|---|\n"
    table = "".join(
        f"| {words} | {_ms(one, 'web')} | {_ms(one, 'worker')} | {_ms(one, 'postgresql')} |"
        f" {_ms(one, 'redis')} | {one.get('statements', 0):,.3g} |"
        f" {one.get('wal', 0):,.0f} bytes |\n"
        for name, words in WORK.items()
        for one in [measured["work"][name]]
    )
    size = ", ".join(f"{name} {count:,}" for name, count in measured["bytes"].items())
    memory = ", ".join(f"{name} {count:,} MiB" for name, count in measured["memory"].items())
    return (
        f"`{COMMAND} measure`, {measured['measured']}. Milliseconds of processor:\n\n"
        f"{head}{table}\n"
        f"Bytes of a row with its indexes, and of a message: {size}.\n\n"
        f"Memory of a process at most: {memory}. Retention clears {measured['cleared']:,} old"
        " events in a second while it runs.\n"
    )


def _ms(work: Mapping[str, float], part: str) -> str:
    return f"{work[part]:,.3g}" if work.get(part) else ""


def _need(given: Mapping[str, Any], costs: Costs) -> str:
    need = reckon(Sizes(**given), costs)
    options = "".join(f" --{name} {value}" for name, value in given.items())
    sizes = need.sizes
    title = f"### {sizes.workspaces:,} workspaces, {sizes.properties:,} properties, "
    title += f"{_events(sizes.events)}"
    table = "".join(f"| {what} | {value} |\n" for what, value in rows(need))
    return f"{title}\n\n`{COMMAND}{options}`\n\n| what | reckoned |\n|---|---|\n{table}"


def _events(count: float) -> str:
    return f"{count:,.0f} {'event' if count == 1 else 'events'} a second"


def _limit(one: Limit) -> str:
    used = f"{one.share:,.1f} times" if one.share >= 2 else f"{100 * one.share:,.0f} % of"
    return f"{one.name}: {_count(one.needed)} {one.unit}, {used} what there is"


def _count(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:,.2g}"


def _bytes(value: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1_000:
            return f"{value:,.0f} {unit}"
        value /= 1_000
    return f"{value:,.1f} TB"


def _days(days: float) -> str:
    return f"{days:,.0f} days" if days < 2 * 365 else f"{days / 365:,.0f} years"
