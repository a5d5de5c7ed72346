"""Pages of a list: a search reads the table once, and needless counts are avoided."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

if TYPE_CHECKING:
    from django.contrib.admin.views.main import ChangeList
else:
    from unfold.views import ChangeList


EVERY = 10**9  # rows: only a limit makes the order of counted rows matter


class ListPaginator(Paginator):  # type: ignore[type-arg] # generic for the checker only
    """A paginator that reads the first page before it counts: if all rows fit, the count is known.

    A list without a filter is counted without the annotations of its rows. They join other tables,
    and do not change the count.

    Attributes:
        along: the columns of an index that has all filtered ones. SQLite reads it, and not the wide
            rows, only if the order of the rows matters.
    """

    object_list: QuerySet[Any]
    along: tuple[str, ...] = ()

    @cached_property
    def count(self) -> int:
        """The number of rows."""
        query = self.object_list.query
        if not query.where:
            whole: QuerySet[Any] = self.object_list.model._default_manager.all()
            return whole.count()
        if len(self.beginning) <= self.per_page:
            return len(self.beginning)
        rows = self.object_list.values("pk")
        return rows.order_by(*self.along)[:EVERY].count() if self.along else rows.count()

    @cached_property
    def beginning(self) -> list[Any]:
        """The rows of the first page, and one more row if there are more."""
        return list(self.object_list[: self.per_page + 1])

    def page(self, number: int | str) -> "Page[Any]":
        """Return a page. The first one may have been read for the count already."""
        if "beginning" in self.__dict__ and self.validate_number(number) == 1:
            return Page(self.beginning[: self.per_page], 1, self)
        found: Page[Any] = super().page(number)
        return found


class RowsOnce(ChangeList):
    """A list that shows the rows that the paginator has read, if there is only one page."""

    paginator: ListPaginator

    def get_results(self, request: HttpRequest) -> None:
        """Set the rows of the page."""
        super().get_results(request)
        if not self.multi_page:
            self.result_list: Any = self.paginator.beginning
        if not self.query and not self.has_active_filters:
            self.full_result_count: int | None = self.result_count  # no filter: these are all
        # There are no rows without any filter, so there is nothing to search either.
        self.is_empty = not (self.result_count or self.query or self.has_active_filters)
