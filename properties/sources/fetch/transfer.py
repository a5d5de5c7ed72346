"""The shared parts of all fetches: place and version of a file, the sink, the time limits.

It also finds the feed in a folder on a server.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

from crm_sync.platform import outside
from crm_sync.platform.errors import RejectedError, SyncError, TransientError
from crm_sync.sentence import Sentence, counted_sentence, sentence
from properties.feeds.unpack import IDX, the_feed
from properties.sources.address import Address

SILENCE = 20.0  # seconds without a byte until a fetch gives up
RACE = 120.0  # seconds after a change in which a file may change again without a new time
UPLOADING = 60.0  # seconds after a change in which a file may still be uploaded
AHEAD = 3600.0  # seconds by which the clock of a server may be ahead of ours
MOST = 100_000  # names in a folder
LONGEST = 100 * MOST  # characters of all names in a folder
_OF_LATIN_1 = {0xDC00 + byte: byte for byte in range(0x80, 0x100)}


class StillUploaded(TransientError):
    """The file may be incomplete: it was changed a moment ago, or while it was read."""

    def __init__(self, text: Sentence) -> None:
        super().__init__(text, unclear=False)


@dataclass(frozen=True)
class Place:
    """The address of a file, with the data that is needed to fetch it.

    Attributes:
        secret: a password, or for SFTP a private key; for a web address see `sign_in`.
        sign_in: PASSWORD, BEARER, HEADER or SIGNED: see `web_server`.
        header: the name of the header for HEADER.
        host_key: the key of an SFTP server at the first fetch; "" before that.
        inside: see `outside.RequestOptions`.
        folders: the folders of this machine from which files may be fetched.
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
    """A server's description of one version of a file; empty if nothing is known.

    Attributes:
        etag: the ETag of a web server.
        modified: the header of a web server; from all others the seconds since 1970.
        size: the number of bytes; None from a web server.
    """

    etag: str = ""
    modified: str = ""
    size: int | None = None

    @property
    def tells(self) -> bool:
        """Whether an equal description means the same file."""
        return bool(self.etag or self.modified)


@dataclass(frozen=True)
class Fetched:
    """The description of a fetched file.

    Attributes:
        name: the name of the file at its source.
        host_key: the key of the SFTP server.
        beside: the names of the other files in the folder.
    """

    name: str
    stamp: FileVersion
    host_key: str = ""
    beside: tuple[str, ...] = ()


@dataclass(frozen=True)
class Listed:
    """A file in a folder; in its name lone surrogates represent bytes that are not UTF-8."""

    name: str
    stamp: FileVersion


@dataclass(frozen=True)
class Listing:
    """The files in a folder, without those in folders below it.

    Attributes:
        host_key: the key of the SFTP server.
    """

    files: tuple[Listed, ...]
    host_key: str = ""


