"""Connecting a workspace: check the input, try a read, and store the connection.

`manage.py add_workspace` and the page of the credentials both use this module.
"""

from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import transaction

from crm_sync import hooks
from crm_sync.models import Workspace, hold
from crm_sync.platform import addresses
from crm_sync.platform.client import DEADLINE, Client
from crm_sync.platform.credentials import ClientCredentials, Credentials, FixedToken
from crm_sync.secrets import SecretUnreadable
from crm_sync.sentence import Sentence, sentence

CREDENTIALS = ["fixed_token", "client_id", "client_secret"]
CALLBACK = ["auth_secret", "previous_auth_secret"]
STORED = ["base_url", *CREDENTIALS, "credentials_at"]


@dataclass(frozen=True)
class Given:
    """The input of a person: a token, or a client id with its secret (A6)."""

    slug: str
    base_url: str
    token: str = field(default="", repr=False)
    client_id: str = ""
    secret: str = field(default="", repr=False)

    @property
    def credentials(self) -> Credentials:
        """The credentials for our calls."""
        if self.token:
            return FixedToken(self.token)
        return ClientCredentials(self.client_id, self.secret)

    @property
    def kind(self) -> Sentence:
        """The kind of credentials in words, without their secrets."""
        if self.token:
            return sentence("fixed token")
        return sentence("client %(client)s", client=self.client_id)


def slug_fault(slug: str) -> Sentence | None:
    """Return why this cannot name a workspace, or None."""
    try:
        validate_slug(slug)
    except ValidationError:
        return sentence("a name has letters, digits, hyphens and underscores only")
    return None


def try_out(given: Given, *, deadline: float = DEADLINE) -> None:
    """Try the connection by reading one user, which changes nothing.

    Raises:
        SyncError: the platform cannot be reached, or does not accept the credentials.
    """
    known = _known_secrets(given.slug)
    client = Client(given.base_url, given.credentials, deadline=deadline, secrets=known)
    next(client.users(size=1), None)


def store(
    given: Given,
    *,
    now: datetime,
    actor: AbstractBaseUser | None = None,
    program: str = "",
) -> tuple[Workspace, bool]:
    """Write the connection; return the workspace, and whether it is new.

    A workspace that is new on a live platform begins in watch only (I34).
    """
    workspace, is_new = planned(given)
    known = Workspace.objects.filter(pk=workspace.pk).values_list("base_url", flat=True).first()
    workspace.credentials_at = now
    with transaction.atomic():
        workspace.save(update_fields=None if is_new else STORED)
        if is_live(given.base_url) and not is_live(known or ""):
            hold.watch_only(workspace.pk, now=now, actor=actor, program=program)
    _forget_unreadable(workspace)
    workspace.resume()
    for begin in hooks.plugged().after_connected:
        begin(workspace.pk, now)
    return workspace, is_new


def is_live(base_url: str) -> bool:
    """Return whether this is a platform, and neither a sandbox on this machine nor ""."""
    host = urlsplit(base_url).hostname
    return host is not None and not addresses.is_local(host)


def planned(given: Given) -> tuple[Workspace, bool]:
    """Return the workspace as it would be stored, and whether it is new."""
    # Deferred, so that secrets that cannot be decrypted any more can be entered again.
    known = Workspace.objects.filter(slug=given.slug).defer(*CREDENTIALS, *CALLBACK).first()
    workspace = known or Workspace(slug=given.slug)
    workspace.base_url = given.base_url
    workspace.fixed_token = given.token
    workspace.client_id, workspace.client_secret = given.client_id, given.secret
    return workspace, known is None


def _forget_unreadable(workspace: Workspace) -> None:
    """Delete callback secrets that no key decrypts; configure_webhook then makes a new one."""
    try:
        workspace.refresh_from_db(fields=CALLBACK)
    except SecretUnreadable:
        workspace.auth_secret = workspace.previous_auth_secret = ""
        workspace.save(update_fields=CALLBACK)


def _known_secrets(slug: str) -> tuple[str, ...]:
    """Return the secrets that the workspace has had until now: the platform may repeat them."""
    try:
        return next((one.secrets for one in Workspace.objects.filter(slug=slug)), ())
    except SecretUnreadable:
        return ()
