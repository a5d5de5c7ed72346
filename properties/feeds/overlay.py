"""Lay single cells of a table over what is known of a property.

An address or a list of localizations travels as one leaf. A table that has a column for the street
and none for the town must not take the town away, so its cells are laid over what stands there.
"""

from collections.abc import Iterable
from typing import Any

from properties import merge
from properties.merge import Document, Leaves

LOCALIZATIONS = "localizations"  # the way into it begins with a language and not with a name

# The leaf, the way inside it (empty for the leaf itself), and the value; None clears.
Part = tuple[str, tuple[str, ...], Any]


def overlay(known: Document, parts: Iterable[Part]) -> Leaves:
    """Return the leaves that the parts touch, as they are afterwards; None where one is cleared."""
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
    """Return a document of the parts alone, with a null where one clears."""
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
    """Return an object with one member set or taken out; None if it becomes empty."""
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
    """Return the localizations with one text set; a language goes with its last text."""
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
