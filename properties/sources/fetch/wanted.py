"""What is asked for, what is remembered of the last time, and where the bytes go."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import BinaryIO

from django.template.defaultfilters import filesizeformat

from crm_sync.platform.errors import RejectedError, TransientError
from properties.sources.address import Address

SILENCE = 20.0  # seconds without a byte, after which a server is given up
RACE = 120.0  # seconds; a file that was changed so shortly before may change again unseen
UPLOADING = 60.0  # seconds; one that was changed so shortly before may still be uploaded
AHEAD = 3600.0  # seconds by which the clock of a server may be before ours


class StillUploaded(TransientError):
    """The file may not be whole yet: it was changed a moment ago, or while it was read."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text}: it may still be uploaded, so it is taken later", unclear=False)


@dataclass(frozen=True)
class Place:
    """Where a file is, and what it takes to get it.

    Attributes:
        secret: a password, or for SFTP a private key; of a web address what `sign_in` says.
        sign_in: PASSWORD, BEARER, HEADER or SIGNED: see `signing`.
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
    """What a server says of one version of a file; empty where nothing is known.

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
    """What came with a file.

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
        """Refuse a file that says beforehand that it is too large."""
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
    """Leave a file that was changed a moment ago.

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
    """Leave a file whose second look shows another one than the first.

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
