"""Each call as a line of JSON in a file, to judge the calls of a client.

    effect          the order in which calls were carried out; 0: it was refused
    began, ended    seconds since the epoch, by the machine's clock; ended after a slow answer
    caller          address and port of one connection, so the calls of one client are in order
    method, path, body, status
    fault           the fault that applied to it, or null

The calls of people on the platform (`/_sandbox/…`) are included.
"""

import threading
from pathlib import Path

from sandbox.wire import Document, encode


class Journal:
    """Appends to the file. A line is written before the answer is sent."""

    def __init__(self, path: Path) -> None:
        """Open the file. Raises OSError if it cannot be written."""
        self._file = path.open("ab", buffering=0)
        self._lock = threading.Lock()

    def write(self, entry: Document) -> None:
        """Append one call."""
        with self._lock:
            self._file.write(encode(entry) + b"\n")
