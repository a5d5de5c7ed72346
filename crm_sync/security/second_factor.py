"""The second factor of a login: a code of an app, or a recovery code (S17).

ADMIN_SECOND_FACTOR decides who needs it. `off`: nobody. `optional`: people who have set it up.
`required`: everybody, and a person without it gets only the page that sets it up. django-otp checks
the codes, with a pause after wrong codes that doubles each time.
"""

import secrets
from base64 import b32encode
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import django_otp
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, logout
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken

from crm_sync import row_locks
from crm_sync.models import AuthenticatorApp
from crm_sync.secrets import SecretUnreadable
from crm_sync.security import sessions
from crm_sync.translated import number

OFF, OPTIONAL, REQUIRED = "off", "optional", "required"
DIGITS = 6  # of an app's code, which is shorter than a recovery code
RECOVERY_CODES, BITS = 10, 80  # enough bits that nobody finds a code by its digest
LENGTH = BITS // 5  # of a recovery code and of its digest, in base 32
WAITS = timedelta(minutes=10)  # how long a new app waits for its first code
MINE = "admin:crm_sync_authenticatorapp_mine"
OPEN = (MINE, "admin:logout", sessions.STILL_OPEN)  # for people who have to set it up first


def is_on() -> bool:
    """Return whether anybody can need a second factor."""
    return bool(settings.ADMIN_SECOND_FACTOR != OFF)


def is_required() -> bool:
    """Return whether everybody has to set it up."""
    return bool(settings.ADMIN_SECOND_FACTOR == REQUIRED)


def concerns(person: Any) -> bool:
    """Return whether a person can need it: not without a password here, as behind a proxy."""
    return is_on() and person.is_authenticated and bool(person.has_usable_password())


def app_of(person: User) -> Any:
    """Return the app that a person has set up, or None."""
    return AuthenticatorApp.objects.devices_for_user(person, confirmed=True).first()


# --- codes ---
def used(person: User, code: str) -> tuple[Any, str]:
    """Use up a code of the app or a recovery code; return its device, or None and the reason."""
    code = without_blanks(code)
    is_of_app = code.isdecimal() and len(code) == DIGITS
    kind = AuthenticatorApp if is_of_app else StaticDevice
    device = kind.objects.devices_for_user(person, confirmed=True).first()
    fault = refusal(person, device, code if is_of_app else digest(code))
    return (None, fault) if fault else (device, "")


def without_blanks(code: str) -> str:
    """Return a code without blanks and capitals, which people may type."""
    return "".join(code.split()).lower()


def refusal(person: User, device: Any, code: str) -> str:
    """Use up a code of a device and return why it is refused, or ""."""
    if not code:
        return gettext("Enter the code that your app shows, or a recovery code.")
    if device is None:
        return gettext("This code is wrong.")
    is_allowed, why = device.verify_is_allowed()
    if not is_allowed:
        seconds = (why["locked_until"] - timezone.now()).total_seconds()
        text = gettext("Too many wrong codes. Wait %(span)s, then enter a new one.")
        return text % {"span": _span(seconds)}
    try:
        if django_otp.verify_token(person, device.persistent_id, code):
            return ""
    except SecretUnreadable:
        return gettext("The key of your app cannot be read here any more. Enter a recovery code.")
    return gettext(
        "This code is wrong, too old or used before. Enter the one that your app shows now."
    )


def _span(seconds: float) -> str:
    if seconds < 100:
        count = max(round(seconds), 1)
        text = ngettext("%(count)s second", "%(count)s seconds", count)
    elif seconds < 6000:
        count = round(seconds / 60)
        text = ngettext("%(count)s minute", "%(count)s minutes", count)
    else:
        count = round(seconds / 3600)
        text = ngettext("%(count)s hour", "%(count)s hours", count)
    return text % {"count": number(count)}


# --- set up and remove ---
def begin(person: User) -> Any:
    """Make a device with a new secret. It is needed only after its first code."""
    give_up(person)
    return AuthenticatorApp.objects.create(user=person, name="App", confirmed=False)


def give_up(person: User) -> None:
    """Delete a device that still waits for its first code."""
    AuthenticatorApp.objects.devices_for_user(person, confirmed=False).delete()


def begun(person: User, now: datetime) -> Any:
    """Return the device that waits for its first code, or None if it has waited for too long."""
    waiting = AuthenticatorApp.objects.devices_for_user(person, confirmed=False)
    return waiting.filter(created_at__gt=now - WAITS).first()


@transaction.atomic
def finish(person: User, device: Any) -> list[str]:
    """Confirm a device, which replaces any other; return new recovery codes.

    Nothing changes, and there are no codes, if the person has begun with another device since.
    """
    if not AuthenticatorApp.objects.filter(pk=device.pk).update(confirmed=True):
        return []
    AuthenticatorApp.objects.filter(user=person).exclude(pk=device.pk).delete()
    return new_recovery_codes(person)


@transaction.atomic
def new_recovery_codes(person: User) -> list[str]:
    """Make new recovery codes, each valid once, which replace the old ones."""
    row_locks.lock(User.objects.filter(pk=person.pk))  # of two requests at once the later one
    StaticDevice.objects.filter(user=person).delete()
    device = StaticDevice.objects.create(user=person, name="Recovery codes")
    codes = [_base32(secrets.token_bytes(BITS // 8)) for _ in range(RECOVERY_CODES)]
    rows = [StaticToken(device=device, token=digest(code)) for code in codes]
    StaticToken.objects.bulk_create(rows)
    return codes


def digest(code: str) -> str:
    """Return the stored digest of a recovery code (S5). A code of `addstatictoken` is unchanged."""
    if len(code) != LENGTH:
        return code
    return _base32(sha256(code.encode()).digest()[: BITS // 8])


def _base32(data: bytes) -> str:
    return b32encode(data).decode().lower()


def recovery_codes_left(person: User) -> int:
    """Return the number of unused recovery codes."""
    return int(StaticToken.objects.filter(device__user=person).count())


@transaction.atomic
def remove(people: Iterable[int]) -> None:
    """Delete the apps and recovery codes of people, by their keys."""
    for kind in (AuthenticatorApp, StaticDevice):
        kind.objects.filter(user__in=people).delete()


# --- each request ---
def gate(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Stop requests of sessions without the second factor. The API has no sessions."""

    def serve(request: HttpRequest) -> HttpResponse:
        has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
        stopped = _stopped(request) if is_on() and has_session else None
        return stopped or get_response(request)

    return serve


def _stopped(request: HttpRequest) -> HttpResponse | None:
    person: Any = request.user
    if not concerns(person) or person.is_verified():
        return None
    if request.session.get(BACKEND_SESSION_KEY) == sessions.BY_PROVIDER:
        return None  # a second factor is the provider's
    if app_of(person) is not None:  # the session is older than the second factor
        logout(request)
        return redirect_to_login(request.get_full_path(), reverse("admin:login"))
    if is_required() and request.path not in [reverse(name) for name in OPEN]:
        return HttpResponseRedirect(reverse(MINE))
    return None
