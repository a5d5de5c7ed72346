"""Sessions of people: unused sessions end, and people see and end their own sessions (S17).

The data about a session is stored in the session itself, which no page shows completely.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.contrib.sessions.models import Session
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_GET

from crm_sync.platform import callers

log = logging.getLogger(__name__)

BEGAN, USED, WHERE, BROWSER = "began_at", "used_at", "address", "browser"  # keys in the session
PACE = timedelta(minutes=1)  # between two writes of the last use
LONGEST = 200  # characters that are stored of the name of a browser
BY_PROVIDER = "crm_sync.security.provider_login.ProviderBackend"  # who logged somebody in
STILL_OPEN = "session"  # the name of an address
NAME = 16  # characters of the name of a session, which does not reveal its key


@dataclass(frozen=True)
class Login:
    """An open session of a person. Pages show `name` instead of the secret key."""

    key: str
    began_at: datetime
    used_at: datetime
    address: str
    browser: str

    @property
    def name(self) -> str:
        """The name of the session on a page."""
        return sha256(self.key.encode()).hexdigest()[:NAME]


def begin(request: HttpRequest, address: str | None, now: datetime) -> None:
    """Store in the session when and from where it began.

    The session ends SESSION_COOKIE_AGE later, even if it is written to in between.
    """
    session = request.session
    session[BEGAN] = session[USED] = now.isoformat()
    session[WHERE] = address or ""
    session[BROWSER] = request.headers.get("User-Agent", "")[:LONGEST]
    session.set_expiry(now + timedelta(seconds=settings.SESSION_COOKIE_AGE))


def logins(person: User, now: datetime) -> list[Login]:
    """Return the open sessions of a person, the last used first."""
    return sorted(_logins(person, now), key=lambda one: one.used_at, reverse=True)


def _logins(person: User, now: datetime) -> Iterator[Login]:
    of_now = person.get_session_auth_hash()
    for row in Session.objects.filter(expire_date__gt=now):
        data = row.get_decoded()
        is_open = constant_time_compare(data.get(HASH_SESSION_KEY, ""), of_now)
        if data.get(SESSION_KEY) != str(person.pk) or not is_open or _is_unused(data, now):
            continue
        began, used = (_moment(data, name) or now for name in (BEGAN, USED))
        yield Login(row.session_key, began, used, data.get(WHERE, ""), data.get(BROWSER, ""))


def end(person: User, names: set[str], now: datetime) -> int:
    """End the sessions of a person with these names and return their number."""
    keys = [one.key for one in logins(person, now) if one.name in names]
    return Session.objects.filter(pk__in=keys).delete()[0]


@require_GET
def still_open(request: HttpRequest) -> HttpResponse:
    """Answer 204 with the token for the forms of an open page, which a new login changes.

    A page asks before it sends a form (`session.js`). Without a session it is led to the login, as
    from any address of the admin.
    """
    return HttpResponse(status=204, headers={"X-CSRFToken": get_token(request)})


# --- each request ---
def keep(get_response: Callable[[HttpRequest], HttpResponse]) -> Any:
    """End a session after SESSION_IDLE seconds without use, and store the use of other ones."""

    def serve(request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or not request.user.is_authenticated:
            return get_response(request)
        now, person = timezone.now(), request.user.get_username()
        if _is_unused(request.session, now):
            request.session.flush()
            log.info("session ended: %s, not used for too long", person)
            return redirect_to_login(request.get_full_path(), reverse("admin:login"))
        used = _moment(request.session, USED)
        if _is_by_a_person(request) and (used is None or now - used >= PACE):
            request.session[USED] = now.isoformat()
        response = get_response(request)
        if response.status_code == 403:
            where = callers.source(request)
            log.warning("refused: %s from %s, %s %s", person, where, request.method, request.path)
        return response

    return serve


def _is_by_a_person(request: HttpRequest) -> bool:
    """Return whether a person made the request. Pages that refresh themselves use `fetch`."""
    return request.method == "POST" or request.headers.get("Sec-Fetch-Dest") != "empty"


def _is_unused(data: Any, now: datetime) -> bool:
    used, idle = _moment(data, USED), timedelta(seconds=settings.SESSION_IDLE)
    return bool(idle) and used is not None and now - used >= idle


def _moment(data: Any, name: str) -> datetime | None:
    found = data.get(name)
    return datetime.fromisoformat(found) if found else None
