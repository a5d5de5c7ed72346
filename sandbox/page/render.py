"""A page that shows the state of the sandbox, with buttons for the actions of people.

The buttons are forms, so the page works without a script. The script only refreshes it. The page
may show anything that was sent to the sandbox, so every value goes through `escape`.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

from sandbox.interface import lifecycle
from sandbox.interface.event_fields import VISUAL_TYPES
from sandbox.interface.switches import PLATFORMS, SWITCHES
from sandbox.state.platform import Call, Platform
from sandbox.wire import Document

LATEST = 50  # orders
CALLS = 12
STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
SCRIPT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")

COLOURS = {
    "good": ("COMPLETED", "DELIVERED"),
    "bad": ("CANCELLED",),
    "warn": ("ACTION_REQUIRED", "RESCHEDULE_IN_PROCESS"),
    "busy": ("IN_PROGRESS", "PHOTOGRAPHER_ASSIGNED", "SCHEDULED", "IN_PRODUCTION", "IN_PROCESS"),
}
COLOUR_OF = {status: colour for colour, group in COLOURS.items() for status in group}

_FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sandbox</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<style>{style}</style></head>
<body><div class="bar"><div>
<div class="name"><h1>Sandbox</h1><p>A stand-in for the platform. Nothing here is real.</p></div>
<p id="now">{now}</p>
<div class="row">{steps}</div>
</div></div>
<main>{main}</main>
<script>{script}</script></body></html>
"""


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


# The page may run and load only the style and script of this module.
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_digest(STYLE)}';"
    f" script-src 'sha256-{_digest(SCRIPT)}'; img-src data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def render(platform: Platform, refused: str = "") -> bytes:
    """Return the page: the latest orders with their assignments, the callbacks, the calls."""
    workspace = platform.workspace
    orders = list(workspace.orders.values())[-LATEST:][::-1]
    main = (
        f'<p class="refused bad" role="alert">{escape(refused)}</p>' if refused else "",
        _facts(platform),
        f"<h2>Orders{_latest(len(orders), len(workspace.orders))}</h2>",
        "".join(_order(platform, order) for order in orders)
        or _empty("No orders yet. Place one by POST /v1/orders."),
        '<div class="two"><section>',
        f"<h2>Callbacks <small>{_waiting(platform)}</small></h2>",
        _callbacks(workspace.history[::-1]),
        "</section><section><h2>Last calls</h2>",
        _calls(list(islice(reversed(platform.calls), CALLS))),
        "</section></div>",
        "<h2>What the interface leaves open</h2>",
        _switches(platform),
    )
    page = _FRAME.format(
        style=STYLE,
        script=SCRIPT,
        now=escape(f"{platform.now():%d %b %Y, %H:%M} UTC"),
        steps=_button("step", "Move every order one step", main=True) + _button("reset", "Reset"),
        main="\n".join(main),
    )
    return page.encode("utf-8", "replace")


def _latest(shown: int, known: int) -> str:
    return f" <small>the latest {shown} of {known}</small>" if shown < known else ""


def _waiting(platform: Platform) -> str:
    held = f", {platform.delayed} delayed by a fault" if platform.delayed else ""
    return f"{len(platform.pending)} waiting{held}"


def _facts(platform: Platform) -> str:
    workspace, webhook = platform.workspace, platform.workspace.webhook
    counts = {
        "Properties": workspace.properties,
        "Users": workspace.users,
        "Orders": workspace.orders,
    }
    facts = [f"<span>{name} <b>{len(rows)}</b></span>" for name, rows in counts.items()]
    if webhook:
        state = _pill("enabled", "good") if webhook["enabled"] else _pill("disabled", "warn")
        address = escape(f"{webhook['method']} {webhook['url']}")
        facts.append(f"<span>Webhook {address} {state} {escape(webhook['authType'])}</span>")
    else:
        facts.append("<span>No webhook is configured</span>")
    rules = [rule.fault for rule in platform.faults.rules if rule.times != 0]
    if rules:
        pills = " ".join(_pill(one, "warn") for one in rules)
        facts.append(f"<span>Faults {pills}</span>{_button('faults', 'End all faults')}")
    return f'<div class="facts">{"".join(facts)}</div>'


def _switches(platform: Platform) -> str:
    """Return a form for each switch, and one form that sets all of them."""
    every = _choice("platform", PLATFORMS, name="platform", label="All, for a platform that is")
    rows = []
    for one in SWITCHES.values():
        now = platform.switches[one.name]
        choice = _choice(one.name, one.positions, name=one.name, label=one.name, now=now)
        rows.append((_button("switches", "Set", choice), one.rule, escape(one.decides)))
    table = _table(("Switch", "Rule", "Decides"), rows, "")
    return (
        "<details><summary>Switches</summary>"
        f'<div class="more">{_button("switches", "Set", every)}</div>{table}</details>'
    )


def _pill(text: str, colour: str = "") -> str:
    return f'<span class="pill {colour or COLOUR_OF.get(text, "")}">{escape(text)}</span>'


def _button(path: str, label: str, fields: str = "", *, main: bool = False) -> str:
    kind = ' class="main"' if main else ""
    return (
        f'<form method="post" action="/_sandbox/{escape(path)}?from=page">{fields}'
        f"<button{kind}>{escape(label)}</button></form>"
    )


