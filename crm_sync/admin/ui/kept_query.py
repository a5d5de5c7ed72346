"""Pure: the query of a list as a view keeps it, and as an address has it.

An address numbers the columns by which a list is sorted. A view names them, so that it is sorted in
the same way when columns come or go.
"""

from collections.abc import Sequence

from django.http import QueryDict

SORT = "o"
# The page of a list, the error of Django's, the view itself, and how a page follows its list.
PASSING = frozenset({"p", "e", "all", "view", "live"})


def kept(query: QueryDict, columns: Sequence[str]) -> str:
    """Return the query without what passes, in one order of the parameters.

    Args:
        columns: those of the list that the query is of, with that of the checkboxes.
    """
    left = QueryDict(mutable=True)
    for name in sorted(query.keys() - PASSING):
        values = [_named(str(query[SORT]), columns)] if name == SORT else query.getlist(name)
        if values := [one for one in values if one]:
            left.setlist(name, values)
    return left.urlencode()


def opened(query: str, columns: Sequence[str]) -> str:
    """Return the query of an address. A column that the list does not have sorts nothing."""
    found = QueryDict(query, mutable=True)
    if number := _numbered(found.get(SORT, ""), columns):
        found[SORT] = number
    else:
        found.pop(SORT, None)
    return found.urlencode()


def _named(order: str, columns: Sequence[str]) -> str:
    known = (
        (is_down, int(part))
        for is_down, part in _parts(order)
        if part.isdecimal() and len(part) < 4
    )
    names = ("-" * is_down + columns[at] for is_down, at in known if at < len(columns))
    return ".".join(names)


def _numbered(order: str, columns: Sequence[str]) -> str:
    places = {name: number for number, name in enumerate(columns)}
    found = ((is_down, places[name]) for is_down, name in _parts(order) if name in places)
    return ".".join("-" * is_down + str(number) for is_down, number in found)


def _parts(order: str) -> list[tuple[bool, str]]:
    """Return each column of an order, and whether it is sorted downwards."""
    return [(part[:1] == "-", part.lstrip("-")) for part in order.split(".")]
