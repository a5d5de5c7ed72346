"""Logins: a log line for each failure, a lock against guessing, the password asked again (S17)."""

import logging
import time
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth import authenticate
from django.contrib.auth.models import AbstractBaseUser, User
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from crm_sync import login_limits
from crm_sync.platform import callers

log = logging.getLogger(__name__)

CONFIRMED = "confirmed_at"  # in the session
LASTS = timedelta(minutes=10)
WRONG = "This is not your password."


def address(request: HttpRequest) -> str | None:
    """Return the address that a login comes from; None where it is none, as by a socket."""
    try:
        return str(ip_address(callers.source(request)))
    except ValueError:
        return None


def locked_out(
    request: HttpRequest, _: HttpResponse | None = None, credentials: Any = None
) -> HttpResponse:
    """Say that nobody can log in with this name from here for a while."""
    minutes = round(settings.AXES_COOLOFF_TIME.total_seconds() / 60)
    context = admin.site.each_context(request) | {
        "title": "Log in",
        "text": f"{settings.AXES_FAILURE_LIMIT} failed logins in a row. For {minutes} minutes"
        " nobody can log in with this name from your address, not even with the right password.",
        "advice": "Wait, then try again. If you have forgotten your password, ask a superuser for a"
        " new one.",
    }
    return render(request, "crm_sync/locked_out.html", context, status=429)


def needs_password(request: HttpRequest, now: datetime) -> bool:
    """Tell whether the password is to be asked before a sensitive change.

    Not within ten minutes of the last time, and not of somebody who has none here, whom a proxy
    has let in.
    """
    if not getattr(request.user, "has_usable_password", bool)():
        return False
    found = request.session.get(CONFIRMED, "")
    return not found or now - datetime.fromisoformat(found) > LASTS


def is_confirmed(request: HttpRequest, password: str, now: datetime) -> bool:
    """Tell whether the password, where it has to be asked, is that of the user.

    A wrong one counts like one at the login.
    """
    if not needs_password(request, now):
        return True
    name = request.user.get_username()
    if not password or authenticate(request, username=name, password=password) != request.user:
        return False
    request.session[CONFIRMED] = now.isoformat()
    return True


def _in(sender: Any, request: HttpRequest, user: AbstractBaseUser, **_: Any) -> None:
    """Count a login as a confirmation."""
    request.session[CONFIRMED] = timezone.now().isoformat()


def _failed(
    sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any
) -> None:
    """Count it, and write one log line.

    A name without an account is left out of it, since it may be a password.
    """
    if request is not None:
        login_limits.failures.add(callers.source(request), time.monotonic())
    name = str(credentials.get("username") or "")
    known = User.objects.filter(username=name).exists()
    where = address(request) if request is not None else None
    locked = ", and is locked out" if getattr(request, "axes_locked_out", False) else ""
    log.warning("login failed: %s from %s%s", name if known else "an unknown name", where, locked)


def listen() -> None:
    """Connect the signals of logins; after `axes`, which says who is locked out."""
    user_logged_in.connect(_in, dispatch_uid="crm_sync.login.in")
    user_login_failed.connect(_failed, dispatch_uid="crm_sync.login.failed")
