"""What calendar programs fetch."""

import hashlib

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from orders.calendar.feed import find, written


@require_safe
def calendar_file(request: HttpRequest) -> HttpResponse:
    """Return the appointments to whoever has the key; 404 for any other key (S17)."""
    feed = find(request.GET.get("key", ""))
    if feed is None:
        raise Http404
    body = written(feed, now=timezone.now())
    response = HttpResponse(body, content_type="text/calendar; charset=utf-8")
    response["Content-Disposition"] = 'inline; filename="appointments.ics"'
    response["Cache-Control"] = "private, no-cache"
    response["Referrer-Policy"] = "no-referrer"
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    response["ETag"] = etag
    return get_conditional_response(request, etag=etag, response=response) or response
