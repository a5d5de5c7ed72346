"""Put files into a folder of this machine that TARGET_FOLDERS allows."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from crm_sync.sentence import sentence
from orders.targets.put.target_connection import Connection, Limits, Readable, incomplete
from properties.sources.fetch.abandoned_thread import in_thread
from properties.sources.fetch.transfer import Place, failed, rejected

INTERVAL = 0.5  # seconds between two checks whether the work must end
MODE = 0o755  # of new folders: another system reads them
Result = TypeVar("Result")


@contextmanager
def opened(place: Place, limits: Limits) -> Iterator[Connection]:
    """See `put.opened`."""
    folder = _done(place.address.path, limits, lambda: _allowed(place))
    yield FolderConnection(folder, limits)


class FolderConnection:
    """The files of a folder; see `Connection`."""

    host_key = ""
    renames = True

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._folder, self._limits = folder, limits

    def exists(self, path: str) -> bool:
        """See `Connection`."""
        return self._do(lambda: os.path.lexists(self._folder / path))

    def put(self, path: str, file: Readable, size: int, digest: str) -> None:
        """See `Connection`. Afterwards the bytes are on the disk."""

        def write() -> int:
            final = self._folder / path
            final.parent.mkdir(mode=MODE, parents=True, exist_ok=True)
            if not final.parent.resolve().is_relative_to(self._folder):
                raise rejected(sentence("a link leads out of the folder"))
            final.unlink(missing_ok=True)
            with final.open("xb") as there:
                for block in self._limits.blocks(file):
                    there.write(block)
                there.flush()
                os.fsync(there.fileno())
                return there.tell()

        if (there := self._do(write)) != size:
            raise failed(incomplete(str(self._folder), there, size))

    def rename(self, path: str, name: str) -> None:
        """See `Connection`."""
        self._do(lambda: (self._folder / path).replace(self._folder / name))

    def remove(self, path: str) -> None:
        """See `Connection`."""
        self._do(lambda: (self._folder / path).unlink(missing_ok=True))

    def _do(self, work: Callable[[], Result]) -> Result:
        return _done(str(self._folder), self._limits, work)


def _allowed(place: Place) -> Path:
    """Return the folder of the address with its links resolved, if a setting allows it."""
    path = Path(place.address.path).resolve()
    if not any(path.is_relative_to(Path(one).resolve()) for one in place.folders):
        raise rejected(sentence("the folder is not among those that TARGET_FOLDERS allows"))
    if not path.is_dir():
        raise rejected(sentence("there is no such folder"))
    return path


def _done(path: str, limits: Limits, work: Callable[[], Result]) -> Result:
    """Return what the work returns, which may hang.

    Raises:
        RejectedError, TransientError: what the work raises, and what the file system says.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except Exception as error:  # noqa: BLE001 - raised below, where somebody waits
            errors.append(error)

    with in_thread("write", path, run) as thread:
        while thread.is_alive():
            thread.join(min(limits.left(), INTERVAL))
    if results:
        return results[0]
    error = errors[0]
    if not isinstance(error, OSError):
        raise error
    text = sentence("the folder cannot be written: %(reason)s", reason=str(error.strerror))
    if isinstance(
        error, PermissionError | FileExistsError | IsADirectoryError | NotADirectoryError
    ):
        raise rejected(text) from error
    raise failed(text) from error
