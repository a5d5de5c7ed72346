"""List the marketing materials that the platform generated for a property (§4.5, A40)."""

from typing import Any

from django.core.management.base import CommandParser
from django.db.models import Q

from crm_sync.management.base import USAGE, SyncCommand
from orders.materials import delivered
from orders.models import MaterialSet
from properties.models import Property


class Command(SyncCommand):
    """Exit codes: 0 listed, also where there are none; 2 no such workspace or property."""

    help = "List what the platform generated for a property: brochures, posts."

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
        # A reference of one may be the id of another: the reference counts.
        row = min(rows, key=lambda one: one.object_reference_id != name)
        found = [_document(one) for one in delivered.marketing_of_property(row)]
        lines = [
            f"{one['targetPlatform']}  {material['fileName']}  {material['url']}"
            for one in found
            for material in one["materials"]
        ]
        lines += [f"{one['targetPlatform']}  {one['problem']}" for one in found if one["problem"]]
        self.emit(
            {"property": name, "sets": found}, lines or ["none so far"], as_json=options["json"]
        )


def _document(one: MaterialSet) -> dict[str, Any]:
    return {
        "targetPlatform": one.target_platform,
        "readyAt": one.ready_at.isoformat(),
        "fetchedAt": one.fetched_at.isoformat() if one.fetched_at else None,
        "problem": one.problem,
        "materials": [
            {
                "id": material.platform_id,
                "fileName": material.file_name,
                "mimeType": material.mime_type,
                "url": material.url,
            }
            for material in one.materials.all()
        ],
    }
