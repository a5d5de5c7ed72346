"""What every kind of fetch shares: place and version of a file, where its bytes go, and how long.

Also which file of a folder on a server is the feed.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

from django.template.defaultfilters import filesizeformat

from crm_sync.platform import outside
from crm_sync.platform.errors import RejectedError, SyncError, TransientError
from properties.feeds.unpack import IDX, the_feed
from properties.sources.address import Address

SILENCE = 20.0  # seconds without a byte, after which a server is given up
RACE = 120.0  # seconds; a file that was changed so shortly before may change again unseen
UPLOADING = 60.0  # seconds; one that was changed so shortly before may still be uploaded
AHEAD = 3600.0  # seconds by which the clock of a server may be before ours
MOST = 100_000  # names in a folder
LONGEST = 100 * MOST  # characters of all of them
_OF_LATIN_1 = {0xDC00 + byte: byte for byte in range(0x80, 0x100)}


class StillUploaded(TransientError):
    """The file may not be whole yet: it was changed a moment ago, or while it was read."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text}: it may still be uploaded, so it is taken later", unclear=False)


@dataclass(frozen=True)
class Place:
    """Where a file is, and what it takes to get it.

    Attributes:
        secret: a password, or for SFTP a private key; for a web address see `sign_in`.
        sign_in: PASSWORD, BEARER, HEADER or SIGNED: see `web_server`.
        header: the name of the header for HEADER.
        host_key: the key of an SFTP server as it was seen first, "" as long as it was not.
        inside: see `outside.RequestOptions`.
        folders: of this machine, from which files may be taken.
    """

    address: Address
    user: str = ""
    secret: str = field(default="", repr=False)
    host_key: str = ""
    inside: Collection[str] = ()
    folders: Collection[str] = ()
    sign_in: str = "PASSWORD"
    header: str = ""


@dataclass(frozen=True)
class FileVersion:
    """How a server describes one version of a file; empty if nothing is known.

    Attributes:
        etag: of a web server.
        modified: as the server writes it; a file system's is in seconds since 1970.
        size: bytes; of a file system alone.
    """

    etag: str = ""
    modified: str = ""
    size: int | None = None

    @property
    def tells(self) -> bool:
        """Whether the same stamp means the same file."""
        return bool(self.etag or self.modified)


@dataclass(frozen=True)
class Fetched:
    """What is known of a file that was fetched.

    Attributes:
        name: what it is called there.
        host_key: the key that the SFTP server has shown.
        beside: names of other files that were there and are no feed.
    """

    name: str
    stamp: FileVersion
    host_key: str = ""
    beside: tuple[str, ...] = ()


class Sink:
    """Where a file arrives.

    Args:
        limit: bytes that it may have.
        check: called with each piece; raises what ends the fetch, such as a deadline, or returns
            the seconds that it may still take.
    """

    def __init__(self, file: BinaryIO, limit: int, check: Callable[[], float]) -> None:
        self.size = 0
        self.limit = limit
        self._file = file
        self.check = check

    def write(self, data: bytes) -> int:
        """Take a piece.

        Raises:
            RejectedError: the file is too large.
        """
        self.check()
        self.expect(self.size + len(data))
        self.size += len(data)
        return self._file.write(data)

    def expect(self, size: int | None) -> None:
        """Refuse a file whose announced size is too large."""
        if size is not None and size > self.limit:
            text = f"the file is larger than {filesizeformat(self.limit)}, the most that is taken"
            raise rejected(text)

    def finish(self, size: int | None) -> None:
        """Refuse a file that is not whole.

        Args:
            size: how many bytes it should have, None where nobody said.
        """
        if size is not None and size != self.size:
            raise failed(f"{self.size:,} bytes came, {size:,} were announced")


def wait_for_upload(name: str, modified: float, now: float) -> None:
    """Postpone a file that was changed a moment ago.

    Args:
        modified: and `now` in seconds since 1970, by the clock of the server where that is known.
            By another clock what lies a little ahead is young, too.

    Raises:
        StillUploaded: it was.
    """
    age = now - modified
    if -AHEAD < age < UPLOADING:
        when = f"{age:.0f} seconds ago" if age >= 0 else "a moment ago"
        raise StillUploaded(f"the file {name} was changed {when}")


def look_again(name: str, before: FileVersion, after: FileVersion) -> None:
    """Postpone a file that changed while it was read.

    Raises:
        StillUploaded: it does.
    """
    if before != after:
        raise StillUploaded(f"the file {name} was changed while it was read")


def settled(stamp: FileVersion, now: float) -> FileVersion:
    """Return the stamp of a file system, or none where the file may still change within its second.

    Args:
        now: seconds since 1970.
    """
    is_old = stamp.modified and abs(now - float(stamp.modified)) > RACE
    return stamp if is_old else FileVersion()


def rejected(text: str) -> RejectedError:
    """Return the error for what a person must change."""
    return RejectedError(text, status=0)


def failed(text: str) -> TransientError:
    """Return the error for what may succeed the next time."""
    return TransientError(text, unclear=False)


@contextmanager
def in_time(sink: Sink) -> Iterator[float]:
    """Yield when the fetch must have ended, on the monotonic clock (I13).

    Raises:
        TransientError: it has to end; what came of that is no other error.
    """
    end = time.monotonic() + sink.check()
    try:
        yield end
    except SyncError as error:
        if time.monotonic() >= end:
            raise failed(outside.LATE) from error
        raise


class FolderListing:
    """The names in a folder, added one by one: a list of a server may have no end."""

    def __init__(self, sink: Sink) -> None:
        self.found: list[str] = []
        self._sink = sink
        self._size = 0

    def add(self, name: str) -> None:
        """Take a name.

        Raises:
            RejectedError: there are too many.
        """
        self._sink.check()
        self.found.append(name)
        self._size += len(name)
        if len(self.found) > MOST or self._size > LONGEST:
            raise rejected(f"the folder holds more than {MOST:,} files")


def path_of(
    address: Address, names_in: Callable[[str], Iterable[str]]
) -> tuple[str, tuple[str, ...]]:
    """Return the path of the file, or of the feed in the folder, and the names beside it.

    A path is relative to where the server begins; after two slashes it begins at its root. A folder
    ends with a slash.

    Args:
        names_in: the names in a folder of the server; "" is where it begins. In what is not UTF-8
            half surrogates stand for bytes; so is it in the path that is returned.

    Raises:
        wanted.Failed: no file of the folder is the feed, or several could be.
    """
    path = address.path.removeprefix("/")
    if path and not path.endswith("/"):
        return path, ()
    names = set(names_in(path))
    data = IDX.partition("/")[0]
    if data in names:
        names |= {f"{data}/{name}" for name in names_in(f"{path}{data}")}
    try:
        name = the_feed(names)
    except ValueError as error:
        raise rejected(shown(f"the folder {error}")) from None
    return f"{path}{name}", tuple(shown(one) for one in sorted(names - {name}))


def shown(text: str) -> str:
    """Return a text as people read it: what is not UTF-8 is taken for Latin-1 (I17)."""
    return text.translate(_OF_LATIN_1)
