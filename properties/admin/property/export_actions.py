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
from django.utils.translation import get_language, gettext, gettext_lazy as _

from crm_sync import hooks
from crm_sync.admin.ui.base import action
from crm_sync.admin.ui.scope import note
from crm_sync.hooks import PropertyFiles
from crm_sync.installed import command
from crm_sync.models import Workspace
from crm_sync.sentence import counted_sentence, said, sentence
from crm_sync.translated import Text, number
from properties.exports import draft_folder
from properties.exports.export_file import written
from properties.exports.export_report import ExportReport
from properties.exports.export_zip import NOT_INCLUDED, packed
from properties.feeds.table.table_writer import Written
from properties.models import Property

TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".json": "application/json",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".xml": "application/xml",
    ".zip": "application/zip",
}
PATIENCE = 5.0  # seconds of writing before the first byte is sent
SHOWN = 5  # lines of what a format cannot hold
NO_ROOM = sentence("the server cannot write the file now; its disk may be full")


def _action(description: Text, suffix: str, *, files: bool = False) -> Any:
    """Return the action that sends the chosen properties in a format (POST only).

    Args:
        files: in a ZIP, with the stored files of the properties.
    """

    @action(description=description, permissions=["files" if files else "view"])
    def run(_: Any, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponseBase | None:
        return (export_with_files if files else export)(request, queryset, suffix)

    return run


class ExportActions:
    """The export actions of the list, for each person who may view the properties."""

    export_csv = _action(_("Export as CSV"), ".csv")
    export_xlsx = _action(_("Export as Excel"), ".xlsx")
    export_json = _action(_("Export as SwissRETS JSON"), ".json")
    export_xml = _action(_("Export as OpenImmo XML"), ".xml")
    export_json_zip = _action(_("Export as SwissRETS JSON with pictures"), ".json", files=True)
    export_xml_zip = _action(_("Export as OpenImmo XML with pictures"), ".xml", files=True)

    def has_files_permission(self, request: HttpRequest) -> bool:
        """Return whether this person may see the files of properties, of any app (S17)."""
        return bool(_file_sources(request.user))


EXPORTS = (
    *("export_csv", "export_xlsx", "export_json", "export_xml"),
    *("export_json_zip", "export_xml_zip"),
)


def export(
    request: HttpRequest, chosen: QuerySet[Property], suffix: str, *, patience: float = PATIENCE
) -> StreamingHttpResponse | None:
    """Write the chosen properties; after `patience` seconds, send while the rest is written.

    The next page shows what the format could not hold. A slow export cannot show it, because its
    answer has begun by then, and a message says so.

    Returns:
        the file, or None if there is only a message.
    """
    if (slug := _slug(request, chosen)) is None:
        return None
    draft = draft_folder.make()
    path, report = Path(draft.name) / f"properties{suffix}", ExportReport()
    begun, is_whole = time.monotonic(), True
    try:
        steps = written(path, report.named(chosen).order_by("pk"), get_language() or "")
        for reference, unsaid in steps:
            report.add(reference, unsaid)
            if time.monotonic() - begun > patience:
                is_whole = False
                break
    except (ValueError, OSError) as error:
        draft.cleanup()
        why = NO_ROOM.said() if isinstance(error, OSError) else said(str(error))
        text = gettext("Nothing was exported: %(reason)s")
        messages.error(request, text % {"reason": why})
        return None
    _report(request, report, is_whole=is_whole)
    text = counted_sentence(
        "Exported %(count)s property as %(format)s.",
        "Exported %(count)s properties as %(format)s.",
        count=chosen.order_by().count(),
        format=suffix[1:].upper(),
    )
    note(request, Workspace.objects.filter(slug=slug).only("pk", "slug"), text)
    return _answer(_follow(draft, path, steps), slug, suffix)


def export_with_files(
    request: HttpRequest, chosen: QuerySet[Property], suffix: str
) -> StreamingHttpResponse | None:
    """Send a ZIP while it is made: the chosen properties, and their files that are stored here.

    A text in the ZIP says what is not in it, since nobody knows this before the last byte.

    Returns:
        the ZIP, or None if there is only a message.
    """
    if (slug := _slug(request, chosen)) is None:
        return None
    text = counted_sentence(
        "Exported %(count)s property as %(format)s with pictures.",
        "Exported %(count)s properties as %(format)s with pictures.",
        count=chosen.order_by().count(),
        format=suffix[1:].upper(),
    )
    note(request, Workspace.objects.filter(slug=slug).only("pk", "slug"), text)
    told = gettext("If something is missing in the ZIP, %(file)s in it says what and why.")
    messages.info(request, told % {"file": NOT_INCLUDED})
    report = ExportReport()
    pieces = packed(
        f"properties{suffix}",
        report.named(chosen),
        _file_sources(request.user),
        report,
        get_language() or "en",
    )
    return _answer(pieces, slug, ".zip")


def _file_sources(user: Any) -> list[PropertyFiles]:
    """Return where the files of properties come from, as far as this person may see them (S17)."""
    return [one for one in hooks.plugged().property_files if user.has_perm(one.permission)]


def _slug(request: HttpRequest, chosen: QuerySet[Property]) -> str | None:
    """Return the one workspace of the chosen properties; if there are several, say so."""
    slugs = sorted(set(chosen.order_by().values_list("workspace__slug", flat=True).distinct()))
    if len(slugs) == 1:  # references are unique within a workspace only
        return slugs[0]
    text = gettext("One file holds one workspace: narrow the list to one first.")
    messages.error(request, text)
    return None


def _answer(pieces: Iterator[bytes], slug: str, suffix: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(pieces, content_type=TYPES[suffix])
    stem = gettext("properties-%(workspace)s-%(day)s")  # of the name of a file
    name = stem % {"workspace": slug, "day": timezone.localdate().isoformat()} + suffix
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
    complaints = list(report.complaints())
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
