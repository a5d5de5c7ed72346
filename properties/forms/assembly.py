"""Pure: put changed inputs back into a leaf without losing what the form does not show.

An input is named by its path in the document (`prices.rent.gross`, `localizations[0].title`), a
leaf is what a PATCH sends by itself (A10). Only touched inputs are written into a copy of the
stored leaf, so members that no input shows stay as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from properties.catalog import Kind, find, steps

_EMPTY: tuple[Any, ...] = (None, "", {}, [])


def pairs(value: object) -> list[dict[str, Any]]:
    """Return a map as rows of name and value, as the form shows it."""
    members = value if isinstance(value, dict) else {}
    return [{"name": name, "value": member} for name, member in members.items()]


@dataclass(frozen=True)
class Assembled:
    """The new value of a leaf (None: cleared), and from which row of the form each item came."""

    value: Any
    rows: tuple[int, ...] = ()


def assemble(leaf: str, stored: Any, touched: Mapping[str, Any], removed: set[int]) -> Assembled:
    """Write the touched inputs of one leaf into its stored value.

    Args:
        touched: path of the input to its new value; None clears it.
        removed: the rows of a list or a map to remove.
    """
    field = find(leaf)
    value = pairs(stored) if field and field.kind is Kind.MAP else stored
    for path, new in touched.items():
        value = _put(value, steps(path)[len(steps(leaf)) :], new)
    if field and field.kind in {Kind.OBJECT_LIST, Kind.MAP} and isinstance(value, list):
        kept = [(n, item) for n, item in enumerate(value) if n not in removed and item != {}]
        rows = tuple(n for n, _ in kept)
        items = [item for _, item in kept]
        if field.kind is Kind.MAP:
            whole = {item.get("name", ""): item.get("value", "") for item in items}
            return Assembled(whole or None, rows)
        return Assembled(items or None, rows)
    return Assembled(None if value in _EMPTY else value)


def _put(holder: Any, path: Sequence[str | int], value: Any) -> Any:
    """Return a copy of `holder` with `value` at `path`; members that become empty are removed."""
    if not path:
        return value
    step, *rest = path
    if isinstance(step, int):
        items = list(holder) if isinstance(holder, list) else []
        items += [{} for _ in range(step + 1 - len(items))]
        items[step] = _put(items[step], rest, value)
        return items
    members = dict(holder) if isinstance(holder, dict) else {}
    inner = _put(members.get(step), rest, value)
    if inner in _EMPTY:
        members.pop(step, None)
    else:
        members[step] = inner
    return members
