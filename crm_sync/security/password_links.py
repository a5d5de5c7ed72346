"""Links with which people set a password: after an invitation, or because they forgot theirs (S17).

A link holds Django's token, which ends with PASSWORD_RESET_TIMEOUT, with the next login, and with
any change of password or mail address. So it works once. It is in the query of its address, which
none of our logs contains (S3).
"""

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.db import close_old_connections
from django.utils import translation
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import get_language, gettext, gettext_noop, ngettext

from crm_sync import hooks
from crm_sync.links import absolute
from crm_sync.mail import MAIL_ERRORS, message
from crm_sync.security.login_limits import TooManyLogins
from crm_sync.security.per_minute import PerMinute
from crm_sync.translated import number

SET = "choose_password"  # the name of the page that a link opens
MOST = 5  # requests of one address in a minute
IN_ALL = 60  # requests in a minute, so that nobody fills the mailboxes of others from everywhere

log = logging.getLogger(__name__)
asked, mailed = PerMinute(), PerMinute()
# Mails are sent here, so that a page takes as long for an address without an account.
outbox = ThreadPoolExecutor(max_workers=1, thread_name_prefix="password-links")


def link_of(person: User) -> str:
    """Return a new address with which the person can set a password."""
    key = urlsafe_base64_encode(force_bytes(person.pk))
    token = default_token_generator.make_token(person)
    return f"{absolute(SET)}?{urlencode({'link': f'{key}.{token}'})}"


def lasts() -> str:
    """Return how long a link works, in words."""
    hours = round(settings.PASSWORD_RESET_TIMEOUT / 3600)
    if hours >= 48:
        days = hours // 24
        return ngettext("%(count)s day", "%(count)s days", days) % {"count": number(days)}
    return ngettext("%(count)s hour", "%(count)s hours", hours) % {"count": number(hours)}


def invite(person: User) -> None:
    """Mail to a new person, in their language, how they log in for the first time.

    Raises:
        OSError, SMTPException, ValueError: the mail could not be sent (`MAIL_ERRORS`).
    """
    with translation.override(hooks.language_of(person) or settings.LANGUAGE_CODE):
        said = {"product": settings.UNFOLD["SITE_TITLE"], "name": person.get_username()}
        once = gettext("The link works once, within %(span)s. After that, ask for another one.")
        lines = [
            gettext("You can log in to %(product)s as %(name)s.") % said,
            gettext("Set your password here:"),
            *("", link_of(person), ""),
            once % {"span": lasts()},
        ]
        subject = gettext("Your account for %(product)s") % said
    message(subject, lines, [person.email]).send()
    log.info("invited: %s", person.get_username())


def ask(email: str, source: str) -> None:
    """Mail a link to each account with this address, later. Nothing shows whether there is one.

    If the language of a person is not known, the mail is in that of whoever asks.

    Args:
        source: the address that asks, for the limit.

    Raises:
        TooManyLogins: too many were asked for within a minute.
    """
    now = time.monotonic()
    for key, most in ((source, MOST), ("", IN_ALL)):
        wait = asked.wait(key, most, now)
        if wait:
            text = gettext_noop("Too many links were asked for.")
            raise TooManyLogins(text, max(1, round(wait)))
        asked.add(key, now)
    outbox.submit(_mail_links, email, get_language() or settings.LANGUAGE_CODE)


def able_to_reset(email: str) -> list[User]:
    """Return the people with this address who log in with a password here."""
    found = User.objects.filter(email__iexact=email, is_active=True, is_staff=True)
    return [one for one in found if email and one.has_usable_password()]


def _mail_links(email: str, language: str) -> None:
    close_old_connections()
    try:
        for person in able_to_reset(email):
            if mailed.add(person.pk, time.monotonic()) == 1:
                with translation.override(hooks.language_of(person) or language):
                    _mail_link(person)
    except Exception:  # a thread has nobody who would see it
        log.exception("links for forgotten passwords could not be mailed")
    finally:
        close_old_connections()


def _mail_link(person: User) -> None:
    name = person.get_username()
    somebody = gettext("Somebody, probably you, forgot the password of %(name)s.")
    once = gettext(
        "The link works once, within %(span)s. If it was not you, do nothing: the password stays as"
        " it is."
    )
    lines = [
        somebody % {"name": name},
        gettext("Set another one here:"),
        *("", link_of(person), ""),
        once % {"span": lasts()},
    ]
    product = settings.UNFOLD["SITE_TITLE"]
    subject = gettext("Another password for %(product)s") % {"product": product}
    try:
        # To the stored address: what was typed may only look like it.
        message(subject, lines, [person.email]).send()
    except MAIL_ERRORS as error:
        log.warning("forgotten password: no mail to %s: %s", name, type(error).__name__)
    else:
        log.info("forgotten password: mailed a link to %s", name)
