"""The list and the page of drift checks: samples and sweeps, read-only."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.base import ChoicesDropdownFilter, display
from crm_sync.admin.ui.cells import (
    EMPTY,
    badge,
    exact_moment,
    link,
    page_at,
    shortened,
)
from crm_sync.admin.ui.columns import column, moment_column
from crm_sync.admin.ui.filters import WorkspaceFilter
from crm_sync.admin.ui.readonly import Empty, ReadOnlyAdmin
from crm_sync.installed import command
from crm_sync.platform.errors import Problem
from crm_sync.platform.problems import explain
from crm_sync.translated import Text, number
from properties.catalog import label
from properties.drift.findings import by_count
from properties.models import DriftCheck

TONES = {"unexplained": "warning", "failed": "danger", "blocked": "warning", "pending": "info"}
VERDICTS: dict[str, Text] = {
    "unexplained": _("Unexplained"),
    "failed": _("Not compared"),
    "blocked": _("Waits for a person"),
    "pending": _("On its way"),
}
MEANING: dict[str, Text] = {
    DriftCheck.Kind.SAMPLE: _("Some properties, chosen at random and read on the platform."),
    DriftCheck.Kind.SWEEP: _("All our rows, without a call: it finds what others wrote to them."),
}


def _badge(check: DriftCheck) -> SafeString:
    if check.unexplained:
        text = gettext("%(count)s unexplained") % {"count": number(check.unexplained)}
        return badge(text, "warning")
    if check.finished_at is None:
        return badge(_("Under way"), "info")
    if check.failed:
        text = gettext("%(count)s not compared") % {"count": number(check.failed)}
        return badge(text, "warning")
    return badge(_("All explained") if check.differing else _("No drift"), "good")


@admin.register(DriftCheck)
class DriftCheckAdmin(ReadOnlyAdmin):
    """Read-only: unexplained differences were made due at once, so nobody must act here."""

    empty = Empty(
        _("Nothing was compared yet"),
        _(
            "Once an hour a few properties are read on the platform and compared with ours; once a"
            " day all our rows are looked through. To compare all of them now:"
        ),
        (command("drift main"),),
    )
    change_form_template = "properties/drift.html"
    list_display = ("what", "result", "differ", "where", "when")
    list_filter = (("kind", ChoicesDropdownFilter), WorkspaceFilter)
    ordering = ("-started_at", "-pk")

    what = column(_("check"), lambda row: row.get_kind_display(), "kind")
    result = column(_("result"), _badge, "unexplained")
    differ = column(
        _("differ"),
        lambda row: (
            gettext("%(count)s of %(total)s")
            % {"count": number(row.differing), "total": number(row.compared)}
        ),
        "differing",
    )

    @display(description=_("fields"))
    def where(self, check: DriftCheck) -> SafeString | str:
        """Name the fields, the most frequent first."""
        names = (f"{label(path)} {count}" for path, count in by_count(check.fields))
        return shortened(", ".join(names), 80)

    when = moment_column(_("begun"), "started_at")

    def page_context(self, request: HttpRequest, check: Any) -> dict[str, Any]:
        return {
            "title": check.get_kind_display(),
            "badge": _badge(check),
            "meaning": MEANING[check.kind],
            "stopped": explain(check.stopped).sentence,
            "facts": _facts(check),
            "fields": [(label(path), path, count) for path, count in by_count(check.fields)],
            "found": list(_found(check)),
        }


def _facts(check: Any) -> list[tuple[str, object]]:
    now = timezone.now()
    return [
        (gettext("Workspace"), check.workspace_slug),
        (gettext("Compared"), check.compared),
        (gettext("Differ"), check.differing),
        (gettext("Unexplained"), check.unexplained),
        (gettext("On their way"), check.pending),
        (gettext("Waiting for a person"), check.blocked),
        (gettext("Not on the platform"), check.gone),
        (gettext("Could not be compared"), check.failed),
        (gettext("Begun"), exact_moment(check.started_at, now)),
        (gettext("Finished"), exact_moment(check.finished_at, now)),
    ]


def _found(check: DriftCheck) -> Iterator[tuple[SafeString, SafeString, str]]:
    """Yield the first properties that differed, with the verdict and the fields."""
    for one in check.found:
        names = ", ".join(label(path) for path in one["fields"])
        gone = gettext("The platform has no such property")
        error = explain(Problem.of(one["error"])).sentence
        text = gone if one["gone"] else error or names
        page = page_at("properties.property", one["pk"])
        shown = badge(VERDICTS[one["verdict"]], TONES.get(one["verdict"], "muted"))
        yield link(page, one["reference"]), shown, text or EMPTY
