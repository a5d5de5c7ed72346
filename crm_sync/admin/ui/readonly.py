"""A list and a page of rows that people look at and act on, but never type into."""

from dataclasses import dataclass
from typing import Any

from django.contrib.admin import ShowFacets
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse

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

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show the page of one row instead of a form."""
        row = kwargs.get("obj")
        if row is not None:
            context |= {"can_act": self.has_act_permission(request)}
            context |= self.page_context(request, row)
        response: HttpResponse = super().render_change_form(request, context, *args, **kwargs)
        return response

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the template of the page needs besides Django's own and `can_act`."""
        return {}

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Rows come from the platform."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing here is typed: the page opens for whoever may view."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """What was received is kept (S23 deletes by age)."""
        return False

    def has_act_permission(self, request: HttpRequest) -> bool:
        """Actions are for those whom Django lets change the model, not for viewers (S17)."""
        options = self.opts
        return request.user.has_perm(f"{options.app_label}.change_{options.model_name}")
