"""Cancel an order."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from orders.management.order_command import OrderCommand, order_document, who_changed
from orders.placing import changes
from orders.placing.acting_user import who_acts


class Command(OrderCommand):
    """Exit codes: 0 done, 1 refused, 2 wrong choice, 3 unknown whether it was done."""

    help = "Cancel an order as a user of the platform."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        parser.add_argument("order", help="the platform's id of the order")
        parser.add_argument("--user", required=True, help="platform user id or userReferenceId")
        parser.add_argument("--reason", default="", help="a text for the platform")

    def handle(self, *_: Any, **options: Any) -> None:
        order = self.order(self.workspace(options["slug"]), options["order"])
        wanted = {"user": options["user"], "reason": options["reason"]}
        with self.errors_as_exit_codes():
            if options["dry_run"]:
                body = changes.cancel_body(order, **wanted)
                path = f"PUT /v1/orders/{order.platform_id}/cancel"
                who = who_acts(order.workspace_id, body)
                self.emit_bodies({path: body}, who, as_json=options["json"])
                return
            order = changes.cancel(order, now=timezone.now(), **wanted)
        # The platform may answer without a body (§4.4): then the next read returns the status.
        status = order.status or "not read yet"
        line = f"the platform was asked to cancel {order} in the name of {who_changed(order)}"
        self.emit(order_document(order), [f"{line}; status: {status}"], as_json=options["json"])
