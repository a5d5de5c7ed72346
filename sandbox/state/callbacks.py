"""The webhook of the workspace: its configuration (§2.1), and the calls to it (§5.2, §6.1).

There is one attempt for each event. Nothing is repeated (§6.1 rule 4).
"""

import json
import re
import time
import uuid
from html import escape
from urllib.parse import quote, quote_plus, urlsplit, urlunsplit

import requests
from urllib3.exceptions import HTTPError

from sandbox.deadline import within
from sandbox.wire import Document, Request, bad, encode

METHODS = ("GET", "POST", "PUT")  # A22
AUTH_TYPES = ("NONE", "HEADER", "QUERY_PARAMETER", "BEARER_TOKEN")
SECRETS = ("authSecret", "previousSecret")  # never returned
# Headers that a secret must not replace.
OWN_HEADERS = {
    *("content-type", "x-event-type", "x-order-id", "host", "content-length", "connection"),
    *("transfer-encoding", "content-encoding", "expect", "te", "trailer", "upgrade"),
}
SECONDS = 30  # §8
KEPT = 10  # §8
BODY_LIMIT = 4 * 1024  # §8
MESSAGE_LIMIT = 1024  # §8

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,255}", re.ASCII)
_HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?", re.ASCII)


def configuration(request: Request, stored: Document | None, at: str) -> Document:
    """Return the webhook of a PUT (§4.1). `stored` is the webhook that it replaces.

    An omitted secret does not change (§4.1). Raises `Refused(400)` that names the field.
    """
    url = request.text("url")
    if not url or not _is_address(url):
        raise bad("url", "is required, an http or https address")
    enabled = request.body.get("enabled", True)
    if not isinstance(enabled, bool):
        raise bad("enabled", "must be true or false")
    webhook = {
        "id": stored["id"] if stored else str(uuid.uuid4()),
        "url": url,
        "method": _one_of(request, "method", METHODS, "GET"),
        "enabled": enabled,
        "authType": _one_of(request, "authType", AUTH_TYPES, "NONE"),
        "authHeaderName": request.text("authHeaderName") or "X-API-Key",
        "createdAt": stored["createdAt"] if stored else at,
        "updatedAt": at,
    }
    if name := request.text("authParameterName"):
        webhook["authParameterName"] = name
    secret = request.text("authSecret")
    before = stored.get("authSecret") if stored else None
    if secret is None:
        secret = before
    if before and before != secret:
        webhook["previousSecret"] = before
    if secret:
        webhook["authSecret"] = secret
    if stored and "lastTriggeredAt" in stored:
        webhook["lastTriggeredAt"] = stored["lastTriggeredAt"]
    _check_authentication(webhook)
    return webhook


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _one_of(request: Request, name: str, allowed: tuple[str, ...], default: str) -> str:
    value = request.text(name)
    if value is None:
        return default
    if value not in allowed:
        raise bad(name, f"must be one of {', '.join(allowed)}")
    return value


def _check_authentication(webhook: Document) -> None:
    """Refuse a configuration that cannot authenticate (A47)."""
    kind, secret = webhook["authType"], webhook.get("authSecret")
    if kind != "NONE" and not secret:
        raise bad("authSecret", f"is required with {kind}")
    if kind == "QUERY_PARAMETER" and "authParameterName" not in webhook:
        raise bad("authParameterName", f"is required with {kind}")
    if kind in ("HEADER", "BEARER_TOKEN") and not _HEADER_VALUE.fullmatch(secret or ""):
        raise bad("authSecret", "cannot be sent in a header")
    if not _HEADER_NAME.fullmatch(webhook["authHeaderName"]):
        raise bad("authHeaderName", "is not the name of a header")
    if webhook["authHeaderName"].lower() in OWN_HEADERS:
        raise bad("authHeaderName", "is a header that each callback has already")


def shown(webhook: Document) -> Document:
    """Return the configuration without the secret (§2.1)."""
    public = {name: value for name, value in webhook.items() if name not in SECRETS}
    return public | {"hasAuthSecret": "authSecret" in webhook}


def event_headers(event: Document) -> dict[str, str]:
    """Return the headers that describe the event (§6.1 rule 2, A26)."""
    headers = {"X-Event-Type": event["event"]}
    if "orderId" in event:
        headers["X-Order-ID"] = event["orderId"]
    return headers


