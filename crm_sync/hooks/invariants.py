"""What must hold for the rows of an app, as data for the audit (I31)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet


@dataclass(frozen=True)
class Invariant:
    """What must hold for each row at any instant.

    Attributes:
        name: what is wrong with a row that breaks it; it is shown after the row's name.
        broken: finds the rows that break it.
    """

    name: str
    broken: Q


Wrong = tuple[str, str]  # what is wrong, like the name of an invariant; the row, for people


@dataclass(frozen=True)
class CheckGroup:
    """Rows of one kind, counted twice: all of them, and by the part in which each is (I31).

    Attributes:
        rows: those of one workspace, with only the columns that `str(row)` needs.
        parts: conditions by name; every row meets exactly one.
        walk: yields what is wrong in documents of the given rows, which no query can find.
    """

    title: str
    rows: QuerySet[Any]
    parts: Mapping[str, Q]
    invariants: Sequence[Invariant] = ()
    walk: Callable[[QuerySet[Any], datetime], Iterable[Wrong]] | None = None
