"""The part of a file that has arrived so far, on the local disk.

The server's name of this version of the file is stored beside it, so that the rest is requested
only of the same version. Both are removed when the file is complete.
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
    """Another process is writing this part."""


class PartFile:
    """The part of one file. It may be written only within `held`."""

    def __init__(self, folder: Path, key: int) -> None:
        self.path = folder / f"{key}.part"
        self._version = folder / f"{key}.version"
        self._lock = folder / f"{key}.lock"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the part against other processes of this machine, within a `with` block.

        The lock is a file, which is removed last. While it has its name, nobody gets another lock.

        Raises:
            Busy: another process has the lock.
        """
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._lock.open("wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise Busy from error
            if not os.fstat(lock.fileno()).st_nlink:  # its holder removed it while we opened it
                raise Busy
            try:
                yield
            finally:
                if not self.size:
                    self.remove()
                    self._lock.unlink(missing_ok=True)

    @property
    def size(self) -> int:
        """The number of bytes that have arrived."""
        return self.path.stat().st_size if self.path.exists() else 0

    def rest(self) -> dict[str, str]:
        """Return the headers that request the rest, or none to request the whole file."""
        version = self._version.read_text("latin-1") if self._version.exists() else ""
        if not self.size or not version:
            return {}
        return {"Range": f"bytes={self.size}-", "If-Range": version}

    def begin(self, headers: Mapping[str, str]) -> None:
        """Begin again, with the version in these headers if there is one."""
        self._version.unlink(missing_ok=True)
        self.path.write_bytes(b"")
        self._version.write_text(_version(headers), "latin-1")

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Append to the part, within a `with` block. Afterwards the data is on the disk."""
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
        """Return the SHA-256 of the part, in hexadecimal digits."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def remove(self) -> None:
        """Remove the part and its version."""
        for path in (self.path, self._version):
            path.unlink(missing_ok=True)


class Whole(File):  # type: ignore[type-arg]
    """A complete part for a storage, which may move it instead of copying it."""

    def temporary_file_path(self) -> str:
        """Return the path of the part. Django's file system storage calls this."""
        return str(self.name)


def _version(headers: Mapping[str, str]) -> str:
    """Return a version that is exact to the byte: a strong ETag, else a date."""
    tag, date = headers.get("ETag", ""), headers.get("Last-Modified", "")
    if re.fullmatch(r'"[\x21\x23-\x7e]*"', tag):
        return tag
    return date if re.fullmatch(r"[\w ,:+-]{1,60}", date, re.ASCII) else ""
