"""What a browser may load and send from our pages (S17, S18): only what comes from here."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

Answer = Callable[[HttpRequest], HttpResponseBase]

# The admin's look evaluates short expressions in its attributes, so scripts in a page cannot be
# forbidden; they can only load from here, and send to nowhere else.
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
    """Send the policy with each answer that does not have one."""

    def serve(request: HttpRequest) -> HttpResponseBase:
        response = answer(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    return serve
