"""The private calendar address of a person, and the file that calendar programs fetch."""

import hashlib
import secrets
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.utils.cache import get_conditional_response
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe

from crm_sync.links import absolute
from orders.calendar.appointments import appointments
from orders.calendar.ics import calendar
from orders.models import CalendarFeed
from orders.people.language_of_person import language_of
from orders.people.preferences import settings_of

BACK, AHEAD = timedelta(days=30), timedelta(days=365)


def renew(person: User, *, only_mine: bool, now: datetime) -> str:
    """Make a new address for the person and return it. The previous one stops working.

    The address is not stored: people who lose it make another one. The key is in the query, which
    none of our logs contains (S3).
    """
    key = secrets.token_urlsafe(32)
    columns = {"digest": _digest(key), "only_mine": only_mine, "created_at": now}
    columns["password_digest"] = person.get_session_auth_hash()
    CalendarFeed.objects.update_or_create(person=person, defaults=columns)
    return f"{absolute('calendar_file')}?key={key}"


def to_subscribe(address: str) -> str:
    """Return an address with the scheme with which calendar programs subscribe instead of read."""
    return f"webcal://{address.partition('://')[2]}"


def revoke(person: User) -> bool:
    """Revoke the address. Return whether there was one."""
    return CalendarFeed.objects.filter(person=person).delete()[0] > 0


def find(key: str) -> CalendarFeed | None:
    """Return the feed with this key, or None.

    It is None if there is no such feed, the person may not see it, or the password has changed
    since (S17). The lookup uses the digest of the key, so that its duration reveals nothing about a
    key.
    """
    digest = _digest(key)
    feed = CalendarFeed.objects.select_related("person").filter(digest=digest).first()
    if feed is None or not constant_time_compare(feed.digest, digest):
        return None
    person = feed.person
    may_see = person.is_staff and person.has_perm("orders.view_order")
    return feed if may_see and _is_of_the_same_password(feed) else None


def _is_of_the_same_password(feed: CalendarFeed) -> bool:
    now = feed.person.get_session_auth_hash()
    if not feed.password_digest:  # made by an earlier version: bind it to the present password
        CalendarFeed.objects.filter(pk=feed.pk, password_digest="").update(password_digest=now)
        return True
    return constant_time_compare(feed.password_digest, now)


def keep_if_hashed_anew(
    sender: type[User], instance: User, update_fields: frozenset[str] | None, **_: Any
) -> None:
    """Bind the address to the new hash of the same password; a receiver of `pre_save`.

    Django writes one at a login after its hashes have become stronger, and notes no password.
    """
    is_same = getattr(instance, "_password", None) is None and instance.has_usable_password()
    if set(update_fields or ()) == {"password"} and is_same:
        for before in User.objects.filter(pk=instance.pk):
            mine = CalendarFeed.objects.filter(person=before)
            bound = mine.filter(password_digest=before.get_session_auth_hash())
            bound.update(password_digest=instance.get_session_auth_hash())


def written(feed: CalendarFeed, *, now: datetime) -> bytes:
    """Return the appointments of the feed, from a month ago to a year ahead.

    Of very many, what is over is left out first.
    """
    mine = settings_of(feed.person)
    found = appointments(
        now - BACK, now + AHEAD, person=feed.person, only_mine=feed.only_mine, now=now
    )
    host = urlsplit(settings.PUBLIC_BASE_URL).hostname or "localhost"
    page = partial(absolute, "admin:orders_order_change")
    with translation.override(language_of(mine) or settings.LANGUAGE_CODE):
        return calendar(found, host=host, page=page, zone=mine.zone.key)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


@require_safe
def calendar_file(request: HttpRequest) -> HttpResponse:
    """Return the appointments for the key, or 404 if the key is unknown (S17)."""
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
