"""Pure but for the settings: the mail that tells a person what happened."""

from django.conf import settings


def mails_are_sent() -> bool:
    """Tell whether this installation sends mail at all."""
    return not settings.EMAIL_BACKEND.endswith(".dummy.EmailBackend")
