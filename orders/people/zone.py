"""Shows each page in the time zone of its reader, else in the zone of the installation."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from orders.people.preferences import settings_of

Respond = Callable[[HttpRequest], HttpResponse]


def in_own_zone(respond: Respond) -> Respond:
    """Make the reader's zone the current one while a page is made; a middleware.

    One query if somebody is logged in. None for a callback or an anonymous request.
    """

    def answer(request: HttpRequest) -> HttpResponse:
        if not request.user.is_authenticated:
            return respond(request)
        with timezone.override(settings_of(request.user).zone):
            return respond(request)

    return answer
