"""Settle a placement with an unknown outcome, after a person has checked the platform."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.management.base import USAGE, count
from orders.management.order_command import OrderCommand
from orders.models import Placement
from orders.placing import settlement


class Command(OrderCommand):
    """Exit codes: 0 settled, 1 not uncertain, the order is taken, or the platform did not answer,
    2 no such placement, no such order, or one of another property.
    """

    help = "Say what a person found on the platform about an UNCERTAIN placement."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        parser.add_argument("placement", type=count, help="its number, as the admin shows it")
        found = parser.add_mutually_exclusive_group(required=True)
        found.add_argument("--order", metavar="ID", help="it became this order of the platform")
        found.add_argument("--not-placed", action="store_true", help="there is no such order")

    def handle(self, *_: Any, **options: Any) -> None:
        workspace, number = self.workspace(options["slug"]), options["placement"]
        placement = Placement.objects.filter(workspace=workspace, pk=number).first()
        if placement is None:
            self.fail(f"no placement {number} in workspace {workspace.slug}", USAGE)
        order_id = options["order"]
        with self.errors_as_exit_codes():
            could = self._settle(placement, order_id, is_dry=options["dry_run"])
        if not could:
            placement.refresh_from_db()
            self.fail(f"{placement} is {placement.state}, or that order has another placement")
        result = f"order {order_id}" if order_id else "not placed"
        would = "would be " if options["dry_run"] else ""
        self.emit(
            {"placement": number, "result": result},
            [f"{placement} {would}settled: {result}"],
            as_json=options["json"],
        )

    @staticmethod
    def _settle(placement: Placement, order_id: str | None, *, is_dry: bool) -> bool:
        """Return whether it is settled, or could be. Raises NoSuchChoice and SyncError."""
        if not is_dry:
            return settlement.decide(placement, order_id=order_id, now=timezone.now())
        if order_id is not None:
            settlement.check_order(placement, order_id)
        return placement.state == Placement.State.UNCERTAIN
