"""Each page in the time zone that its reader chose, else in that of the installation."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from orders.people.preferences import settings_of

Respond = Callable[[HttpRequest], HttpResponse]


def in_own_zone(respond: Respond) -> Respond:
    """A middleware: make the reader's zone the current one while the page is made.

    One query for who is logged in, none for a callback or anybody else.
    """

    def answer(request: HttpRequest) -> HttpResponse:
        if not request.user.is_authenticated:
            return respond(request)
        with timezone.override(settings_of(request.user).zone):
            return respond(request)

    return answer
