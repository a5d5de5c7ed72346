"""The overview proposes the time zone of the browser, until the person takes or dismisses it."""

from datetime import datetime
from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from orders.people.preferences import answer_zone, settings_of


def section(request: HttpRequest, now: datetime) -> SafeString:
    """Return a hidden banner, which a script shows if the browser is in another zone.

    "" if the person has chosen a zone or answered before. A `hooks.AppHooks.overview`.
    """
    mine = settings_of(cast("User", request.user))
    if mine.time_zone or mine.zone_answered:
        return SafeString("")
    context = {"zone": timezone.get_current_timezone_name()}
    return render_to_string("orders/zone_proposal.html", context, request)


def answer(request: HttpRequest) -> HttpResponse:
    """Take the proposed zone or dismiss it (POST only)."""
    person, zone = cast("User", request.user), request.POST.get("time_zone", "")
    if request.method == "POST":
        is_taken = request.POST.get("do") == "use"
        try:
            answer_zone(person, zone if is_taken else None)
        except ValueError:
            messages.warning(request, _("This zone is not known here: choose one in My settings."))
        else:
            if is_taken:
                text = _("All times are shown in %(zone)s now.")
                messages.success(request, text % {"zone": zone})
    return HttpResponseRedirect(reverse("admin:index"))
