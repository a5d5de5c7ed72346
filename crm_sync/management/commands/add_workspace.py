"""manage.py add_workspace: connect a workspace of the platform."""

import os
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.core.validators import validate_slug
from django.utils import timezone

from crm_sync import registry
from crm_sync.management.base import USAGE, SyncCommand
from crm_sync.models import Workspace
from crm_sync.platform import addresses
from crm_sync.platform.client import Client
from crm_sync.platform.credentials import ClientCredentials, FixedToken
from crm_sync.platform.errors import SyncError
from crm_sync.secrets import SecretUnreadable

CREDENTIALS = ["fixed_token", "client_id", "client_secret"]
CALLBACK = ["auth_secret", "previous_auth_secret"]


class Command(SyncCommand):
    """Stores the connection, its secrets encrypted, after the platform has accepted them."""

    help = "Connect a workspace: its address and a token, or a client id and secret."
    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the address and the credentials, which come from the environment only."""
        super().add_arguments(parser)
        parser.add_argument("slug")
        parser.add_argument("--base-url", required=True, help="the platform's base address")
        parser.add_argument("--token-env", metavar="NAME", help="variable that holds a fixed token")
        parser.add_argument("--client-id", metavar="ID")
        parser.add_argument(
            "--client-secret-env", metavar="NAME", help="variable that holds the client secret"
        )
        parser.add_argument("--no-check", action="store_true", help="do not ask the platform first")

    def handle(self, *_: Any, **options: Any) -> None:
        """Create the workspace, or give an existing one this address and these credentials."""
        slug, base_url = options["slug"], options["base_url"].rstrip("/")
        self._check_arguments(slug, base_url)
        token, client_id, secret = self._credentials(options)
        if not options["no_check"]:
            credentials = FixedToken(token) if token else ClientCredentials(client_id, secret)
            client = Client(base_url, credentials, secrets=_known_secrets(slug))
            try:
                next(client.users(size=1), None)
            except SyncError as error:
                self.fail_because(error, about=base_url)
        # Deferred, so that secrets which no key opens any more can be entered again.
        known = Workspace.objects.filter(slug=slug).defer(*CREDENTIALS, *CALLBACK).first()
        workspace = known or Workspace(slug=slug)
        workspace.base_url = base_url
        workspace.fixed_token, workspace.client_id, workspace.client_secret = (
            token,
            client_id,
            secret,
        )
        if not options["dry_run"]:
            workspace.save(update_fields=["base_url", *CREDENTIALS] if known else None)
            self._forget_unreadable(workspace)
            workspace.answered()
            for begin in registry.hooks().after_connected:
                begin(workspace.pk, timezone.now())
        done = "would be " if options["dry_run"] else ""
        done += "changed" if known else "added"
        how = "not checked against" if options["no_check"] else "connected to"
        self.emit(
            {"workspace": slug, "callback_url": workspace.callback_url, "result": done},
            [
                f"workspace {slug} {done}, {how} {base_url}",
                *([] if workspace.auth_secret else [f"next: manage.py configure_webhook {slug}"]),
            ],
            as_json=options["json"],
        )

    def _check_arguments(self, slug: str, base_url: str) -> None:
        try:
            validate_slug(slug)
        except ValidationError:
            self.fail(f"{slug!r} is no slug: letters, digits, hyphens and underscores", USAGE)
        if fault := addresses.fault(base_url):
            self.fail(f"--base-url {base_url!r} {fault}", USAGE)

    def _forget_unreadable(self, workspace: Workspace) -> None:
        """Drop callback secrets that no key opens; configure_webhook then makes a new one."""
        try:
            workspace.refresh_from_db(fields=CALLBACK)
        except SecretUnreadable:
            workspace.auth_secret = workspace.previous_auth_secret = ""
            workspace.save(update_fields=CALLBACK)

    def _credentials(self, options: dict[str, Any]) -> tuple[str, str, str]:
        """Return token, client id and client secret; either the first or the other two."""
        by_client = bool(options["client_id"] or options["client_secret_env"])
        if bool(options["token_env"]) == by_client:
            self.fail("give either --token-env, or --client-id with --client-secret-env", USAGE)
        if options["token_env"]:
            return self._from_environment(options["token_env"]), "", ""
        if not (options["client_id"] and options["client_secret_env"]):
            self.fail("--client-id and --client-secret-env go together", USAGE)
        return "", options["client_id"], self._from_environment(options["client_secret_env"])

    def _from_environment(self, name: str) -> str:
        value = os.environ.get(name, "").strip()
        if not value:
            self.fail(f"the environment variable {name} is empty or not set", USAGE)
        return value


def _known_secrets(slug: str) -> tuple[str, ...]:
    """Return what the workspace has until now, which the platform may repeat."""
    try:
        return next((one.secrets for one in Workspace.objects.filter(slug=slug)), ())
    except SecretUnreadable:
        return ()
