"""Pure: what a record of a feed changes, old to new, cut to what a page can show."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from properties.members import differing

RECORDS = 100  # whose differences are stored
MOST = 200  # differences of one record
LENGTH = 160  # characters of a value
BEFORE = 40  # characters of a long text before its first difference


@dataclass(frozen=True)
class Difference:
    """One member of a leaf, as it is here and as the feed has it.

    Attributes:
        path: of the member, `localizations[0].title`.
        name: what it is called within its leaf, "de · Title"; "" for the leaf itself.
        old: a value of the wire, or the text of one that is too long.
    """

    path: str
    name: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Differences:
    """The first differences of one record, and how many it has in all."""

    reference: str
    first: list[Difference]
    count: int


def differences(
    reference: str, changed: Iterable[str], before: Mapping[str, Any], asked: Mapping[str, Any]
) -> Differences:
    """Return what a record changes, member by member.

    Args:
        changed: the leaves that become different.
        before: leaf to value as it is here; `asked`: as the record has it.
    """
    found = [
        member
        for leaf in changed
        for member in differing(leaf, before.get(leaf), None, asked.get(leaf))
    ]
    first = [
        Difference(one.path, one.name, *shortened(one.ours, one.theirs))
        for one in islice(found, MOST)
    ]
    return Differences(reference, first, len(found))


def shortened(old: Any, new: Any) -> tuple[Any, Any]:
    """Return two values; of long ones a text around the first place where they differ."""
    texts = [_text(value) for value in (old, new)]
    if max(map(len, texts)) <= LENGTH:
        return old, new
    start = max(0, _same(*texts) - BEFORE) if None not in (old, new) else 0
    values = (
        value if len(text) <= LENGTH - BEFORE and not start else _excerpt(text, start)
        for value, text in zip((old, new), texts, strict=True)
    )
    return next(values), next(values)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _same(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _excerpt(text: str, start: int) -> str:
    piece = text[start : start + LENGTH]
    end = "…" if start + LENGTH < len(text) else ""
    return f"{'…' if start else ''}{piece}{end}"
