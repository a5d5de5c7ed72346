"""A file from a folder of this machine that a setting names; or from one below it."""

import os
import time
from pathlib import Path

from properties.feeds.entry import the_feed
from properties.sources.fetch.wanted import (
    Fetched,
    Place,
    Sink,
    Stamp,
    failed,
    look_again,
    rejected,
    settled,
    wait_for_upload,
)

BLOCK = 1024 * 1024  # bytes
MOST = 100_000  # files of a folder


def fetch(place: Place, known: Stamp, sink: Sink) -> Fetched | None:
    """See `fetch.fetch`."""
    try:
        path, beside = _file(_allowed(place))
        stamp = _stamp(path)
        if known.tells and stamp == known:
            return None
        sink.expect(stamp.size)
        wait_for_upload(path.name, float(stamp.modified), time.time())
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                sink.write(block)
        look_again(path.name, stamp, _stamp(path))
    except FileNotFoundError as error:
        raise rejected("there is no such file or folder") from error
    except OSError as error:
        raise failed(f"cannot be read: {error.strerror}") from error
    return Fetched(path.name, settled(stamp, time.time()), beside=beside)


def _allowed(place: Place) -> Path:
    """Return where the address leads, links included."""
    path = Path(place.address.path).resolve()
    if not any(path.is_relative_to(Path(one).resolve()) for one in place.folders):
        raise rejected("the folder is not among those that SOURCE_FOLDERS allows")
    return path


def _file(path: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the file itself, or the feed in the folder and what is beside it."""
    if not path.is_dir():
        return path, ()
    names = []
    for folder, _, files in os.walk(path):  # it follows no link
        names += [(Path(folder) / name).relative_to(path).as_posix() for name in files]
        if len(names) > MOST:
            raise rejected(f"the folder holds more than {MOST:,} files")
    try:
        name = the_feed(names)
    except ValueError as error:
        raise rejected(f"the folder {error}") from None
    if not (found := (path / name).resolve()).is_relative_to(path):
        raise rejected(f"{name} is a link that leads out of the folder")
    return found, tuple(sorted(set(names) - {name}))


def _stamp(path: Path) -> Stamp:
    found = path.stat()
    return Stamp(modified=f"{found.st_mtime_ns / 1e9:.6f}", size=found.st_size)
