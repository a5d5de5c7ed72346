"""Our mail in plain text, and whether this installation sends mail."""

import hashlib
from collections.abc import Sequence
from smtplib import SMTPDataError, SMTPException, SMTPRecipientsRefused
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage

from crm_sync.text import line_for_people

# What sending a mail raises. ValueError: no header of a mail can hold the address.
MAIL_ERRORS = (OSError, SMTPException, ValueError)


def mails_are_sent() -> bool:
    """Return whether this installation sends mail."""
    return not settings.EMAIL_BACKEND.endswith(".dummy.EmailBackend")


def is_of_one_mail(error: Exception) -> bool:
    """Return whether an error of a mail is about its recipient or text, so that others may go.

    After any other error the server takes no mail, and each further try could take EMAIL_TIMEOUT.
    """
    return isinstance(error, SMTPRecipientsRefused | SMTPDataError | ValueError)


def message(subject: str, lines: Sequence[str], to: Sequence[str]) -> EmailMessage:
    """Return a mail. The same content has the same Message-ID, to recognise a copy.

    Args:
        lines: each of them is one line of the mail, whatever value it holds (S4).
    """
    words = line_for_people(subject).split(" ")  # no others: French has blanks that do not break
    subject = " ".join(word for word in words if word)
    body = "".join(f"{line_for_people(one).rstrip()}\n" for one in lines)
    digest = hashlib.sha256("\n".join((*to, subject, body)).encode()).hexdigest()
    host = urlsplit(settings.PUBLIC_BASE_URL).hostname or "localhost"
    headers = {"Message-ID": f"<{digest[:40]}@{host}>", "Auto-Submitted": "auto-generated"}
    return EmailMessage(subject, body, to=list(to), headers=headers)
