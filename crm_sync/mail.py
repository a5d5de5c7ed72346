"""Our mail in plain text, and whether this installation sends mail."""

import hashlib
from collections.abc import Sequence
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage


def mails_are_sent() -> bool:
    """Return whether this installation sends mail."""
    return not settings.EMAIL_BACKEND.endswith(".dummy.EmailBackend")


def message(subject: str, body: str, to: Sequence[str]) -> EmailMessage:
    """Return a mail. The same content has the same Message-ID, to recognise a copy."""
    digest = hashlib.sha256("\n".join((*to, subject, body)).encode()).hexdigest()
    host = urlsplit(settings.PUBLIC_BASE_URL).hostname or "localhost"
    headers = {"Message-ID": f"<{digest[:40]}@{host}>", "Auto-Submitted": "auto-generated"}
    return EmailMessage(subject, body, to=list(to), headers=headers)
