"""What every app has to say about its state: lines that it adds when it loads (design §3)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.safestring import SafeString


@dataclass(frozen=True)
class Tile:
    """One figure of the dashboard.

    Attributes:
        tone: "good", "info", "warning" or "danger"; colours the figure, the text says the same.
        link: the admin page that lists what was counted.
    """

    title: str
    value: int
    tone: str
    link: str
    hint: str = ""


@dataclass(frozen=True)
class Attention:
    """One line of what waits for a person: its state as a badge, why, where, since when.

    Attributes:
        link: the admin page of it; "" where there is none.
        remedy: what a person can do about it.
        next_try: when it is tried again by itself; "" where nothing is.
        is_urgent: something stands still as long as this is so; shown first.
    """

    badge: SafeString
    text: SafeString | str
    where: str = ""
    since: SafeString | str = ""
    link: str = ""
    remedy: str = ""
    next_try: SafeString | str = ""
    is_urgent: bool = False


TILES: list[Callable[[], list[Tile]]] = []
# Each gives the newest few; the tiles say how many there are. Bounded, and one query each.
ATTENTION: list[Callable[[datetime], list[Attention]]] = []
NEWEST = 8


@dataclass(frozen=True)
class Law:
    """What holds for each row at any instant; `broken` finds the rows for which it does not.

    Attributes:
        name: what is wrong with such a row, as a person reads it behind the row's name.
    """

    name: str
    broken: Q


Wrong = tuple[str, str]  # what is wrong, as the name of a law; the row, as a person reads it


@dataclass(frozen=True)
class Book:
    """Rows of one kind, counted twice: all of them, and by what became of each (I31).

    Attributes:
        rows: of one workspace, with only the columns that naming one takes.
        parts: every row is in exactly one; the conditions do not lean on each other.
        walk: yields what no query can tell of the rows that it is given; it takes its time.
    """

    title: str
    rows: QuerySet[Any]
    parts: Mapping[str, Q]
    laws: Sequence[Law] = ()
    walk: Callable[[QuerySet[Any], datetime], Iterable[Wrong]] | None = None


# The books of each app on a workspace, by its key, as of a moment; `manage.py audit` reads them.
AUDITS: list[Callable[[int, datetime], list[Book]]] = []
