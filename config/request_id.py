"""Middleware: the id of a request in the log (decision 19), its span, and the log of its calls."""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import ResolverMatch
from django.views import View

from crm_sync import tracing
from crm_sync.models import call_log
from crm_sync.tracing import Span, SpanKind

HEADER = "X-Request-ID"
CALLBACKS = "/webhooks/"
API = "/api/"
UNRECORDED = frozenset({"healthz", "readyz", "workersz", "metrics"})  # asked again and again
SHOWN = 100  # characters of an id
METHODS = frozenset(name.upper() for name in View.http_method_names)
# A part of a route: <int:name>, or (?P<name>…) at the end of one that is a regular expression.
_PART = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>.*\)\$?")


def traced(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Give each request an id, and return it. Use the caller's id if it is harmless.

    An id of a callback is ignored, since its headers may contain the secret anywhere.
    """

    def serve(request: HttpRequest) -> HttpResponse:
        is_callback = request.path_info.startswith(CALLBACKS)
        given = "" if is_callback else request.headers.get(HEADER, "")
        is_program = request.path_info.startswith(API)
        # The `traceparent` of a program; that of a callback waits for its secret (`inbox`).
        cause = request.headers.get(tracing.HEADER, "") if is_program else ""
        tracing.begin(tracing.taken(given), cause=cause)
        with tracing.recorded("", SpanKind.SERVER) as span:
            response = get_response(request)
            if span is not None and request.resolver_match is not None:
                _describe(span, request, request.resolver_match, response.status_code)
        response.headers[HEADER] = tracing.current().id
        call_log.flush()
        return response  # the trace ends after the line of the access log

    return serve


def _describe(span: Span, request: HttpRequest, match: ResolverMatch, status: int) -> None:
    """Name the span by the pattern of the address: no query, and of its values only ids (S4)."""
    route = f"/{match.route}"
    if match.route in UNRECORDED:
        return
    ours = urlsplit(settings.PUBLIC_BASE_URL)
    # A caller can invent a method.
    method = request.method if request.method in METHODS else "_OTHER"
    span.name = f"{method} {route}"
    span.attributes |= {
        "http.request.method": method,
        "http.response.status_code": status,
        "http.route": route,
        "server.address": str(ours.hostname),
        "url.path": _PART.sub(lambda part: _shown(part[1] or part[2], match), route),
        "url.scheme": ours.scheme,
    }
    if status >= 500:
        span.error = str(status)


def _shown(name: str, match: ResolverMatch) -> str:
    return str(match.kwargs[name])[:SHOWN] if name.endswith("_id") else "***"
