"""Pages of a list: a search reads the table once, and needless counts are avoided."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

from crm_sync.translated import AtLeast

if TYPE_CHECKING:
    from django.contrib.admin.views.main import ChangeList
else:
    from unfold.views import ChangeList


VIEW = "view"  # the parameter with the key of a named view
MOST = 100_000  # rows that are counted, and that have pages: nobody turns a thousand of them


def counted(rows: QuerySet[Any, Any], most: int, along: Sequence[str] = ()) -> int:
    """Return the number of rows in one statement; if there are more than `most`, `AtLeast` it.

    Args:
        along: the columns by which they are sorted meanwhile; see `ListPaginator`.
    """
    found = rows.order_by(*along)[: most + 1].count()
    return AtLeast(most) if found > most else found


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
        """The number of rows, at most `MOST`: to count more costs more than the rest of a page."""
        if self.object_list.query.where and len(self.beginning) <= self.per_page:
            return len(self.beginning)
        return self.counted(MOST)

    def counted(self, most: int) -> int:
        """Return the number of rows; see `counted`."""
        rows = self.object_list
        if not rows.query.where:
            rows = rows.model._default_manager.all()
        return counted(rows.values("pk"), most, along=self.along)

    @cached_property
    def beginning(self) -> list[Any]:
        """The rows of the first page, and one more row if there are more."""
        return list(self.object_list[: self.per_page + 1])

    def page(self, number: int | str) -> "Page[Any]":
        """Return a page: the last one if rows of later pages have gone since they were counted.

        The first one may have been read for the count already.
        """
        number = min(int(number), self.num_pages)
        if "beginning" in self.__dict__ and self.validate_number(number) == 1:
            return Page(self.beginning[: self.per_page], 1, self)
        found: Page[Any] = super().page(number)
        return found


class RowsOnce(ChangeList):
    """A list that shows the rows that the paginator has read, if there is only one page."""

    paginator: ListPaginator

    def get_query_string(self, new_params: Any = None, remove: Any = None) -> str:
        """Return the parameters with others; unfold asks for each header in each row."""
        asked = repr((new_params, remove))
        if asked not in self._query_strings:
            self._query_strings[asked] = super().get_query_string(new_params, remove)
        return self._query_strings[asked]

    @cached_property
    def _query_strings(self) -> dict[str, str]:
        return {}

    def get_filters_params(self, params: Any = None) -> dict[str, Any]:
        """Return the parameters that filter: not the view, which chooses columns."""
        found: dict[str, Any] = super().get_filters_params(params)
        return {name: value for name, value in found.items() if name != VIEW}

    def get_results(self, request: HttpRequest) -> None:
        """Set the rows of the page."""
        super().get_results(request)
        self.page_num: int = min(self.page_num, self.paginator.num_pages)
        if not self.multi_page:
            self.result_list: Any = self.paginator.beginning
        if not self.query and not self.has_active_filters:
            self.full_result_count: int | None = self.result_count  # no filter: these are all
        # There are no rows without any filter, so there is nothing to search either.
        self.is_empty = not (self.result_count or self.query or self.has_active_filters)


class NoRows(RowsOnce):
    """A list of which only the query is wanted, in order to count its rows."""

    def get_filters(self, request: HttpRequest) -> Any:
        """Ask only the filters of the query, because others read which choices there are."""
        self.list_filter = [one for one in self.list_filter if _reads(one, self.filter_params)]
        return super().get_filters(request)

    def get_results(self, request: HttpRequest) -> None:
        """Read nothing."""
        self.result_list = []


def _reads(listed: Any, parameters: Iterable[str]) -> bool:
    """Return whether a filter may read one of the parameters. A range has two with its name."""
    name = getattr(listed, "parameter_name", "")
    return not name or any(one.startswith(name) for one in parameters)
