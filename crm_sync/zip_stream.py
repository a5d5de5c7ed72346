"""A ZIP that is made while it is sent: it is whole neither in memory nor on the disk."""

import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime

BLOCK = 256 * 1024  # bytes in memory at once


class BrokenOff(Exception):
    """A file cannot be read to its end. Its beginning was sent, so the ZIP is of no use."""


class ZipStream:
    """A ZIP whose bytes `add` and `end` return. Nothing is compressed: pictures are compact."""

    def __init__(self) -> None:
        self._sink = _Sink()
        self._whole = zipfile.ZipFile(self._sink, "w", zipfile.ZIP_STORED)

    def add(
        self, name: str, read: Callable[[int], bytes], *, at: datetime, size: int
    ) -> Iterator[bytes]:
        """Yield the bytes of one more file.

        Args:
            read: returns its next bytes, at most so many; b"" at its end.
            at: its time in the ZIP.
            size: about how many bytes it has, which decides whether ZIP64 is used.

        Raises:
            OSError: it cannot be read, and the ZIP has nothing of it.
            BrokenOff: only its beginning could be read.
        """
        block = read(BLOCK)
        info = zipfile.ZipInfo(name, at.timetuple()[:6])
        info.file_size = size
        with self._whole.open(info, "w") as entry:
            while block:
                entry.write(block)
                yield self._sink.taken()
                try:
                    block = read(BLOCK)
                except OSError as error:
                    raise BrokenOff(f"{name} broke off: {error.strerror or error}") from error
        yield self._sink.taken()

    def end(self) -> bytes:
        """Return the last bytes: the list of the files."""
        self._whole.close()
        return self._sink.taken()


class _Sink:
    """The output of `zipfile`. It cannot seek, and `taken` empties it."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes, /) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: there is nothing to flush."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def taken(self) -> bytes:
        """Return the bytes written since the last call."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
