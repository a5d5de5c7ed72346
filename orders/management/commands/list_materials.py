"""Read the materials of an order, and those generated for its property, and list them (§4.5)."""

import functools
import operator
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import Q
from django.utils import timezone

from crm_sync.management.base import USAGE
from orders.management.material_listing import MaterialCommand
from orders.materials import deliveries, expectations
from orders.models import Order


class Command(MaterialCommand):
    """Exit codes: as `MaterialCommand`; 2 no such workspace or order."""

    help = "Read the materials of an order and of its property from the platform, and list them."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        parser.add_argument("order", help="the platform's id of the order")

    def handle(self, *_: Any, **options: Any) -> None:
        workspace, name = self.workspace(options["slug"]), options["order"]
        mine = Order.objects.filter(workspace=workspace, platform_id=name)
        if not mine:
            self.fail(f"no order {name!r} is known in workspace {workspace.slug}", USAGE)
        expectations.read_again(mine, now=timezone.now())
        of_property = [
            deliveries.is_generated_for_id(*key) for key in expectations.properties(mine)
        ]
        its = functools.reduce(operator.or_, of_property, Q(order__in=mine))
        self.read_and_emit("order", name, its, options)
