"""Calls the view of a callback directly: the middleware of the admin would only take time."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.urls import Resolver404, resolve
from rest_framework.response import Response

PREFIX = "/webhooks/"
# The platform alone reads an answer. If a browser does, it shows and loads nothing (S18).
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


def callbacks_first(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Call the view of a callback before any other middleware.

    So no session is read. A host that is not allowed, or a redirect to https, cannot lose an event:
    only the secret decides (S9).
    """

    def serve(request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(PREFIX):
            return get_response(request)
        try:
            found = resolve(request.path_info, "crm_sync.urls")
        except Resolver404:
            return get_response(request)
        request.resolver_match = found
        response: HttpResponseBase = found.func(request, **found.kwargs)
        if isinstance(response, Response):
            response.render()
            response.headers["Content-Length"] = str(len(response.content))
        for name, value in HEADERS.items():
            response.headers[name] = value
        return response

    return serve
