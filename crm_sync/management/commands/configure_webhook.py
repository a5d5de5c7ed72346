"""manage.py configure_webhook: set the webhook on the platform (§4.1)."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.management.base import USAGE, SyncCommand
from crm_sync.models import Workspace
from crm_sync.platform.errors import NotFoundError, SyncError
from crm_sync.platform.responses import Answer
from crm_sync.webhook import authentication, configuration
from crm_sync.work.room import wait_for_room


class Command(SyncCommand):
    """Sets POST, a generated secret, and our own callback address."""

    help = "Make the platform call us: POST, with a generated secret, at PUBLIC_BASE_URL."
    changes = True

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the actions; without one, the webhook is created or repaired."""
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--show", action="store_true", help="read the configuration")
        what.add_argument("--enable", action="store_true", help="deliver events again")
        what.add_argument(
            "--disable", action="store_true", help="deliver no events; the configuration stays"
        )
        what.add_argument(
            "--delete", action="store_true", help="remove it; the platform erases its history too"
        )
        what.add_argument("--rotate-secret", action="store_true", help="generate a new secret")
        parser.add_argument(
            "--auth",
            choices=Workspace.AuthType.values,
            help="how the platform authenticates; default: as it is",
        )
        parser.add_argument(
            "--header-name", default="", help="with HEADER: the header that carries the secret"
        )
        parser.add_argument(
            "--parameter-name",
            default="",
            help="with QUERY_PARAMETER: the parameter that carries it",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Run the action, and print the configuration on the platform."""
        workspace = self.workspace(options["slug"])
        if options["dry_run"]:
            self._plan(workspace, options)
            return
        try:
            with wait_for_room(workspace):
                answer = self._do(workspace, options)
                if answer.document is None and not options["delete"]:  # A21
                    answer = workspace.client().get_webhook()
        except (
            configuration.NoneNotAllowed,
            configuration.OnlyHere,
            authentication.BadName,
        ) as error:
            self.fail(str(error), USAGE)
        except NotFoundError:
            self.fail(f"{workspace}: the platform has no webhook configured")
        except SyncError as error:
            self.fail_because(error, about=str(workspace))
        document = answer.document if isinstance(answer.document, dict) else {}
        lines = [f"{key}: {value}" for key, value in document.items()] or ["removed"]
        self.emit(document, lines, as_json=options["json"])

    def _do(self, workspace: Workspace, options: dict[str, Any]) -> Answer:
        client = workspace.client()
        if options["show"]:
            return client.get_webhook()
        if options["enable"] or options["disable"]:
            return client.enable_webhook(enabled=options["enable"])
        if options["delete"]:
            return client.delete_webhook()
        if options["rotate_secret"]:
            return configuration.rotate_secret(workspace, now=timezone.now())
        auth_type = options["auth"] or workspace.auth_type
        return configuration.configure(
            workspace,
            auth_type=auth_type,
            header_name=options["header_name"],
            parameter_name=options["parameter_name"],
            now=timezone.now(),
        )

    def _plan(self, workspace: Workspace, options: dict[str, Any]) -> None:
        names = ("show", "enable", "disable", "delete", "rotate_secret")
        step = next((name for name in names if options[name]), "configure")
        auth_type = options["auth"] or workspace.auth_type
        plan = {
            "step": step,
            "url": workspace.callback_url,
            "method": "POST",
            "authType": auth_type,
        }
        if auth_type == Workspace.AuthType.HEADER:
            plan["authHeaderName"] = options["header_name"] or workspace.auth_header_name
        if auth_type == Workspace.AuthType.QUERY_PARAMETER:
            plan["authParameterName"] = options["parameter_name"] or workspace.auth_parameter_name
        self.emit(plan, [f"{key}: {value}" for key, value in plan.items()], as_json=options["json"])
