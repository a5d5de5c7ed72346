"""The state on disk, for a restart.

The file is replaced as a whole, so it always contains one complete state.
"""

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from sandbox.state.platform import Platform
from sandbox.state.workspace import Workspace
from sandbox.wire import Document

PAUSE = 0.1


class Unreadable(Exception):
    """The file contains no state of a sandbox. It is not changed, and a person must decide."""


def load(path: Path) -> Workspace | None:
    """Return the workspace in a file, or None if there is no file. Raises `Unreadable`."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path}: {error}") from error
    try:
        return Workspace.from_json(json.loads(text))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Unreadable(f"{path}: {error}") from error


def save(state: Document, path: Path) -> None:
    """Write a state to a second file, sync it to disk, and rename it."""
    beside = path.with_name(f"{path.name}.new")
    # 0600: the state holds the secret of the webhook.
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:
        file.writelines(_pieces(state))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _pieces(state: Document) -> Iterator[str]:
    """Yield one line per document, so that other threads can run in between."""
    for number, (name, member) in enumerate(state.items()):
        yield f"{',' if number else '{'}\n{json.dumps(name)}: "
        if not isinstance(member, dict):
            yield json.dumps(member)
            continue
        for index, (key, document) in enumerate(member.items()):
            yield f"{',' if index else '{'}\n  {json.dumps(key)}: {json.dumps(document)}"
        yield "}" if member else "{}"
    yield "\n}\n"


class Saver:
    """Updates a file with the state of a platform.

    After each write it pauses four times as long as the write took, so that saving a large state
    takes at most a fifth of the time.
    """

    def __init__(self, platform: Platform, path: Path) -> None:
        self._platform = platform
        self._path = path
        self._saved = -1
        self._one_at_a_time = threading.Lock()

    def run(self, stop: threading.Event) -> None:
        """Save changes until `stop` is set."""
        pause = PAUSE
        while not stop.wait(pause):
            started = time.monotonic()
            self.save()
            pause = max(PAUSE, 4 * (time.monotonic() - started))

    def save(self) -> None:
        """Save the state if it has changed."""
        with self._one_at_a_time:
            with self._platform.lock:
                version = self._platform.version
                if version == self._saved:
                    return
                state = self._platform.workspace.to_json()
            save(state, self._path)
            self._saved = version
