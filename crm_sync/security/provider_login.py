"""Logins with the provider: who that is here, and what they may do (S25).

An account belongs to an issuer and a subject. A mail address or a name never connects one, since
whoever can set it at the provider would take over an account here.
"""

import logging
import secrets
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth import login as log_in
from django.contrib.auth.backends import BaseBackend, ModelBackend
from django.contrib.auth.models import Group, User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare
from django.utils.text import get_text_list
from django.utils.translation import gettext, gettext_noop

from crm_sync.models import ProviderAccount, Workspace
from crm_sync.platform import callers
from crm_sync.security import login, login_limits, provider, sessions
from crm_sync.security.access import whom_to_ask
from crm_sync.security.login_limits import TooManyLogins
from crm_sync.security.per_minute import PerMinute
from crm_sync.sentence import Sentence, sentence

PENDING = "login_at_provider"  # key in the session
LASTS = timedelta(minutes=10)  # how long somebody may take at the provider
BEGINNINGS = 60  # logins of one address that begin in a minute, since each makes a session
LONGEST = 150  # characters of a name that Django stores

log = logging.getLogger(__name__)
begun = PerMinute()
Claims = dict[str, Any]


class LoginRefused(Exception):
    """Nobody is logged in. As a text it is the reason for the log; `said` is for the page."""

    def __init__(self, reason: str, said: str) -> None:
        super().__init__(reason)
        self.said = said


class ProviderBackend(BaseBackend):
    """Keeps the sessions of people whom the provider has logged in, as long as there is one."""

    def get_user(self, user_id: int) -> User | None:
        """Return the person of a session, or None: it ends without a provider."""
        return ModelBackend().get_user(user_id) if provider.is_on() else None


def begin(request: HttpRequest, next_url: str, now: datetime) -> str:
    """Note in the session what the answer must contain, and return the address to go to.

    Raises:
        LoginRefused: the provider cannot be reached.
        TooManyLogins: the address has to wait.
    """
    _limit(request)
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    try:
        url = provider.login_url(state, nonce, verifier)
    except provider.Unavailable as error:
        raise _is_away(error) from error
    request.session[PENDING] = {
        "state": state,
        "nonce": nonce,
        "verifier": verifier,
        "next": next_url,
        "at": now.isoformat(),
    }
    if not request.user.is_authenticated:
        request.session.set_expiry(LASTS)
    return url


def finish(request: HttpRequest, now: datetime) -> str:
    """Log in the person whom the provider sent back. Return the page that they wanted.

    Raises:
        LoginRefused: the answer is not for this login, or the person has no access.
        TooManyLogins: the address has to wait.
    """
    _limit(request, is_new=False)
    pending = request.session.pop(PENDING, None) or {}
    if pending:
        request.session.save()  # each state works once, also if this process dies at the provider
    try:
        claims = _claims(request, pending, now)
        person = _person_of(claims)
    except provider.Unavailable as error:
        raise _is_away(error) from error
    except provider.Untrusted as error:
        said = gettext(
            "The answer of %(provider)s does not belong to this login, so nobody was logged in."
            " Begin again. If it happens again, tell a superuser."
        )
        refused = LoginRefused(str(error), said % {"provider": provider.name()})
        raise _counted(request, refused) from error
    except LoginRefused as refused:
        raise _counted(request, refused) from None
    log_in(request, person, backend=sessions.BY_PROVIDER)
    return str(pending["next"])


def _limit(request: HttpRequest, *, is_new: bool = True) -> None:
    login_limits.AddressLimit().authenticate(request)
    where, now = callers.source(request), time.monotonic()
    if is_new and begun.add(where, now) > BEGINNINGS:
        text = gettext_noop("%(count)s logins within a minute began at your address.")
        wait = max(1, round(begun.wait(where, BEGINNINGS, now)))
        raise TooManyLogins(text, wait, count=BEGINNINGS)


def _is_away(error: provider.Unavailable) -> LoginRefused:
    log.warning("the provider of logins cannot be used: %s", error)
    said = gettext(
        "%(provider)s cannot be reached for a login now. Log in with your password, or try again in"
        " some minutes."
    )
    return LoginRefused(str(error), said % {"provider": provider.name()})


