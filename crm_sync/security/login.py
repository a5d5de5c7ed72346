"""Logins: a log line for each, a lock against guesses, and password confirmations (S17)."""

import logging
import time
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth import BACKEND_SESSION_KEY, authenticate
from django.contrib.auth.models import AbstractBaseUser, User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext, gettext_lazy

from crm_sync.platform import callers
from crm_sync.security import login_limits, second_factor, sessions

log = logging.getLogger(__name__)

CONFIRMED = "confirmed_at"  # key in the session
LASTS = timedelta(minutes=10)
UNKNOWN, DIGEST = "unknown", 12  # how a name without an account is stored
WRONG = gettext_lazy("This is not your password.")


def address(request: HttpRequest) -> str | None:
    """Return the IP address of a login, or None if there is none, for example with a socket."""
    try:
        return str(ip_address(callers.source(request)))
    except ValueError:
        return None


def name_kept(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """Return the name under which a failed login is counted and stored.

    A name without an account is replaced by a keyed digest, because it may be a password.
    """
    name = str((credentials or {}).get("username") or request.POST.get("username") or "")
    known: dict[str, str] = request.__dict__.setdefault("_names_kept", {})
    if name not in known:
        has_account = User.objects.filter(username=name).exists()
        digest = salted_hmac("crm_sync.security.login", name, algorithm="sha256").hexdigest()
        known[name] = name if has_account else f"{UNKNOWN} {digest[:DIGEST]}"
    return known[name]


def locked_out(
    request: HttpRequest, _: HttpResponse | None = None, credentials: Any = None
) -> HttpResponse:
    """Answer 429: nobody can log in with this name from this address for some minutes."""
    minutes = round(settings.AXES_COOLOFF_TIME.total_seconds() / 60)
    text = gettext(
        "%(count)s failed logins in a row. For %(minutes)s minutes nobody can log in with this name"
        " from your address, not even with the right password."
    )
    context = admin.site.each_context(request) | {
        "title": gettext("Log in"),
        "text": text % {"count": settings.AXES_FAILURE_LIMIT, "minutes": minutes},
        "advice": gettext(
            "Wait, then try again. If you have forgotten your password, ask a superuser for a new"
            " one."
        ),
    }
    return render(request, "crm_sync/accounts/locked_out.html", context, status=429)


def needs_password(request: HttpRequest, now: datetime) -> bool:
    """Return whether a sensitive change needs the password.

    It is not needed within ten minutes of the last confirmation, or from a person without a
    password here, whom a proxy has authenticated.
    """
    if not getattr(request.user, "has_usable_password", bool)():
        return False
    found = request.session.get(CONFIRMED, "")
    return not found or now - datetime.fromisoformat(found) > LASTS


def wrong_password() -> str:
    """Return what is said after a wrong password, with its effect."""
    nothing = gettext("Nothing was changed.")
    return f"{WRONG} {nothing}"


def is_confirmed(request: HttpRequest, password: str, now: datetime) -> bool:
    """Return whether the password is right, or not needed; see `is_own`."""
    if not needs_password(request, now):
        return True
    if not is_own(request, password):
        return False
    request.session[CONFIRMED] = now.isoformat()
    return True


def is_own(request: HttpRequest, password: str) -> bool:
    """Return whether this is the person's password. A wrong one counts as a failed login.

    Of a name that is locked, not even the right one is taken.
    """
    name = request.user.get_username()
    return bool(password) and (
        authenticate(request, username=name, password=password) == request.user
    )


def _in(sender: Any, request: HttpRequest, user: User, **_: Any) -> None:
    """Treat a login as a confirmation, and write one log line.

    An app that waits for its first code is deleted: another person may have begun it.
    """
    now, where = timezone.now(), address(request)
    request.session[CONFIRMED] = now.isoformat()
    sessions.begin(request, where, now)
    if second_factor.is_on():
        second_factor.give_up(user)
    has_code = getattr(user, "otp_device", None) is not None
    by_provider = request.session.get(BACKEND_SESSION_KEY) == sessions.BY_PROVIDER
    how = ", with a code" if has_code else ", with the provider" if by_provider else ""
    log.info("login: %s from %s%s", user.get_username(), where, how)


def _out(sender: Any, request: HttpRequest, user: AbstractBaseUser | None, **_: Any) -> None:
    """Write one log line about a logout."""
    if user is not None:
        log.info("logout: %s from %s", user.get_username(), address(request))


def _failed(
    sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any
) -> None:
    """Count a failed login, and write one log line.

    A name without an account is not logged, because it may be a password.
    """
    if request is not None:
        login_limits.failures.add(callers.source(request), time.monotonic())
    name = str(credentials.get("username") or "")
    known = User.objects.filter(username=name).exists()
    where = address(request) if request is not None else None
    locked = ", and is locked out" if getattr(request, "axes_locked_out", False) else ""
    log.warning("login failed: %s from %s%s", name if known else "an unknown name", where, locked)


def listen() -> None:
    """Connect the signals of logins, after `axes`, which marks locked out requests."""
    user_logged_in.connect(_in, dispatch_uid="crm_sync.security.login.in")
    user_logged_out.connect(_out, dispatch_uid="crm_sync.security.login.out")
    user_login_failed.connect(_failed, dispatch_uid="crm_sync.security.login.failed")
