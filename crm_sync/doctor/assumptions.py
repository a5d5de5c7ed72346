"""Compares a live platform with the assumptions about calls, errors and webhooks."""

import re
from collections.abc import Iterator
from typing import Any

from crm_sync.doctor.checking import Seen, check_assumptions, listed, names_of, objects_in
from crm_sync.hooks import Finding
from crm_sync.platform.credentials import FixedToken
from crm_sync.platform.events import REQUIRED
from crm_sync.platform.read_only import Live

USERS, WEBHOOK, TRIGGERS = "/v1/users", "/v1/webhooks", "/v1/webhooks/triggers"
NOBODY = "/v1/real-estate-properties/crm-sync-doctor"  # an id that does not exist
FIRST = {"page": 0, "size": 5}
ENVELOPE = {"totalElements", "totalPages", "first", "last", "number", "size", "page"}
IN_WEBHOOK = {
    *("id", "url", "method", "enabled", "authType", "hasAuthSecret", "authHeaderName"),
    *("authParameterName", "createdAt", "updatedAt", "lastTriggeredAt"),
}
IN_TRIGGER = {
    *("id", "triggeredAt", "payload", "headers", "statusCode", "success"),
    *("responseBody", "errorMessage"),
}
METHODS = ("GET", "POST", "PUT")
_OFFSET = re.compile(r"(Z|[+-]\d\d:?\d\d)$")

ASSUMPTIONS = {
    "A1": "The entries of a page are in `content`.",
    "A4": "An error has status, error, message, and errors with field and message.",
    "A5": "401: bad token. 403: another workspace's. 404: no such thing.",
    "A6": "The token is fixed, or comes from POST /auth/token.",
    "A7": "Ids are texts, also numeric ones.",
    "A8": "There is no rate limit but 429 and 503.",
    "A20": "GET of the webhook is 404 while none is configured.",
    "A21": "PUT and PATCH of the webhook answer with it.",
    "A22": "The webhook's method is GET, POST or PUT.",
    "A23": "A callback by GET has the same body.",
    "A24": "The old webhook paths work until 2026-09-10.",
    "A25": "An attempt that timed out has no statusCode and an errorMessage.",
    "A26": "Events of orders carry X-Order-ID.",
    "A27": "X-Event-Type names the same event as the body.",
    "A47": "PATCH, DELETE and triggers without a webhook are 404.",
    "A52": "A timestamp without an offset is UTC.",
    "A53": "The control paths of the sandbox.",
    "A56": "The header Date of an answer is the platform's clock.",
    "§2.1": "The names in the webhook configuration.",
    "§2.2": "The names in a record of the trigger history.",
    "§2.3": "The events in the trigger history are of the seven kinds.",
}


def findings(live: Live) -> Iterator[Finding]:
    """Yield one finding for each assumption."""
    looks = (_page(live), _errors(live), _webhook(live), _triggers(live), _calls(live))
    yield from check_assumptions("calls and webhooks", ASSUMPTIONS, *looks)


def _calls(live: Live) -> Iterator[tuple[str, Seen]]:
    is_fixed = isinstance(live.client.credentials, FixedToken)
    yield "A6", Seen(True, "A fixed token." if is_fixed else "POST /auth/token gave one.")
    names = {name for one in live.exchanges for name in one.headers}
    limits = sorted(name for name in names if "ratelimit" in name.lower().replace("-", ""))
    if limits:
        yield "A8", Seen(False, f"Answers have the headers {listed(limits)}.")
    else:
        yield "A8", Seen(True, "No answer has a header about a limit.")


def _page(live: Live) -> Iterator[tuple[str, Seen]]:
    page = live.document(USERS, **FIRST)
    if isinstance(page, list):
        yield "A1", Seen(False, "A page is a list without an envelope.")
    elif not isinstance(page, dict):
        yield "A1", Seen(None, "The list of users cannot be read.")
    else:
        lists = [name for name, value in page.items() if isinstance(value, list)]
        others = set(page) - ENVELOPE - set(lists)
        beside = f" Other members: {listed(sorted(others))}." if others else ""
        where = f"in {listed(lists)}" if lists else "in no list"
        yield "A1", Seen(lists == ["content"], f"The entries are {where}.{beside}")
    first = next(iter(objects_in(page)), None)
    is_text = first is not None and isinstance(first.get("id"), str)
    ids = Seen(is_text, f"The id of a user is {'a text' if is_text else 'no text'}; we read both.")
    yield "A7", ids if first else Seen(None, "There is no user to look at.")


