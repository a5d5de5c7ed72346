"""Shows each page in the time zone and language of its reader."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import get_language_from_request

from orders.people.language_of_person import reader

Respond = Callable[[HttpRequest], HttpResponse]


def for_the_reader(respond: Respond) -> Respond:
    """Make the reader's zone and language the current ones while a page is made; a middleware.

    Who is not logged in reads the pages of the admin in the language of the browser. What a program
    reads does not change. One query if somebody is logged in.
    """

    def answer(request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            mine, own = reader(request.user.pk)
            browsers = get_language_from_request(request)
            # The account on the platform is in "de"; the browser knows that of Switzerland.
            is_finer = not mine.language and browsers.startswith(f"{own}-")
            language = browsers if own is None or is_finer else own
            with timezone.override(mine.zone), translation.override(language):
                request.LANGUAGE_CODE = language  # as Django does
                return respond(request)
        if request.path.startswith(reverse("admin:index")):
            with translation.override(get_language_from_request(request)):
                return respond(request)
        return respond(request)

    return answer
