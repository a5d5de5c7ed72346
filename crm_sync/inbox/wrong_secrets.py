"""Whoever calls with wrong secrets too often is told so, and costs no row any more (S22).

Only calls that were refused get here, so no genuine one is ever refused or delayed. Each process
counts for itself, in a bounded memory: it is no defence of the secret, which nobody can guess, but
of the database and the log.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

MINUTE = 60.0  # seconds
SOURCES = 10_000  # remembered; then the one that was seen longest ago is forgotten
OF_ALL = 10  # times as many as from one source may come to a workspace from all together
NOTE_EVERY = 1.0  # seconds from one note of the calls over the limit to the next


@dataclass
class _Count:
    since: float
    number: int = 0


class WrongSecrets:
    """Counts calls with a wrong secret by workspace and source, in windows of a minute."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: OrderedDict[Hashable, _Count] = OrderedDict()
        self._unnoted: dict[int, _Count] = {}

    def are_too_many(self, workspace_id: int, source: str, *, most: int, now: float) -> bool:
        """Count a call; tell whether it is over the limit of its source, or of all sources.

        Args:
            most: from one source in a minute; 0 sets no limit.
            now: in seconds, by a clock that nobody sets.
        """
        if not most:
            return False
        with self._lock:
            of_source = self._add((workspace_id, source), now)
            of_all = self._add(workspace_id, now)
            return of_source > most or of_all > most * OF_ALL

    def to_note(self, workspace_id: int, *, now: float) -> int:
        """Return how many calls over the limit are to be written down now, this one included.

        Once in a second; between that 0. What is left when the calls end is written with the next.
        """
        with self._lock:
            count = self._unnoted.setdefault(workspace_id, _Count(now - NOTE_EVERY))
            count.number += 1
            if now - count.since < NOTE_EVERY:
                return 0
            self._unnoted[workspace_id] = _Count(now)
            return count.number

    def forget(self) -> None:
        """Begin anew."""
        with self._lock:
            self._counts.clear()
            self._unnoted.clear()

    def __len__(self) -> int:
        return len(self._counts)

    def _add(self, key: Hashable, now: float) -> int:
        count = self._counts.get(key)
        if count is None or now - count.since >= MINUTE:
            count = self._counts[key] = _Count(now)
        self._counts.move_to_end(key)
        if len(self._counts) > SOURCES:
            self._counts.popitem(last=False)
        count.number += 1
        return count.number