def _counted(request: HttpRequest, refused: LoginRefused) -> LoginRefused:
    """Count a failed login, and write one log line."""
    login_limits.failures.add(callers.source(request), time.monotonic())
    where = login.address(request)
    log.warning("login with the provider failed: from %s: %s", where, refused)
    return refused


def _claims(request: HttpRequest, pending: dict[str, str], now: datetime) -> Claims:
    """Return the claims for an answer to the login that this browser began."""
    state = request.GET.get("state", "")
    is_over = not pending or now - datetime.fromisoformat(pending["at"]) > LASTS
    if is_over or not constant_time_compare(state, pending["state"]):
        said = gettext(
            "This login was finished already, began in another window, or took longer than ten"
            " minutes. Begin again."
        )
        raise LoginRefused("no login of this browser waits for this answer", said)
    if request.GET.get("iss", settings.OIDC_ISSUER) != settings.OIDC_ISSUER:  # RFC 9207
        raise provider.Untrusted("the answer is of another issuer")
    code = request.GET.get("code", "")
    if not code:
        said = gettext("%(provider)s did not log you in. Begin again, or ask there.")
        reason = f"the provider said {request.GET.get('error', 'nothing')[:100]!r}"
        raise LoginRefused(reason, said % {"provider": provider.name()})
    return provider.claims_of(code, nonce=pending["nonce"], verifier=pending["verifier"])


# --- who it is ---
@dataclass(frozen=True)
class _Access:
    """The groups and workspaces that the claims name, by their names here."""

    groups: frozenset[str]
    workspaces: frozenset[str] | None  # None: they are chosen here

    @classmethod
    def of(cls, claims: Claims) -> "_Access":
        named = _texts(claims, settings.OIDC_GROUPS_CLAIM)
        wanted = {settings.OIDC_GROUPS[one] for one in named if one in settings.OIDC_GROUPS}
        groups = Group.objects.filter(name__in=wanted).values_list("name", flat=True)
        if not settings.OIDC_WORKSPACES_CLAIM:
            return cls(frozenset(groups), None)
        slugs = _texts(claims, settings.OIDC_WORKSPACES_CLAIM)
        found = Workspace.objects.filter(slug__in=slugs).values_list("slug", flat=True)
        return cls(frozenset(groups), frozenset(found))


def _texts(claims: Claims, name: str) -> list[str]:
    """Return the texts of a claim, which may be one text or a list."""
    value = claims.get(name)
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]


def person_of(subject: str) -> User | None:
    """Return the person whose account here is connected with a subject of the provider."""
    of = {"provider_account__issuer": settings.OIDC_ISSUER, "provider_account__subject": subject}
    return User.objects.filter(**of).first()


def subject_of(person: User) -> str:
    """Return the subject of the provider with which an account is connected, or ""."""
    of = ProviderAccount.objects.filter(user=person.pk, issuer=settings.OIDC_ISSUER)
    return of.values_list("subject", flat=True).first() or ""


def connect(person: User, subject: str) -> None:
    """Connect an account with a subject of the provider, and with no other; "" with none."""
    if not subject:
        ProviderAccount.objects.filter(user=person).delete()
        return
    now = {"issuer": settings.OIDC_ISSUER, "subject": subject}
    ProviderAccount.objects.update_or_create(user=person, defaults=now)


def _person_of(claims: Claims) -> User:
    """Return the person of the claims, with the groups and workspaces that these name.

    Raises:
        LoginRefused: they have no access.
    """
    subject, access = claims["sub"], _Access.of(claims)
    person = person_of(subject)
    if person is not None:
        _set(person, access)
    if not access.groups:
        raise _without_group(subject)
    if person is None:
        return _made(claims, access)
    if not (person.is_active and person.is_staff):
        people = _whom()
        if people:
            said = gettext("Your account here is switched off. Ask %(people)s.")
        else:
            said = gettext("Your account here is switched off. Ask a superuser.")
        reason = f"{person.get_username()} is switched off, or has no staff status"
        raise LoginRefused(reason, said % {"people": people})
    return person


