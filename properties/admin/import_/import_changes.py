"""The changes of an import, or of its preview: old and new value of each field, in pages."""

import re
from collections.abc import Mapping
from typing import Any

from crm_sync.sentence import Sentence
from properties.admin.words import worded
from properties.catalog import Kind, find, inner_label, label, leaf_of
from properties.imports.report import Summary, count
from properties.members import below

ON_A_PAGE = 200  # differences; a page has one record at least
FOLDED = 20  # a record with more of them is folded
_FIRST = re.compile(r"[^\s:]*")  # French has a space before its colon


def changed_part(summary: Summary, asked: str, names: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the changed records of one page; None if there are none.

    Args:
        asked: the number of the page, as in the address.
        names: reference to the name that a person knows.
    """
    kept = summary.get("differences", [])
    if not kept:
        return None
    pages = _pages(kept)
    number = min(int(asked), len(pages)) if asked.isdecimal() and len(asked) < 5 else 1
    return {
        "records": [_record(*one, names=names) for one in pages[max(1, number) - 1]],
        "number": max(1, number),
        "pages": range(1, len(pages) + 1),
        "more": count(summary, "changed") - len(kept),
    }


def in_words(stored: Any) -> str:
    """Return the text about a record, with the field in words where the text begins with it."""
    text = Sentence.of(stored).said()
    path = _FIRST.match(text)[0]  # type: ignore[index] # it matches each text
    if find(path) is None and leaf_of(path) == path:
        return text
    return f"{label(path)}{text.removeprefix(path)}"


def _pages(kept: list[Any]) -> list[list[Any]]:
    pages: list[list[Any]] = [[]]
    room = ON_A_PAGE
    for one in kept:
        size = max(1, len(one[1]))
        if pages[-1] and size > room:
            pages.append([])
            room = ON_A_PAGE
        pages[-1].append(one)
        room -= size
    return pages


def _record(
    reference: str, first: list[Any], total: int, *, names: Mapping[str, str]
) -> dict[str, Any]:
    name = names.get(reference, "")
    return {
        "name": name or reference,
        "reference": reference if name else "",
        "rows": [_row(*one) for one in first],
        "count": total,
        "left": total - len(first),
        "is_folded": len(first) > FOLDED,
    }


def _row(path: str, name: str, old: Any, new: Any) -> dict[str, str]:
    field = label(leaf_of(path))
    return {
        "name": f"{field} · {_in_words(path, name)}" if name else field,
        "old": worded(path, old),
        "new": worded(path, new),
    }


def _in_words(path: str, name: str) -> str:
    """Return the name of a member for the reader: a worker has stored it in English.

    The key of an entry, such as a language, and the name of a custom field stay as they are.
    """
    field = find(leaf_of(path))
    if path.endswith("]") or field is None or field.kind is Kind.MAP:
        return name
    before, __, __ = name.rpartition(" · ")
    outer = _in_words(path.rpartition(".")[0], before) if before else ""
    return below(outer, inner_label(path))
