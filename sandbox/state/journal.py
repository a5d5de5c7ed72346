"""Every call as a line of JSON in a file, for whoever judges what a client did.

    effect          the number in the order in which calls had their effect; 0: it had none
    began, ended    seconds since the epoch, by the machine's clock; ended after a slow answer
    caller          address and port: one connection, so the calls of one client in their order
    method, path, body, status
    fault           the fault that befell it, or null

The calls of people on the platform (`/_sandbox/…`) are among them.
"""

from __future__ import annotations

import threading
from pathlib import Path

from sandbox.wire import Document, encode


class Journal:
    """Appends to the file; a line is there before its answer is."""

    def __init__(self, path: Path) -> None:
        """Raise OSError where the file cannot be written."""
        self._file = path.open("ab", buffering=0)
        self._lock = threading.Lock()

    def write(self, entry: Document) -> None:
        """Append one call."""
        with self._lock:
            self._file.write(encode(entry) + b"\n")
