"""The export of the chosen properties, streamed by the writers of `export_properties`."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from crm_sync.admin.ui.base import action
from crm_sync.admin.ui.scope import note
from crm_sync.installed import command
from crm_sync.models import Workspace
from crm_sync.sentence import said, sentence
from crm_sync.translated import number
from properties.catalog import label
from properties.exports import ExportReport, written
from properties.feeds.table.table_writer import Written
from properties.models import Property

TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".json": "application/json",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".xml": "application/xml",
}
PATIENCE = 5.0  # seconds of writing before the first byte is sent
SHOWN = 5  # lines of what a format cannot hold


class ExportActions:
    """The export actions of the list, for each person who may view the properties."""

    @action(description=_("Export as CSV"), permissions=["view"])
    def export_csv(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponseBase | None:
        """Send a table of our columns (POST only)."""
        return export(request, queryset, ".csv")

    @action(description=_("Export as Excel"), permissions=["view"])
    def export_xlsx(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponseBase | None:
        """Send a workbook of our columns (POST only)."""
        return export(request, queryset, ".xlsx")

    @action(description=_("Export as SwissRETS JSON"), permissions=["view"])
    def export_json(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponseBase | None:
        """Send a SwissRETS file (POST only)."""
        return export(request, queryset, ".json")

    @action(description=_("Export as OpenImmo XML"), permissions=["view"])
    def export_xml(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponseBase | None:
        """Send an OpenImmo file (POST only)."""
        return export(request, queryset, ".xml")


EXPORTS = ("export_csv", "export_xlsx", "export_json", "export_xml")


def export(
    request: HttpRequest, chosen: QuerySet[Property], suffix: str, *, patience: float = PATIENCE
) -> StreamingHttpResponse | None:
    """Write the chosen properties; after `patience` seconds, send while the rest is written.

    The next page shows what the format could not hold. A slow export cannot show it, because its
    answer has begun by then, and a message says so.

    Returns:
        the file, or None if there is only a message.
    """
    slugs = sorted(set(chosen.order_by().values_list("workspace__slug", flat=True).distinct()))
    if len(slugs) != 1:  # references are unique within a workspace only
        text = gettext("One file holds one workspace: narrow the list to one first.")
        messages.error(request, text)
        return None
    draft = tempfile.TemporaryDirectory(prefix="export-")
    path, report = Path(draft.name) / f"properties{suffix}", ExportReport()
    begun, is_whole = time.monotonic(), True
    try:
        steps = written(path, report.named(chosen).order_by("pk"), get_language() or "")
        for reference, unsaid in steps:
            report.add(reference, unsaid)
            if time.monotonic() - begun > patience:
                is_whole = False
                break
    except ValueError as error:
        draft.cleanup()
        text = gettext("Nothing was exported: %(reason)s")
        messages.error(request, text % {"reason": said(str(error))})
        return None
    _report(request, report, is_whole=is_whole)
    text = sentence(
        "Exported %(count)s properties as %(format)s.",
        count=chosen.order_by().count(),
        format=suffix[1:].upper(),
    )
    note(request, Workspace.objects.filter(slug=slugs[0]).only("pk", "slug"), text)
    response = StreamingHttpResponse(_follow(draft, path, steps), content_type=TYPES[suffix])
    stem = gettext("properties-%(workspace)s-%(day)s")  # of the name of a file
    name = stem % {"workspace": slugs[0], "day": f"{timezone.now():%Y-%m-%d}"} + suffix
    response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name)
    return response


def _follow(
    draft: tempfile.TemporaryDirectory[str], path: Path, steps: Iterator[Written]
) -> Iterator[bytes]:
    """Yield the file while the rest is written, with at most one piece in memory."""
    with draft, path.open("rb") as file:
        for _ in steps:
            yield from iter(lambda: file.read(1 << 16), b"")
        yield from iter(lambda: file.read(1 << 16), b"")


def _report(request: HttpRequest, report: ExportReport, *, is_whole: bool) -> None:
    left_out = gettext("%(name)s was left out: %(reasons)s")
    complaints = [
        left_out % {"name": name, "reasons": "; ".join(map(said, why))}
        for name, why in report.left_out.items()
    ]
    unsaid = gettext("%(field)s: %(reason)s (%(count)s)")
    complaints += [
        unsaid % {"field": label(path), "reason": said(reason), "count": number(count)}
        for (path, reason), (count, _references) in sorted(report.unsaid.items())
    ]
    more = len(complaints) - SHOWN
    shown = complaints[:SHOWN]
    if more > 0:
        shown.append(gettext("and %(count)s more") % {"count": number(more)})
    if complaints:
        text = gettext("The last export could not hold all: %(complaints)s.")
        messages.warning(request, text % {"complaints": ". ".join(shown)})
    if not is_whole:
        text = gettext("The last export was large: %(command)s names what it could not hold.")
        messages.info(request, text % {"command": command("export_properties")})
