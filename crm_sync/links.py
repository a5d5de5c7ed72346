"""Absolute addresses of our pages, for mails, calendars and messages."""

from django.conf import settings
from django.urls import reverse


def absolute(view: str, *args: object) -> str:
    """Return the address of a view under PUBLIC_BASE_URL.

    Raises:
        NoReverseMatch: there is no view of this name.
    """
    return f"{settings.PUBLIC_BASE_URL}{reverse(view, args=args)}"