def authenticate(webhook: Document) -> tuple[str, dict[str, str]]:
    """Return the address to call and the headers that authenticate the call (§5.2)."""
    url, secret = webhook["url"], webhook.get("authSecret", "")
    match webhook["authType"]:
        case "HEADER":
            return url, {webhook["authHeaderName"]: secret}
        case "BEARER_TOKEN":
            return url, {"Authorization": f"Bearer {secret}"}
        case "QUERY_PARAMETER":
            parts = urlsplit(url)
            pair = f"{_quoted(webhook['authParameterName'])}={_quoted(secret)}"
            query = f"{parts.query}&{pair}" if parts.query else pair  # A47
            return urlunsplit(parts._replace(query=query)), {}
    return url, {}


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")


def call(http: requests.Session, webhook: Document, event: Document, at: str) -> Document:
    """Call the webhook with an event, once, and return the record of the call (§2.2)."""
    headers = event_headers(event)
    record: Document = {
        "id": str(uuid.uuid4()),
        "triggeredAt": at,
        "payload": event,
        "headers": headers,
    }
    url, authentication = authenticate(webhook)
    hidden = _forms_of_secrets(webhook)
    sent = {"Content-Type": "application/json", **headers, **authentication}
    request = requests.Request(webhook["method"], url, headers=sent, data=encode(event))
    started = time.monotonic()
    try:
        prepared = http.prepare_request(request)
        with (
            within(SECONDS),
            # A redirect is not a 2xx. The session itself would read its body to follow it.
            http.get_adapter(url).send(
                prepared, stream=True, timeout=max(SECONDS, 0.001)
            ) as response,
        ):
            answer = _beginning(response, BODY_LIMIT + 4 * max(map(len, hidden), default=0))
            record["statusCode"] = response.status_code
            if time.monotonic() - started >= SECONDS:
                raise requests.Timeout(f"the callback took longer than {SECONDS} seconds")
    except requests.Timeout:
        record.pop("statusCode", None)  # A25
        return _failed(record, f"Time-out: no answer within {SECONDS} seconds")
    # ValueError: the answer is not HTTP.
    except (requests.RequestException, OSError, ValueError, HTTPError) as error:
        return _failed(record, _without(hidden, f"{type(error).__name__}: {error}"))
    if 200 <= response.status_code < 300:  # §6.1 rule 3
        return record | {"success": True}
    text = _without(hidden, answer.decode("utf-8", "ignore"))
    return _failed(record, f"The callback answered {response.status_code}", text)


def dropped(event: Document, at: str) -> Document:
    """Return the record of a call that was lost on its way."""
    record = {"id": str(uuid.uuid4()), "triggeredAt": at, "payload": event}
    return _failed(record | {"headers": event_headers(event)}, "The connection was lost")


def _beginning(response: requests.Response, size: int) -> bytes:
    """Return the first bytes of the answer. If it breaks off, its status still counts."""
    try:
        return response.raw.read(size, decode_content=True) or b""
    except (HTTPError, OSError):
        return b""


def _forms_of_secrets(webhook: Document) -> list[str]:
    """Return all forms in which an answer or an error may repeat secrets, longest first (§2.1)."""
    secrets = [webhook[name] for name in SECRETS if name in webhook]
    forms = [
        form
        for one in secrets
        for form in (one, _quoted(one), quote_plus(one, errors="replace"), escape(one))
    ]
    forms += [
        json.dumps(one, ensure_ascii=plain)[1:-1] for one in secrets for plain in (False, True)
    ]
    return sorted(forms, key=len, reverse=True)


def _without(hidden: list[str], text: str) -> str:
    """Return a text without secrets, which an error or an answer may repeat."""
    for form in hidden:
        text = text.replace(form, "***")
    return text


def _failed(record: Document, message: str, answer: str | None = None) -> Document:
    """Add the error message and the answer, both cut (§8). Only failures have them."""
    record["success"] = False
    record["errorMessage"] = _cut(message, MESSAGE_LIMIT)
    if answer is not None:
        record["responseBody"] = _cut(answer, BODY_LIMIT)
    return record


def _cut(text: str, limit: int) -> str:
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