class Sink:
    """The target of a fetched file.

    Args:
        limit: the most bytes that the file may have.
        check: called for each piece. It returns the seconds that the fetch may still take, or
            raises an error that ends it, such as a passed deadline.
    """

    def __init__(self, file: BinaryIO, limit: int, check: Callable[[], float]) -> None:
        self.size = 0
        self.limit = limit
        self._file = file
        self.check = check

    def write(self, data: bytes) -> int:
        """Write a piece of the file.

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
            raise rejected(
                sentence(
                    "the file is larger than %(most)s bytes, the most that is taken",
                    most=self.limit,
                )
            )

    def finish(self, size: int | None) -> None:
        """Refuse a file that is incomplete.

        Args:
            size: the number of bytes that the file should have; None if unknown.
        """
        if size is not None and size != self.size:
            text = sentence(
                "%(came)s bytes came, %(announced)s were announced", came=self.size, announced=size
            )
            raise failed(text)


def wait_for_upload(name: str, modified: float, now: float, quiet: float = UPLOADING) -> None:
    """Postpone a file that was changed a moment ago.

    Args:
        quiet: the seconds for which a file must be unchanged.
        modified: in seconds since 1970, by the clock of the server.
        now: in seconds since 1970, by the same clock if it is known. With another clock, a time
            that is a little ahead also counts as recent.

    Raises:
        StillUploaded: the file was changed a moment ago.
    """
    age = now - modified
    if 0 <= age < quiet:
        raise StillUploaded(
            counted_sentence(
                "the file %(name)s was changed %(count)s second ago: it may still be uploaded, so"
                " it is taken later",
                "the file %(name)s was changed %(count)s seconds ago: it may still be uploaded, so"
                " it is taken later",
                count=round(age),
                name=name,
            )
        )
    if -AHEAD < age < 0:
        raise StillUploaded(
            sentence(
                "the file %(name)s was changed a moment ago: it may still be uploaded, so it is"
                " taken later",
                name=name,
            )
        )


def look_again(name: str, before: FileVersion, after: FileVersion) -> None:
    """Postpone a file that changed while it was read.

    Raises:
        StillUploaded: both versions differ.
    """
    if before != after:
        raise StillUploaded(
            sentence(
                "the file %(name)s was changed while it was read: it may still be uploaded, so it"
                " is taken later",
                name=name,
            )
        )


def settled(stamp: FileVersion, now: float) -> FileVersion:
    """Return the version of a file, or an empty one if the file is too new.

    A new file could change again within the same second, and its version would remain the same.

    Args:
        now: seconds since 1970.
    """
    is_old = stamp.modified and abs(now - float(stamp.modified)) > RACE
    return stamp if is_old else FileVersion()


def rejected(text: Sentence) -> RejectedError:
    """Return the error for a problem that a person must solve."""
    return RejectedError(text, status=0)


def failed(text: Sentence) -> TransientError:
    """Return the error for a problem that may disappear by the next try."""
    return TransientError(text, unclear=False)


def not_connected(host: str, reason: str) -> TransientError:
    """Return the error for a connection that failed."""
    return failed(
        sentence("the connection to %(host)s failed: %(reason)s", host=host, reason=reason)
    )


@contextmanager
def in_time(check: Callable[[], float]) -> Iterator[float]:
    """Yield the time at which the fetch must end, on the monotonic clock (I13).

    Args:
        check: see `Sink`.

    Raises:
        TransientError: the time has passed. It replaces the error that resulted from that.
    """
    end = time.monotonic() + check()
    try:
        yield end
    except SyncError as error:
        if time.monotonic() >= end:
            raise failed(outside.LATE) from error
        raise


class FolderListing:
    """The names in a folder, added one by one, because a server's list may have no end."""

    def __init__(self, check: Callable[[], float]) -> None:
        self.found: list[str] = []
        self._check = check
        self._size = 0

    def add(self, name: str) -> None:
        """Add a name.

        Raises:
            RejectedError: there are too many names.
        """
        self._check()
        self.found.append(name)
        self._size += len(name)
        if len(self.found) > MOST or self._size > LONGEST:
            raise rejected(sentence("the folder holds more than %(most)s files", most=MOST))


def path_of(
    address: Address, names_in: Callable[[str], Iterable[str]]
) -> tuple[str, tuple[str, ...]]:
    """Return the path of the file, or of the feed in the folder, and the names beside it.

    A path is relative to the start folder of the server. After two slashes it is absolute. A folder
    ends with a slash.

    Args:
        names_in: returns the names in a folder of the server; "" is the start folder. In these
            names and in the returned path, lone surrogates represent bytes that are not UTF-8.

    Raises:
        RejectedError: no file of the folder is the feed, or several files could be.
    """
    path = address.path.removeprefix("/")
    if path and not path.endswith("/"):
        return path, ()
    names = set(names_in(path))
    data = IDX.partition("/")[0]
    if data in names:
        names |= {f"{data}/{name}" for name in names_in(f"{path}{data}")}
    feed = feed_in([shown(one) for one in names])
    name = next(one for one in names if shown(one) == feed)
    return f"{path}{name}", tuple(shown(one) for one in sorted(names - {name}))


def feed_in(names: Collection[str]) -> str:
    """Return the name of the feed in a folder.

    Raises:
        RejectedError: no file of the folder is the feed, or several files could be.
    """
    try:
        return the_feed(names)
    except ValueError as error:
        text = sentence("no feed can be taken from the folder: %(reason)s", reason=str(error))
        raise rejected(text) from None


def shown(text: str) -> str:
    """Return a text for people, in which bytes that are not UTF-8 are read as Latin-1 (I17)."""
    return text.translate(_OF_LATIN_1)
