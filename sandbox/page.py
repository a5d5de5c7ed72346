"""A page that shows what the sandbox holds, with buttons for what people on the platform do."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from sandbox import lifecycle
from sandbox.wire import Document
from sandbox.workspace import Workspace

# Buttons of an assignment: label, path below it, body.
BUTTONS: tuple[tuple[str, str, str], ...] = (
    ("Advance", "advance", "{}"),
    ("Input given", "input", "{}"),
    ("Nudge", "nudge", "{}"),
    ("Clear appointment", "appointment", '{"scheduledAt": null}'),
    ("Cancel", "status", '{"status": "CANCELLED"}'),
)
LATEST = 50

_FRAME = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sandbox</title>
<meta name="viewport" content="width=device-width">
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto;
  padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100%; margin-bottom: 2rem }}
th, td {{ text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #ddd;
  vertical-align: top }}
button {{ font: inherit }}
</style>
<h1>Sandbox</h1>
<p>{now} <button data-path="step" data-body="{{}}">Move every order one step</button></p>
{sections}
<p id="refused" role="alert"></p>
<script>
for (const button of document.querySelectorAll("button")) button.onclick = async () => {{
  const answer = await fetch("/_sandbox/" + button.dataset.path,
    {{ method: "POST", body: button.dataset.body }});
  if (answer.ok) location.reload();
  else document.getElementById("refused").textContent = (await answer.json()).message;
}};
</script>
</html>
"""


def render(workspace: Workspace, now: str) -> bytes:
    """The page: the latest orders with their assignments, the webhook, and its last calls."""
    orders = list(workspace.orders.values())[-LATEST:][::-1]
    assignments = [workspace.assignments[one] for order in orders for one in order["assignments"]]
    sections = (
        _table("Orders", ("Order", "Status", "Property", "Created"), map(_order, orders)),
        _table(
            "Assignments",
            ("Assignment", "Status", "Products", "Appointment", "Estimate", "Steps"),
            map(_assignment, assignments),
        ),
        _table("Webhook", ("Address", "Enabled", "Authentication"), _webhook(workspace)),
        _table(
            f"Deliveries, {len(workspace.pending)} waiting",
            ("Time", "Event", "Order", "Answer", "Error"),
            map(_record, workspace.history[::-1]),
        ),
    )
    return _FRAME.format(now=escape(now), sections="\n".join(sections)).encode("utf-8", "replace")


def _table(title: str, heads: tuple[str, ...], rows: Iterable[str]) -> str:
    head = "".join(f"<th>{one}" for one in heads)
    body = "\n".join(rows) or f"<tr><td colspan={len(heads)}>none"
    return f"<h2>{title}</h2>\n<table>\n<tr>{head}\n{body}\n</table>"


def _row(*values: Any) -> str:
    return "<tr>" + "".join(f"<td>{escape(str(one))}" for one in values)


def _order(order: Document) -> str:
    place = order.get("objectReferenceId") or order["realEstatePropertyId"]
    return _row(order["id"], order["status"], place, order["createdAt"])


def _assignment(one: Document) -> str:
    buttons = ""
    if one["status"] not in lifecycle.TERMINAL:
        for label, step, body in BUTTONS:
            path = f"assignments/{escape(one['id'])}/{step}"
            buttons += f"<button data-path='{path}' data-body='{body}'>{label}</button> "
    known = _row(
        one["id"],
        " ".join((one["status"], one.get("actionRequired", ""))),
        ", ".join(one["products"]),
        one.get("scheduledAt", ""),
        one.get("estimatedDeliveryAt", ""),
    )
    return f"{known}<td>{buttons}"


def _webhook(workspace: Workspace) -> list[str]:
    webhook = workspace.webhook
    if webhook is None:
        return []
    return [_row(f"{webhook['method']} {webhook['url']}", webhook["enabled"], webhook["authType"])]


def _record(record: Document) -> str:
    event = record["payload"]
    answer, error = record.get("statusCode", ""), record.get("errorMessage", "")
    return _row(record["triggeredAt"], event["event"], event.get("orderId", ""), answer, error)
