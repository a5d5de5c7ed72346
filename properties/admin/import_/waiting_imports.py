"""The imports that wait for a person, as the overview lists them."""

from datetime import datetime
from typing import Any, cast

from django.db.models import F

from crm_sync.admin.ui.cells import badge, local_time, moment, page_of, shortened
from crm_sync.hooks import NEWEST, Attention, Person
from crm_sync.security.access import within
from properties.imports.job import KEPT
from properties.imports.report import accepted
from properties.models import Import

MAY_ACT = ("properties.add_import", "properties.change_property")  # an import changes properties
RELEASE = "Look at what it would change, and import or cancel it"
COLUMNS = "Say which of its columns is which"
REFUSED = "No record of it can be taken: cancel it, and ask the sender"


def attention(person: Person, now: datetime) -> list[Attention]:
    """Return the imports that wait, those whose files are removed first at the top; one query."""
    if not cast("Any", person).has_perms(MAY_ACT):
        return []
    waiting: Any = within(person, Import.objects.filter(state=Import.State.PREVIEWED))
    named = waiting.annotate(workspace_slug=F("workspace__slug"), sender_name=F("sender__name"))
    return [_line(row, now) for row in named.order_by("due_at", "pk")[:NEWEST]]


def _line(row: Any, now: datetime) -> Attention:
    sender = f" of {row.sender_name}" if row.sender_name else ""
    return Attention(
        badge("Waits for a person", "warning"),
        shortened(f"Import{sender}: {row.name}", 140),
        row.workspace_slug,
        moment(row.due_at - KEPT, now),
        page_of(row),
        remedy=f"{_remedy(row)}. The file is kept until {local_time(row.due_at)}.",
        act="Look",
        next_try="Not by itself",
    )


def _remedy(row: Import) -> str:
    if accepted(row.preview):
        return RELEASE
    return COLUMNS if row.preview.get("heading") else REFUSED
