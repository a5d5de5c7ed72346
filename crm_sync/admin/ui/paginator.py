"""Pages of a list: a search reads the table once, and nothing is counted that need not be."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

if TYPE_CHECKING:
    from django.contrib.admin.views.main import ChangeList
else:
    from unfold.views import ChangeList


class ListPaginator(Paginator):  # type: ignore[type-arg] # generic for the checker only
    """Reads the first page before it counts: where all fits on it, the count is known.

    A list that nothing narrows is counted without the names that each row shows: those join other
    tables, and change no count.
    """

    object_list: QuerySet[Any]

    @cached_property
    def count(self) -> int:
        """How many rows there are."""
        query = self.object_list.query
        if not query.where:
            whole: QuerySet[Any] = self.object_list.model._default_manager.all()
            return whole.count()
        if len(self.beginning) <= self.per_page:
            return len(self.beginning)
        return self.object_list.count()

    @cached_property
    def beginning(self) -> list[Any]:
        """The rows of the first page, and one more where there are more."""
        return list(self.object_list[: self.per_page + 1])

    def page(self, number: int | str) -> "Page[Any]":
        """Return a page; the first one was read already where that told the count."""
        if "beginning" in self.__dict__ and self.validate_number(number) == 1:
            return Page(self.beginning[: self.per_page], 1, self)
        found: Page[Any] = super().page(number)
        return found


class RowsOnce(ChangeList):
    """Shows the rows that the paginator has read, where they are all."""

    paginator: ListPaginator

    def get_results(self, request: HttpRequest) -> None:
        """Find the rows of the page."""
        super().get_results(request)
        if not self.multi_page:
            self.result_list: Any = self.paginator.beginning
        if not self.query and not self.has_active_filters:
            self.full_result_count: int | None = self.result_count  # nothing more to show
        # Nothing is there, and nothing narrows it: there is nothing to search either.
        self.is_empty = not (self.result_count or self.query or self.has_active_filters)
