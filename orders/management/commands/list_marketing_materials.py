"""Read the materials that the platform generated for a property, and list them (§4.5, A40)."""

from typing import Any

from django.core.management.base import CommandParser
from django.db.models import Q
from django.utils import timezone

from crm_sync.management.base import USAGE
from orders.management.material_listing import MaterialCommand
from orders.materials import deliveries, expectations
from properties.models import Property


class Command(MaterialCommand):
    """Exit codes: as `MaterialCommand`; 2 no such workspace or property."""

    help = "Read what the platform generated for a property, brochures and posts, and list it."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the workspace")
        parser.add_argument("property", help="its reference, or its id on the platform")

    def handle(self, *_: Any, **options: Any) -> None:
        workspace, name = self.workspace(options["slug"]), options["property"]
        named = Q(object_reference_id=name) | Q(platform_id=name)
        rows = list(Property.objects.filter(named, workspace=workspace))
        if not rows:
            self.fail(f"no property {name!r} is known in workspace {workspace.slug}", USAGE)
        # The reference of one property may be the id of another: the reference wins.
        row = min(rows, key=lambda one: one.object_reference_id != name)
        if row.platform_id:
            expectations.of_properties(
                {(workspace.pk, row.platform_id): row.pk}, now=timezone.now()
            )
        self.read_and_emit("property", name, deliveries.is_generated_for(row), options)
