"""Limits the names in a document that the catalog does not know; up to the limit, they are kept.

80,000 of them in one body would hold a database for seconds and fill a page of 50 MB.
"""

from collections.abc import Mapping
from itertools import chain
from typing import Any

from properties.catalog.field import Kind
from properties.catalog.lookup import find
from properties.merge import MERGED

LONGEST_LEAF = 300  # characters of a path in the history, which an index holds
UNKNOWN_NAMES = 200  # names in one document, including names inside unknown values


def within_limit(document: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return the document with at most `UNKNOWN_NAMES` unknown names, and the number left out.

    Whole values are left out, never a part of one; which ones depends on their names alone, so two
    reads of the same property leave out the same.
    """
    if _names(document) <= UNKNOWN_NAMES and not _has_long(document):  # nearly always
        return dict(document), 0
    bound = _Bound()
    return bound.kept(document, ""), bound.left_out


class _Bound:
    def __init__(self) -> None:
        self.room, self.left_out = UNKNOWN_NAMES, 0

    def kept(self, members: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name in sorted(members):
            field = find(prefix + name)
            if field is None:
                self._take(kept, name, members[name], prefix)
            elif field.kind in {Kind.OBJECT, Kind.MERGED} and isinstance(members[name], dict):
                kept[name] = self.kept(members[name], f"{prefix}{name}.")
            elif field.kind is Kind.OBJECT_LIST and isinstance(members[name], list):
                kept[name] = [self._item(one, f"{prefix}{name}[].") for one in members[name]]
            else:
                kept[name] = members[name]
        return {name: kept[name] for name in members if name in kept}

    def _item(self, item: Any, prefix: str) -> Any:
        return self.kept(item, prefix) if isinstance(item, dict) else item

    def _take(self, kept: dict[str, Any], name: str, value: Any, prefix: str) -> None:
        names = 1 + _names(value)
        if names <= self.room and len(prefix + name) <= LONGEST_LEAF:
            self.room -= names
            kept[name] = value
        else:
            self.left_out += names


def _has_long(document: Mapping[str, Any]) -> bool:
    """Return whether the path of a leaf is too long; one of its own holds what is deeper."""
    inner = (
        len(outer) + 1 + len(name)
        for outer in MERGED
        if isinstance(members := document.get(outer), Mapping)
        for name in members
    )
    return any(length > LONGEST_LEAF for length in chain(map(len, document), inner))


def _names(value: Any) -> int:
    """Count the names in a value, at every depth."""
    number, rest = 0, [value]
    while rest:
        one = rest.pop()
        if isinstance(one, Mapping):
            number += len(one)
            rest += one.values()
        elif isinstance(one, list):
            rest += one
    return number
