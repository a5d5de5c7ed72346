"""Counts by key in windows of a minute, in bounded memory. Each process counts for itself."""

import threading
from collections import OrderedDict
from collections.abc import Hashable

MINUTE = 60.0  # seconds
KEYS = 10_000  # the number of keys; the least recently counted key is dropped


class PerMinute:
    """Counts by key; `now` is in seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: OrderedDict[Hashable, tuple[float, int]] = OrderedDict()

    def add(self, key: Hashable, now: float) -> int:
        """Count one and return the count of this window, with this one."""
        with self._lock:
            since, number = self._counts.pop(key, (now, 0))
            if now - since >= MINUTE:
                since, number = now, 0
            self._counts[key] = since, number + 1
            if len(self._counts) > KEYS:
                self._counts.popitem(last=False)
            return number + 1

    def wait(self, key: Hashable, most: int, now: float) -> float:
        """Return the seconds until the window ends if it has `most` or more, else 0."""
        since, number = self._counts.get(key, (now, 0))
        return max(0.0, since + MINUTE - now) if number >= most else 0.0

    def forget(self) -> None:
        """Reset all counts."""
        with self._lock:
            self._counts.clear()

    def __len__(self) -> int:
        return len(self._counts)
