"""Limits how many calls with a wrong secret are recorded (S22).

Only refused calls are counted, so no genuine call is refused or delayed. Each process counts for
itself, in bounded memory. This protects the database and the log, not the secret, which nobody can
guess.
"""

import threading
from dataclasses import dataclass

from crm_sync.security.per_minute import PerMinute

OF_ALL = 10  # the limit of a workspace, as a multiple of the limit of one source
NOTE_EVERY = 1.0  # seconds between two records of calls over the limit


@dataclass
class _Count:
    since: float
    number: int = 0


class WrongSecrets:
    """Counts calls with a wrong secret by workspace and source, in windows of a minute."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts = PerMinute()
        self._unnoted: dict[int, _Count] = {}

    def are_too_many(self, workspace_id: int, source: str, *, most: int, now: float) -> bool:
        """Count a call and return whether it is over the limit of its source, or of all sources.

        Args:
            most: the calls from one source in a minute, 0 for no limit.
            now: seconds of a monotonic clock.
        """
        if not most:
            return False
        of_source = self._counts.add((workspace_id, source), now)
        of_all = self._counts.add(workspace_id, now)
        return of_source > most or of_all > most * OF_ALL

    def to_note(self, workspace_id: int, *, now: float) -> int:
        """Return the number of calls over the limit to record now, with this one.

        It is above 0 at most once a second. The last calls are recorded with the next refused call.
        """
        with self._lock:
            count = self._unnoted.setdefault(workspace_id, _Count(now - NOTE_EVERY))
            count.number += 1
            if now - count.since < NOTE_EVERY:
                return 0
            self._unnoted[workspace_id] = _Count(now)
            return count.number

    def forget(self) -> None:
        """Reset all counts."""
        self._counts.forget()
        with self._lock:
            self._unnoted.clear()

    def __len__(self) -> int:
        return len(self._counts)
