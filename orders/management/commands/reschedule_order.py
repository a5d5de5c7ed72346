"""Request another appointment for an order."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from orders.management.order_command import OrderCommand, order_document, who_changed
from orders.placing import changes
from orders.placing.acting_user import who_acts


class Command(OrderCommand):
    """Exit codes: 0 done, 1 refused, 2 wrong choice, 3 unknown whether it was done."""

    help = "Reschedule an order, or one of its assignments, as a user of the platform."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        parser.add_argument("order", help="the platform's id of the order")
        parser.add_argument("--user", required=True, help="platform user id or userReferenceId")
        parser.add_argument("--assignment", help="one assignment; without it all that can be moved")
        parser.add_argument("--at", help="the proposed time, ISO 8601; without an offset it is UTC")
        parser.add_argument("--reason", default="", help="a text for the platform")

    def handle(self, *_: Any, **options: Any) -> None:
        order = self.order(self.workspace(options["slug"]), options["order"])
        at = options["at"]
        wanted: dict[str, Any] = {
            "user": options["user"],
            "assignment": options["assignment"],
            "proposed_at": None if at is None else self.moment("--at", at),
            "reason": options["reason"],
        }
        with self.errors_as_exit_codes():
            if options["dry_run"]:
                body = changes.reschedule_body(order, **wanted)
                path = f"PUT /v1/orders/{order.platform_id}/reschedule"
                who = who_acts(order.workspace_id, body)
                self.emit_bodies({path: body}, who, as_json=options["json"])
                return
            order = changes.reschedule(order, now=timezone.now(), **wanted)
        document = order_document(order)
        moved = [f"{one['assignment']} {one['status']}" for one in document["assignments"]]
        line = f"the platform was asked to reschedule {order} in the name of {who_changed(order)}"
        self.emit(document, [f"{line}; assignments: {', '.join(moved)}"], as_json=options["json"])
