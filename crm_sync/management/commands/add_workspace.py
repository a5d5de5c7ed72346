"""manage.py add_workspace: connect a workspace of the platform."""

import os
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync import connecting
from crm_sync.connecting import Given
from crm_sync.installed import command
from crm_sync.management.base import USAGE, SyncCommand
from crm_sync.models import hold
from crm_sync.platform import addresses
from crm_sync.platform.errors import SyncError


class Command(SyncCommand):
    """Stores a connection with encrypted secrets, after the platform has accepted them."""

    help = "Connect a workspace: its address and a token, or a client id and secret."
    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the address and the credentials. Secrets come only from the environment."""
        super().add_arguments(parser)
        parser.add_argument("slug", help="a name for the workspace; cannot be changed later")
        parser.add_argument("--base-url", required=True, help="the platform's base address")
        parser.add_argument("--token-env", metavar="NAME", help="variable that holds a fixed token")
        parser.add_argument("--client-id", metavar="ID", help="instead of a fixed token")
        parser.add_argument(
            "--client-secret-env", metavar="NAME", help="variable that holds the client secret"
        )
        parser.add_argument("--no-check", action="store_true", help="do not ask the platform first")

    def handle(self, *_: Any, **options: Any) -> None:
        """Create the workspace, or change the address and credentials of an existing one."""
        slug, base_url = options["slug"], options["base_url"].rstrip("/")
        self._check_arguments(slug, base_url)
        token, client_id, secret = self._credentials(options)
        given = Given(slug, base_url, token, client_id, secret)
        if not options["no_check"]:
            try:
                connecting.try_out(given)
            except SyncError as error:
                self.fail_because(error, about=base_url)
        if options["dry_run"]:
            workspace, is_new = connecting.planned(given)
        else:
            workspace, is_new = connecting.store(given, now=timezone.now(), program=self.operator())
        done = "would be " if options["dry_run"] else ""
        done += "added" if is_new else "changed"
        is_watched = bool(workspace.pk) and hold.is_watched(workspace.pk, timezone.now())
        how = "not checked against" if options["no_check"] else "connected to"
        lines = [f"workspace {slug} {done}, {how} {base_url}"]
        if is_watched:
            lines.append(f"watch only: nothing is sent until {command(f'go_live {slug}')}")
        if not workspace.auth_secret:
            lines.append(f"next: {command(f'configure_webhook {slug}')}")
        self.emit(
            {"workspace": slug, "callback_url": workspace.callback_url, "result": done}
            | {"watch_only": is_watched},
            lines,
            as_json=options["json"],
        )

    def _check_arguments(self, slug: str, base_url: str) -> None:
        if fault := connecting.slug_fault(slug):
            self.fail(f"{slug!r}: {fault}", USAGE)
        if fault := addresses.fault(base_url):
            self.fail(f"--base-url {addresses.shown(base_url)!r}: {fault}", USAGE)

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
