"""Callbacks go straight to their view: what the pages of the admin need would only take time."""

import re
from collections.abc import Callable
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from crm_sync.inbox import view

# With and without the slash: a redirect would be a lost event (S9).
ADDRESS = re.compile(r"/webhooks/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/?")

METHODS = ("POST", "GET", "PUT")  # with a body these are callbacks (A23); the view refuses others


def callbacks_first(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Serve the callback endpoint before any other middleware looks at the request."""

    def serve(request: HttpRequest) -> HttpResponse:
        address = ADDRESS.fullmatch(request.path_info)
        if address is None or request.method not in METHODS:
            return get_response(request)
        response = view.take(request, UUID(address[1]))
        response.headers["Content-Length"] = str(len(response.content))
        return response

    return serve
