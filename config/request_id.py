"""Middleware: the id of a request in the log (decision 19), and the log of its platform calls."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from crm_sync import tracing
from crm_sync.models import call_log

HEADER = "X-Request-ID"
CALLBACKS = "/webhooks/"


def traced(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Give each request an id, and return it. Use the caller's id if it is harmless.

    An id of a callback is ignored, since its headers may contain the secret anywhere.
    """

    def serve(request: HttpRequest) -> HttpResponse:
        is_callback = request.path_info.startswith(CALLBACKS)
        tracing.begin(tracing.taken("" if is_callback else request.headers.get(HEADER, "")))
        response = get_response(request)
        response.headers[HEADER] = tracing.current().id
        call_log.flush()
        return response  # the trace ends after the line of the access log

    return serve