def _without_group(subject: str) -> LoginRefused:
    said = gettext(
        "Your account at %(provider)s gives no access here. Ask there for one of these groups:"
        " %(groups)s."
    )
    groups = get_text_list(sorted(settings.OIDC_GROUPS))
    return LoginRefused(
        f"subject {subject} is in no group of OIDC_GROUPS",
        said % {"provider": provider.name(), "groups": groups},
    )


def _whom() -> str:
    return get_text_list(whom_to_ask("auth.change_user"))


@transaction.atomic
def _set(person: User, access: _Access) -> None:
    """Give the person exactly these groups and workspaces, and note a change in the history."""
    of_person: Any = person
    before = _Access(
        frozenset(person.groups.values_list("name", flat=True)),
        None
        if access.workspaces is None
        else frozenset(of_person.workspaces.values_list("slug", flat=True)),
    )
    if before == access:
        return
    person.groups.set(Group.objects.filter(name__in=access.groups))
    if access.workspaces is not None:
        named = Workspace.objects.filter(slug__in=access.workspaces)
        of_person.workspaces.set(named.values_list("pk", flat=True))
    _note(person, CHANGE, _told(access))


def _told(access: _Access) -> Sentence:
    groups = ", ".join(sorted(access.groups)) or "-"
    if access.workspaces is None:
        return sentence("Access by the provider: groups %(groups)s.", groups=groups)
    return sentence(
        "Access by the provider: groups %(groups)s; workspaces %(workspaces)s.",
        groups=groups,
        workspaces=", ".join(sorted(access.workspaces)) or "-",
    )


def _note(person: User, flag: int, text: Sentence) -> None:
    LogEntry.objects.log_actions(person.pk, User.objects.filter(pk=person.pk), flag, text.dumped)


def _made(claims: Claims, access: _Access) -> User:
    """Return a new account for a subject that has none.

    Raises:
        LoginRefused: somebody else here has the name or the mail address.
    """
    subject, email = claims["sub"], _text(claims, "email")
    named = [one for one in (_text(claims, "preferred_username"), email) if one]
    taken = Q(pk__in=())
    for one in named:
        taken |= Q(username__iexact=one) | Q(email__iexact=one)
    if User.objects.filter(taken).exists():
        raise _not_connected(subject)
    person = User(
        username=_username([*named, subject], subject),
        email=email if claims.get("email_verified") is True else "",
        first_name=_text(claims, "given_name"),
        last_name=_text(claims, "family_name"),
        is_staff=True,
    )
    person.set_unusable_password()
    try:
        with transaction.atomic():
            person.save(force_insert=True)
            connect(person, subject)
            text = sentence("Made at the first login with %(provider)s.", provider=provider.name())
            _note(person, ADDITION, text)
            _set(person, access)
    except IntegrityError:
        made = person_of(subject)  # by another login at the same moment
        if made is None:
            raise _not_connected(subject) from None
        return made
    return person


def _text(claims: Claims, name: str) -> str:
    """Return a claim as Django stores a name, "" if it is too long for one."""
    found = claims.get(name)
    found = found.strip() if isinstance(found, str) else ""
    return found if len(found) <= LONGEST else ""


def _username(candidates: list[str], subject: str) -> str:
    for one in candidates:
        try:
            UnicodeUsernameValidator()(one)
        except ValidationError:
            continue
        if len(one) <= LONGEST:
            return one
    return f"person-{sha256(subject.encode()).hexdigest()[:12]}"


def _not_connected(subject: str) -> LoginRefused:
    people = _whom()
    if people:
        said = gettext(
            "An account with your name or mail address exists here, and is not connected with your"
            " account at %(provider)s. Ask %(people)s to enter this subject on its page:"
            " %(subject)s"
        )
    else:
        said = gettext(
            "An account with your name or mail address exists here, and is not connected with your"
            " account at %(provider)s. Ask a superuser to enter this subject on its page:"
            " %(subject)s"
        )
    return LoginRefused(
        f"subject {subject} is not connected, and its name or mail address is taken",
        said % {"provider": provider.name(), "people": people, "subject": subject},
    )