def _order(platform: Platform, order: Document) -> str:
    place = order.get("objectReferenceId") or order["realEstatePropertyId"]
    head = (
        f"<h3>Order {escape(order['id'])}</h3>{_pill(order['status'])}"
        f"<p>{escape(place)} · {_moment(order['createdAt'])}</p>"
    )
    jobs = "".join(_assignment(platform.assignment(one)) for one in order["assignments"])
    return f'<section class="card"><header>{head}</header>{jobs}</section>'


def _assignment(one: Document) -> str:
    products = ", ".join(product.replace("_", " ").capitalize() for product in one["products"])
    details = [f"Assignment {escape(one['id'])}"]
    if photographer := one.get("photographer"):
        details.append(escape(photographer["name"]))
    if "scheduledAt" in one:
        details.append(f"appointment {_moment(one['scheduledAt'])}")
    if "estimatedDeliveryAt" in one:
        details.append(f"delivery {_moment(one['estimatedDeliveryAt'])}")
    pills = _pill(one["status"])
    if action := one.get("actionRequired"):
        pills += " " + _pill(action, "warn")
    return (
        f'<div class="job"><div><div class="row"><b>{escape(products)}</b> {pills}</div>'
        f"<p>{' · '.join(details)}</p></div>{_steps(one)}</div>"
    )


def _steps(one: Document) -> str:
    """Return the buttons of an assignment that is not terminal."""
    if one["status"] in lifecycle.TERMINAL:
        return ""
    path, kind = f"assignments/{one['id']}", one.get("assignmentType", "")
    first = _button(f"{path}/advance", "Advance")
    if one["status"] == "ACTION_REQUIRED":
        first = _button(f"{path}/input", "Input provided", main=True)
    more = (
        _button(f"{path}/nudge", "Send again"),
        _button(f"{path}/status", "Set", _choice(f"{path}-status", list(lifecycle.moves(kind)))),
        _button(f"{path}/appointment", "Set", _input(path, "scheduledAt", "datetime-local")),
        _button(f"{path}/appointment", "Clear appointment", _hidden("scheduledAt")),
        _button(
            f"{path}/visuals",
            "Announce",
            _choice(f"{path}-visuals", VISUAL_TYPES, name="visualType", label="Visuals"),
        ),
        _button(f"{path}/selection", "Deliver the selection"),
        _button(f"{path}/estimate", "Set", _input(path, "estimatedDeliveryAt", "date")),
    )
    return (
        f'<div class="row steps">{first}</div><details><summary>More steps</summary>'
        f'<div class="more">{"".join(more)}</div></details>'
    )


LABELS = {"scheduledAt": "Appointment, UTC", "estimatedDeliveryAt": "Delivery"}


def _input(path: str, name: str, kind: str) -> str:
    key = escape(f"{path}-{name}")
    return (
        f'<label for="{key}">{LABELS[name]}</label>'
        f'<input type="{kind}" id="{key}" name="{name}" required>'
    )


def _choice(
    key: str, values: Iterable[str], *, name: str = "status", label: str = "Status", now: str = ""
) -> str:
    options = "".join(
        f"<option{' selected' if value == now else ''}>{escape(value)}" for value in values
    )
    return (
        f'<label for="{escape(key)}">{escape(label)}</label>'
        f'<select id="{escape(key)}" name="{escape(name)}">{options}</select>'
    )


def _hidden(name: str) -> str:
    return f'<input type="hidden" name="{name}" value="">'


def _callbacks(records: list[Document]) -> str:
    rows = []
    for record in records:
        event, answer = record["payload"], str(record.get("statusCode", "no answer"))
        good = record["success"]
        outcome = _pill(f"{'answered' if good else 'failed'} {answer}", "good" if good else "bad")
        subject = event.get("orderId") or event.get("propertyId", "")
        if not good:
            outcome += f" <small>{escape(record['errorMessage'])}</small>"
        cells = (_moment(record["triggeredAt"]), escape(event["event"]), escape(str(subject)))
        rows.append((*cells, outcome))
    return _table(("Time", "Event", "About", "Outcome"), rows, "No callback was sent yet.")


def _calls(calls: list[Call]) -> str:
    rows = [
        (escape(method), escape(path), _pill(str(status), "bad" if status >= 400 else "good"))
        for method, path, _body, status in calls
    ]
    return _table(("Method", "Path", "Status"), rows, "No call was made yet.")


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], nothing: str) -> str:
    if not rows:
        return _empty(nothing)
    head = "".join(f"<th>{one}</th>" for one in heads)
    body = "".join(
        "<tr>" + "".join(_cell(*pair) for pair in zip(heads, row, strict=True)) + "</tr>"
        for row in rows
    )
    head = f"<thead><tr>{head}</tr></thead>"
    return f'<div class="card"><table>{head}<tbody>{body}</tbody></table></div>'


def _empty(text: str) -> str:
    return f'<div class="card"><p class="empty">{escape(text)}</p></div>'


def _cell(head: str, content: str) -> str:
    return f'<td class="{head.lower()}">{content}</td>'


def _moment(text: Any) -> str:
    """Return a timestamp or a date for people. Any other value is shown unchanged."""
    try:
        moment = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return escape(str(text))
    return f"{moment:%d %b %Y}" if len(text) == 10 else f"{moment:%d %b, %H:%M:%S}"
