"""A list and a page of rows that people view and act on, but cannot edit."""

from dataclasses import dataclass
from typing import Any

from django.contrib.admin import ShowFacets
from django.db.models import QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest

from crm_sync.admin.ui.scope import ScopedAdmin
from crm_sync.translated import Text

ROWS = 30  # on a page of a list; each is 5 KB of HTML, and filters find the wanted row


@dataclass(frozen=True)
class Empty:
    """The text of an empty list: the reason, and for operators the commands that help.

    Attributes:
        adds: `text` says what to add. Whoever may not add one reads who may.
    """

    title: Text
    text: Text
    commands: tuple[str, ...] = ()
    adds: bool = False


class ReadOnlyAdmin(ScopedAdmin):
    """A screen for mirrors and inboxes: the platform writes them, so no form edits them."""

    list_filter_submit = True
    list_per_page = ROWS
    # A count for each choice of a filter would read the whole table each time.
    show_facets = ShowFacets.NEVER
    empty: Empty
    # Names that a row shows, without loading the related rows: one query, and no secret (S5).
    annotations: dict[str, Combinable] = {}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Load the names with the rows."""
        rows: QuerySet[Any] = super().get_queryset(request).annotate(**self.annotations)
        return rows

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: the platform adds rows."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: nothing can be edited. Viewers can open the page."""
        return False
