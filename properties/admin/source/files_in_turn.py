"""The files of a source with deliveries in turn, on its page."""

from typing import Any

from django.db.models import Case, QuerySet, Value, When
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext

from crm_sync.admin.ui.cells import badge, exact_moment, link, page_of
from crm_sync.sentence import said
from crm_sync.text import capitalized
from properties.admin.import_.import_page import badge_of
from properties.models import DeliveredFile, Source
from properties.models.delivered_file import FileState

SHOWN = 50  # files on the page
TONES = {
    FileState.WAITING: "info",
    FileState.TAKEN: "info",
    FileState.DONE: "good",
    FileState.STOPPED: "danger",
    FileState.SKIPPED: "muted",
}


def files_in_turn(source: Source) -> list[dict[str, Any]]:
    """Return what the page shows of the files: those that wait, then the last others."""
    return [_shown(one) for one in _rows(source)]


def _rows(source: Source) -> QuerySet[DeliveredFile]:
    is_over = Case(When(state__in=DeliveredFile.OVER, then=Value(1)), default=Value(0))
    # A file that was removed before it was imported is of no interest any more.
    lost = {"gone_at__isnull": False, "state__in": DeliveredFile.MAY_SKIP}
    rows = DeliveredFile.objects.filter(source=source).exclude(**lost)
    ordered = rows.order_by(is_over, "-at", "-pk").select_related("imported")
    return ordered.defer("imported__preview", "imported__report")[:SHOWN]


def _shown(one: DeliveredFile) -> dict[str, Any]:
    return {
        "pk": one.pk,
        "name": one.name,
        "size": filesizeformat(one.size) if one.size is not None else "",
        "at": exact_moment(one.at, timezone.now()),
        "state": badge(one.get_state_display(), TONES[FileState(one.state)]),
        "problem": capitalized(said(one.problem)) if one.problem else "",
        "gone": gettext("No longer in the folder") if one.gone_at else "",
        "may_skip": one.state in DeliveredFile.MAY_SKIP,
        "imported": format_html(
            "{} {}", badge_of(one.imported), link(page_of(one.imported), gettext("What it did"))
        )
        if one.imported
        else "",
    }
