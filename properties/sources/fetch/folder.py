"""Fetch a file from a folder of this machine that a setting allows, or from a folder below it."""

import errno
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Full, Queue
from typing import BinaryIO, TypeAlias

from crm_sync.sentence import sentence
from properties.sources.fetch.abandoned_thread import in_thread
from properties.sources.fetch.transfer import (
    Fetched,
    FileVersion,
    Listed,
    Listing,
    Place,
    Sink,
    failed,
    feed_in,
    look_again,
    rejected,
    settled,
    shown,
    wait_for_upload,
)

BLOCK = 1024 * 1024  # bytes
MOST = 100_000  # files in a folder
AHEAD = 4  # blocks that the thread reads ahead
INTERVAL = 0.5  # seconds between two checks whether the fetch must end
NO_FILE = sentence("it is no file of bytes, but a pipe, a socket, a device or a link")

Piece: TypeAlias = bytes | Fetched | Listing | Exception | None  # only the last piece is not bytes


def fetch(place: Place, known: FileVersion, sink: Sink) -> Fetched | None:
    """See `fetch.fetch`."""
    found = _read(place, _pieces(place, known, sink), sink.check, sink.write)
    return found if isinstance(found, Fetched) else None


def listing(place: Place, check: Callable[[], float]) -> Listing:
    """See `fetch.listing`."""
    found = _read(place, _files(place), check, lambda piece: None)
    return found if isinstance(found, Listing) else Listing(())


def _read(
    place: Place,
    found: Iterator[Piece],
    check: Callable[[], float],
    write: Callable[[bytes], object],
) -> Piece:
    """Write all pieces that are bytes, and return the last piece.

    They are read in a thread, because no signal can interrupt the wait for a file system.
    """
    pieces: Queue[Piece] = Queue(AHEAD)
    left = threading.Event()
    with in_thread("read", place.address.path, lambda: _put(found, pieces, left)) as reader:
        try:
            while True:
                seconds = check()
                with suppress(Empty):
                    piece = pieces.get(timeout=min(seconds, INTERVAL))
                    if isinstance(piece, Exception):
                        raise piece
                    if not isinstance(piece, bytes):
                        reader.join(INTERVAL)  # so the next fetch does not find it alive
                        return piece
                    write(piece)
        finally:
            left.set()


def _put(found: Iterator[Piece], pieces: Queue[Piece], left: threading.Event) -> None:
    """Queue the pieces, until they end or the fetch is over."""
    while not left.is_set():
        piece: Piece
        try:
            piece = next(found)
        except Exception as error:  # noqa: BLE001 - `fetch` raises it, where somebody waits
            piece = error
        while not left.is_set():
            with suppress(Full):
                pieces.put(piece, timeout=INTERVAL)
                break
        if not isinstance(piece, bytes):
            return


def _pieces(place: Place, known: FileVersion, sink: Sink) -> Iterator[Piece]:
    """Yield the bytes of the file, then its description; only None if it is unchanged."""
    with _told():
        path, beside = _file(_allowed(place))
        with _opened(path) as file:
            stamp = _stamp(os.fstat(file.fileno()))
            if known.tells and stamp == known:
                yield None
                return
            sink.expect(stamp.size)
            wait_for_upload(shown(path.name), float(stamp.modified), time.time())
            while block := file.read(BLOCK):
                yield block
        look_again(shown(path.name), stamp, _stamp(path.stat()))
    yield Fetched(path.name, settled(stamp, time.time()), beside=beside)


def _files(place: Place) -> Iterator[Piece]:
    """Yield the regular files in a folder, without links."""
    found: list[Listed] = []
    with _told(), os.scandir(_allowed(place)) as entries:
        for number, one in enumerate(entries):
            if number >= MOST:
                raise rejected(sentence("the folder holds more than %(most)s files", most=MOST))
            with suppress(FileNotFoundError):  # removed while the folder was read
                if one.is_file(follow_symlinks=False):
                    found.append(Listed(one.name, _stamp(one.stat(follow_symlinks=False))))
    yield Listing(tuple(found))


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise rejected(sentence("there is no such file or folder")) from error
    except OSError as error:
        text = sentence("the file cannot be read: %(reason)s", reason=str(error.strerror))
        raise failed(text) from error


def _opened(path: Path) -> BinaryIO:
    """Open a regular file: a pipe would wait for a writer.

    Raises:
        RejectedError: the file is a pipe, a socket or a device, or has just become a link.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise rejected(NO_FILE) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise rejected(NO_FILE)
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "rb")


def _allowed(place: Place) -> Path:
    """Return the path of the address with its links resolved, if a setting allows it."""
    path = Path(place.address.path).resolve()
    if not any(path.is_relative_to(Path(one).resolve()) for one in place.folders):
        raise rejected(sentence("the folder is not among those that SOURCE_FOLDERS allows"))
    return path


def _file(path: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the file itself, or the feed in a folder and the names of the files beside it."""
    if not path.is_dir():
        return path, ()
    names = []
    for folder, _, files in os.walk(path):  # os.walk follows no links
        names += [(Path(folder) / name).relative_to(path).as_posix() for name in files]
        if len(names) > MOST:
            raise rejected(sentence("the folder holds more than %(most)s files", most=MOST))
    name = feed_in(names)
    if not (found := (path / name).resolve()).is_relative_to(path):
        raise rejected(sentence("%(name)s is a link that leads out of the folder", name=name))
    return found, tuple(sorted(set(names) - {name}))


def _stamp(found: os.stat_result) -> FileVersion:
    return FileVersion(modified=f"{found.st_mtime_ns / 1e9:.6f}", size=found.st_size)
