"""Pure: the old and new values that a record of a feed changes, shortened for a page."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from properties.members import differing

RECORDS = 100  # records with stored differences
MOST = 200  # differences of one record
LENGTH = 160  # characters of a value
BEFORE = 40  # characters of a long text before its first difference


@dataclass(frozen=True)
class Difference:
    """One member of a leaf, with our value and the value of the feed.

    Attributes:
        path: the path of the member, such as `localizations[0].title`.
        name: the name of the member within its leaf, such as "de · title"; "" for the leaf itself.
        old: our value as sent to the platform, or an excerpt of a long value.
        new: the value of the feed, in the same form.
    """

    path: str
    name: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Differences:
    """The first differences of one record, and the number of all its differences."""

    reference: str
    first: list[Difference]
    count: int


def differences(
    reference: str, changed: Iterable[str], before: Mapping[str, Any], asked: Mapping[str, Any]
) -> Differences:
    """Return the differences of a record, member by member.

    Args:
        changed: the leaves that the record changes.
        before: our values by leaf.
        asked: the values of the record by leaf.
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
    """Return two values. Long values become texts around the first place where they differ."""
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
