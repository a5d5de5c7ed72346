"""A list and a page of rows that people look at and act on, but never type into."""

from dataclasses import dataclass
from typing import Any

from django.contrib.admin import ShowFacets
from django.db.models import F, QuerySet
from django.http import HttpRequest

from crm_sync.admin.ui.scope import ScopedAdmin

ROWS = 30  # of a page of a list; each is 5 KB of HTML, and what is wanted is found by a filter


@dataclass(frozen=True)
class Empty:
    """What a list says as long as there is nothing: why, and to operators the commands for it."""

    title: str
    text: str
    commands: tuple[str, ...] = ()


class ReadOnlyAdmin(ScopedAdmin):
    """Mirrors and inboxes: the platform writes them, so no form adds, changes or deletes."""

    list_filter_submit = True
    list_per_page = ROWS
    # Counting every choice of every filter would read the whole table once for each.
    show_facets = ShowFacets.NEVER
    empty: Empty
    # Names that a row shows, instead of the rows behind them: one query, and no secret (S5).
    annotations: dict[str, F] = {}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Load the names along with the rows."""
        rows: QuerySet[Any] = super().get_queryset(request).annotate(**self.annotations)
        return rows

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Rows come from the platform."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing here is typed: the page opens for whoever may view."""
        return False
