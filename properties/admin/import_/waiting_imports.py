"""The imports that wait for a person, as the overview lists them."""

from datetime import datetime
from typing import Any, cast

from django.db.models import F
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.cells import badge, local_time, moment, page_of, shortened
from crm_sync.hooks import NEWEST, Attention, Person
from crm_sync.security.access import within
from crm_sync.translated import Text
from properties.imports.job import KEPT
from properties.imports.report import accepted
from properties.models import Import

MAY_ACT = ("properties.add_import", "properties.change_property")  # an import changes properties
RELEASE = _(
    "Look at what it would change, and import or cancel it. The file is kept until %(until)s."
)
COLUMNS = _("Say which of its columns is which. The file is kept until %(until)s.")
REFUSED = _(
    "No record of it can be taken: cancel it, and ask the sender. The file is kept until %(until)s."
)


def attention(person: Person, now: datetime) -> list[Attention]:
    """Return the imports that wait, those whose files are removed first at the top; one query."""
    if not cast("Any", person).has_perms(MAY_ACT):
        return []
    waiting: Any = within(person, Import.objects.filter(state=Import.State.PREVIEWED))
    named = waiting.annotate(workspace_slug=F("workspace__slug"), sender_name=F("sender__name"))
    return [_line(row, now) for row in named.order_by("due_at", "pk")[:NEWEST]]


def _line(row: Any, now: datetime) -> Attention:
    named = {"sender": row.sender_name, "name": row.name}
    text = (
        gettext("Import of %(sender)s: %(name)s")
        if row.sender_name
        else gettext("Import: %(name)s")
    )
    return Attention(
        badge(gettext("Waits for a person"), "warning"),
        shortened(text % named, 140),
        row.workspace_slug,
        moment(row.due_at - KEPT, now),
        page_of(row),
        remedy=_remedy(row) % {"until": local_time(row.due_at)},
        act=gettext("Look"),
        next_try=gettext("Not by itself"),
    )


def _remedy(row: Import) -> Text:
    if accepted(row.preview):
        return RELEASE
    return COLUMNS if row.preview.get("heading") else REFUSED
