"""The content security policy: our pages load and send only within our own origin (S17, S18)."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

Answer = Callable[[HttpRequest], HttpResponseBase]

# The admin theme evaluates short expressions in attributes, so inline scripts cannot be forbidden.
# But scripts can load only from our origin, and send only to it.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)


def content_policy(answer: Answer) -> Answer:
    """Add the policy to each answer that has none."""

    def serve(request: HttpRequest) -> HttpResponseBase:
        response = answer(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    return serve
