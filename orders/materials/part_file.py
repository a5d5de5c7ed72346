"""The part of a file that has arrived so far, on this machine's disk.

Beside it is the server's name of that version of the file, so the rest is requested only of the
same version. Both go with the file when it is complete.
"""

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from django.core.files import File


class Busy(Exception):
    """Another process writes this part now."""


class PartFile:
    """The part of one file; only within `held` may it be written."""

    def __init__(self, folder: Path, key: int) -> None:
        self.path = folder / f"{key}.part"
        self._version = folder / f"{key}.version"
        self._lock = folder / f"{key}.lock"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes of this machine away from the part, within a `with` block.

        The lock is a file, which goes last: as long as it has its name, nobody gets another one.

        Raises:
            Busy: one of them has it now.
        """
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._lock.open("wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise Busy from error
            if not os.fstat(lock.fileno()).st_nlink:  # its holder was done while we opened it
                raise Busy
            try:
                yield
            finally:
                if not self.size:
                    self.remove()
                    self._lock.unlink(missing_ok=True)

    @property
    def size(self) -> int:
        """The number of bytes that are there."""
        return self.path.stat().st_size if self.path.exists() else 0

    def rest(self) -> dict[str, str]:
        """Return the headers that ask for the rest; none where all is to be asked for."""
        version = self._version.read_text("latin-1") if self._version.exists() else ""
        if not self.size or not version:
            return {}
        return {"Range": f"bytes={self.size}-", "If-Range": version}

    def begin(self, headers: Mapping[str, str]) -> None:
        """Begin again, with the version that the server names in these headers, if it does."""
        self._version.unlink(missing_ok=True)
        self.path.write_bytes(b"")
        self._version.write_text(_version(headers), "latin-1")

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Write on at the end, within a `with` block; afterwards it is on the disk."""
        with self.path.open("ab") as file:
            try:
                yield file
            finally:
                file.flush()
                os.fsync(file.fileno())

    def first(self, count: int) -> bytes:
        """Return the first bytes."""
        with self.path.open("rb") as file:
            return file.read(count)

    def digest(self) -> str:
        """Return the SHA-256 of what is there, in hexadecimal digits."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def remove(self) -> None:
        """Remove what is left of it."""
        for path in (self.path, self._version):
            path.unlink(missing_ok=True)


class Whole(File):  # type: ignore[type-arg]
    """A complete part for a storage, which may move it instead of copying it."""

    def temporary_file_path(self) -> str:
        """Return where it lies; the storage of Django's file system asks for this name."""
        return str(self.name)


def _version(headers: Mapping[str, str]) -> str:
    """Return what names a version byte by byte: an ETag that is not weak, else a date."""
    tag, date = headers.get("ETag", ""), headers.get("Last-Modified", "")
    if re.fullmatch(r'"[\x21\x23-\x7e]*"', tag):
        return tag
    return date if re.fullmatch(r"[\w ,:+-]{1,60}", date, re.ASCII) else ""
