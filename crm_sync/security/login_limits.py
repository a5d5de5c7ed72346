"""Limits the cost of logins: hashing a password takes a third of a second.

Without these limits, a few login loops use all processors of the machine (S17). Each process counts
for itself, in bounded memory.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_noop, ngettext

from crm_sync.platform import callers
from crm_sync.security.per_minute import PerMinute

AT_ONCE = 2  # hashes in one process
FAILURES = 30  # of one address in a minute
SOON = 2  # seconds of `Retry-After` while others are logging in

log = logging.getLogger(__name__)
hashing = threading.BoundedSemaphore(AT_ONCE)


class TooManyLogins(Exception):
    """A login that is refused before its password is checked; `wait` is in seconds.

    The log has the text in English, the page in the language of its reader.
    """

    def __init__(self, text: str, wait: int, **values: int) -> None:
        super().__init__(text % values)
        self.text, self.wait, self.values = text, wait, values


class BoundedHasher(PBKDF2PasswordHasher):
    """Django's default hasher, limited to two hashes at a time in a process."""

    def encode(self, password: str, salt: Any, iterations: int | None = None) -> str:
        """Hash the password.

        Raises:
            TooManyLogins: two other passwords are being hashed.
        """
        if not hashing.acquire(blocking=False):
            raise TooManyLogins(gettext_noop("Several people are logging in at this moment."), SOON)
        try:
            return super().encode(password, salt, iterations)
        finally:
            hashing.release()


failures = PerMinute()
refusals = PerMinute()  # the first one of an address is logged


class AddressLimit:
    """An authentication backend that only refuses logins, and runs before the others."""

    def authenticate(self, request: HttpRequest | None, **_: Any) -> None:
        """Refuse an address after too many failures, before a password is hashed.

        Raises:
            TooManyLogins: the address has to wait.
        """
        if request is None:
            return
        wait = failures.wait(callers.source(request), FAILURES, time.monotonic())
        if wait:
            text = gettext_noop("%(count)s failed logins within a minute came from your address.")
            raise TooManyLogins(text, max(1, round(wait)), count=FAILURES)


class Refusals:
    """A middleware that answers refused logins."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._answer = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on."""
        return self._answer(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer 429, with the time until the next try."""
        if not isinstance(error, TooManyLogins):
            return None
        where = callers.source(request)
        if refusals.add(where, time.monotonic()) == 1:
            log.warning("login refused: %s: %s", where, error)
        advice = ngettext(
            "Try again in %(count)s second.", "Try again in %(count)s seconds.", error.wait
        )
        context = admin.site.each_context(request) | {
            "title": gettext("Log in"),
            "text": gettext(error.text) % error.values,
            "advice": advice % {"count": error.wait},
        }
        answer = render(request, "crm_sync/accounts/locked_out.html", context, status=429)
        answer.headers["Retry-After"] = str(error.wait)
        return answer
