"""Pure: the query of a list as a view keeps it, and as an address has it.

An address numbers the columns by which a list is sorted. A view names them, so that it is sorted in
the same way when columns come or go.
"""

from collections.abc import Mapping, Sequence

from django.http import QueryDict

from crm_sync.text import clean

SORT = "o"
# The page of a list, the error of Django's, the view itself, and how a page follows its list.
PASSING = frozenset({"p", "e", "all", "view", "live"})


def kept(query: QueryDict, columns: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each parameter, without what passes and in one order.

    They are not encoded: a name that somebody searched for can be found in them (S23).

    Args:
        columns: those of the list that the query is of, with that of the checkboxes.
    """
    left: dict[str, list[str]] = {}
    for name, values in sorted(clean(dict(query.lists()))[0].items()):
        said = [_named(values[-1], columns)] if name == SORT else values
        if name not in PASSING and any(said):
            left[name] = [one for one in said if one]
    return left


def opened(known: Mapping[str, Sequence[str]], columns: Sequence[str]) -> str:
    """Return the query of an address. A column that the list does not have sorts nothing."""
    found = QueryDict(mutable=True)
    for name in sorted(known):  # PostgreSQL keeps no order
        found.setlist(name, [*known[name]])
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
