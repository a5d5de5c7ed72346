"""The id of a request in the log (decision 19), and its calls to the platform."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from crm_sync import tracing
from crm_sync.models import call_log

HEADER = "X-Request-ID"
CALLBACKS = "/webhooks/"


def traced(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Give each request an id, that of its caller if it is harmless, and send it back.

    At a callback address none is taken: whoever calls there has a secret that may stand anywhere.
    """

    def serve(request: HttpRequest) -> HttpResponse:
        is_callback = request.path_info.startswith(CALLBACKS)
        tracing.begin(tracing.taken("" if is_callback else request.headers.get(HEADER, "")))
        response = get_response(request)
        response.headers[HEADER] = tracing.current().id
        call_log.flush()
        return response  # the id stays until the line of the access log is written

    return serve
