"""Shared parts of the order commands: the order by its id, and one clear line for each error."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from crm_sync.management.base import FAILED, PARTLY, USAGE, SyncCommand
from crm_sync.models import Workspace
from crm_sync.platform.errors import SyncError
from orders.models import Order
from orders.models.platform_user import Who
from orders.placing.acting_user import who_acts
from orders.placing.failures import AlreadySent, NoSuchChoice, OutcomeUnknown


class OrderCommand(SyncCommand):
    """A command that places or changes an order."""

    changes = True

    def order(self, workspace: Workspace, platform_id: str) -> Order:
        """Return the order, or end with exit code 2."""
        found = Order.objects.filter(workspace=workspace, platform_id=platform_id).first()
        if found is None:
            self.fail(f"no order {platform_id!r} is known in workspace {workspace.slug}", USAGE)
        return found

    def emit_bodies(self, bodies: dict[str, Any], who: Who, *, as_json: bool, **more: Any) -> None:
        """Print the bodies that a run without --dry-run would send, and the acting user.

        Args:
            bodies: method and path → body.
            more: other members of the JSON document.
        """
        lines = [f"{call} {json.dumps(body, ensure_ascii=False)}" for call, body in bodies.items()]
        lines.append(f"in the name of {who}")
        document = {"dryRun": True, "user": str(who), **bodies, **more}
        self.emit(document, lines, as_json=as_json)

    @contextmanager
    def errors_as_exit_codes(self) -> Iterator[None]:
        """End with the exit code of an error: 2 wrong choice, 3 unclear outcome, 1 all others."""
        try:
            yield
        except NoSuchChoice as error:
            self.fail(str(error), USAGE)
        except OutcomeUnknown as error:
            self.fail(str(error), PARTLY)
        except AlreadySent as error:
            self.fail(str(error), FAILED)
        except SyncError as error:
            self.fail_because(error)


def who_changed(order: Order) -> Who:
    """Return the user in whose name the last change of an order was requested."""
    return who_acts(order.workspace_id, order.change_requests.latest("pk").body)


def order_document(order: Order) -> dict[str, Any]:
    """Return the JSON document of an order for `--json`."""
    assignments = order.assignments.order_by("pk")
    return {
        "order": order.platform_id,
        "status": order.status,
        "reference": order.object_reference_id,
        "userId": order.user_platform_id,
        "user": str(who_acts(order.workspace_id, {"userId": order.user_platform_id})),
        "assignments": [
            {
                "assignment": one.platform_id,
                "type": one.assignment_type,
                "status": one.status,
                "products": one.products,
                "scheduledAt": one.scheduled_at.isoformat() if one.scheduled_at else None,
            }
            for one in assignments
        ],
    }