def _errors(live: Live) -> Iterator[tuple[str, Seen]]:
    """Read an id that does not exist."""
    one = live.get(NOBODY)
    if one is None or one.status is None:
        return
    body = one.document
    names = sorted(body) if isinstance(body, dict) else []
    usual = {"status", "error", "message", "errors"}
    says = f"An error has {listed(names)}." if names else "An error is not a JSON object."
    yield "A4", Seen(bool(names) and set(names) <= usual, says)
    yield "A5", Seen(one.status == 404, f"An unknown id is answered with {one.status}.")


def _webhook(live: Live) -> Iterator[tuple[str, Seen]]:
    one, webhook = live.get(WEBHOOK), live.document(WEBHOOK)
    if not isinstance(webhook, dict) or not webhook:
        status = one.status if one else None
        said = "" if one is None or status == 404 else f" with the body {one.body[:20]!r}"
        yield "A20", Seen(status == 404, f"Without a webhook it answers {status}{said}.")
        return
    yield "A20", Seen(None, "A webhook is configured.")
    method = webhook.get("method")
    yield "A22", Seen(method in METHODS, f"It is {method}.")
    yield "§2.1", names_of([webhook], IN_WEBHOOK, "the webhook configuration")
    if times := [webhook[name] for name in ("createdAt", "lastTriggeredAt") if webhook.get(name)]:
        has_offset = all(_OFFSET.search(str(one)) for one in times)
        yield "A52", Seen(True, f"Timestamps {'have' if has_offset else 'lack'} one: {times[0]}.")


def _triggers(live: Live) -> Iterator[tuple[str, Seen]]:
    document = live.document(TRIGGERS)
    records = objects_in(document)
    if not records:
        is_list = isinstance(document, list)
        nothing = "The trigger history is empty." if is_list else "It shows no list of attempts."
        for name in ("A25", "A26", "A27", "§2.2", "§2.3"):
            yield name, Seen(None, nothing)
        return
    yield "§2.2", names_of(records, IN_TRIGGER, "a record of the history")
    late = [one for one in records if one.get("success") is False and not one.get("statusCode")]
    if late:
        worded = sum(bool(one.get("errorMessage")) for one in late)
        text = f"{worded} of {len(late)} attempts without a status have an errorMessage."
        yield "A25", Seen(worded == len(late), text)
    events = [(one["payload"], one.get("headers") or {}) for one in records if _is_event(one)]
    if not events:
        yield "§2.3", Seen(None, "No attempt shows its event.")
        return
    kinds = sorted({str(one["event"]) for one, _ in events})
    others = sorted(set(kinds) - REQUIRED.keys())
    text = f"Unknown: {listed(others)}." if others else f"All are known: {listed(kinds)}."
    yield "§2.3", Seen(not others, text)
    said = [(one["event"], _header(headers, "X-Event-Type")) for one, headers in events]
    if told := [pair for pair in said if pair[1]]:
        agree = all(a == b for a, b in told)
        yield "A27", Seen(agree, f"{len(told)} events have the header X-Event-Type.")
    if of_orders := [headers for one, headers in events if one.get("orderId")]:
        count = sum(bool(_header(headers, "X-Order-ID")) for headers in of_orders)
        yield "A26", Seen(count > 0, f"{count} of {len(of_orders)} events of orders have it.")


def _is_event(record: dict[str, Any]) -> bool:
    payload = record.get("payload")
    return isinstance(payload, dict) and isinstance(payload.get("event"), str)


def _header(headers: Any, name: str) -> str:
    found = headers.items() if isinstance(headers, dict) else ()
    return next((str(value) for key, value in found if key.lower() == name.lower()), "")
