"""What an app does after a backup was restored, and what is still to do."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

Counts = Mapping[
    str, int
]  # what, in the plural → how many; nothing that counts 0 has to be left out


@dataclass(frozen=True)
class Recovery:
    """How the rows of an app are made to agree with the platform again.

    Attributes:
        begin: makes the rows of a workspace due for a read, and keeps what was on its way from
            being sent again; returns what it did. Called in a transaction, at most a few times.
        unread: what a worker has not read since then, counted in workspaces.
        for_people: what waits for a person in them since then.
    """

    begin: Callable[[int, datetime], Counts]
    unread: Callable[[Collection[int], datetime], Counts]
    for_people: Callable[[Collection[int], datetime], Counts]
