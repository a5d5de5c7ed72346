"""What must hold for the rows of an app, as data for the audit (I31)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet


@dataclass(frozen=True)
class Invariant:
    """What holds for each row at any instant; `broken` finds the rows for which it does not.

    Attributes:
        name: what is wrong with such a row, as a person reads it behind the row's name.
    """

    name: str
    broken: Q


Wrong = tuple[str, str]  # what is wrong, as the name of an invariant; the row, as a person reads it


@dataclass(frozen=True)
class CheckGroup:
    """Rows of one kind, counted twice: all of them, and by what became of each (I31).

    Attributes:
        rows: of one workspace, with only the columns that naming one takes.
        parts: every row is in exactly one; the conditions do not lean on each other.
        walk: yields what no query can find in the rows that it is given; it takes its time.
    """

    title: str
    rows: QuerySet[Any]
    parts: Mapping[str, Q]
    invariants: Sequence[Invariant] = ()
    walk: Callable[[QuerySet[Any], datetime], Iterable[Wrong]] | None = None
