"""Merge single cells of a table into the known values of a property.

An address or a list of localizations is sent as one leaf. A table with a column for the street and
none for the town must not delete the town, so its cells are merged into the known value.
"""

from collections.abc import Iterable
from typing import Any

from properties import merge
from properties.merge import Document, Leaves

LOCALIZATIONS = "localizations"  # the path inside it begins with a language, not a name

# The leaf, the path inside it (empty for the leaf itself), and the value; None clears.
Part = tuple[str, tuple[str, ...], Any]


def overlay(known: Document, parts: Iterable[Part]) -> Leaves:
    """Return the changed leaves with their new values; None for a cleared leaf."""
    before = merge.leaves(known)
    after: Leaves = {}
    for leaf, way, value in parts:
        base = after[leaf] if leaf in after else before.get(leaf)
        if leaf == LOCALIZATIONS and way:
            after[leaf] = _localized(base, way[0], way[1], value)
        else:
            after[leaf] = _put(base, way, value)
    return after


def nested(parts: Iterable[Part]) -> Document:
    """Return a document of the parts alone, with None for a part that clears."""
    whole: Document = {}
    for leaf, way, value in parts:
        if leaf == LOCALIZATIONS and way:
            _item(whole.setdefault(leaf, []), way[0])[way[1]] = value
            continue
        holder = whole
        *parents, name = (*leaf.split("."), *way)
        for parent in parents:
            holder = holder.setdefault(parent, {})
        holder[name] = value
    return whole


def _put(base: Any, way: tuple[str, ...], value: Any) -> Any:
    """Return an object with one member set or removed; None if it becomes empty."""
    if not way:
        return value
    members = dict(base) if isinstance(base, dict) else {}
    inner = _put(members.get(way[0]), way[1:], value)
    if inner is None:
        members.pop(way[0], None)
    else:
        members[way[0]] = inner
    return members or None


def _localized(base: Any, language: str, name: str, value: Any) -> Any:
    """Return the localizations with one text set. A language without texts is removed."""
    items = [dict(item) if isinstance(item, dict) else item for item in base or []]
    item = _item(items, language)
    item[name] = value
    if value is None:
        del item[name]
        if item.keys() == {"languageCode"}:
            items.remove(item)
    return items or None


def _item(items: list[Any], language: str) -> dict[str, Any]:
    for item in items:
        if isinstance(item, dict) and item.get("languageCode") == language:
            return item
    items.append({"languageCode": language})
    return items[-1]  # type: ignore[no-any-return]
