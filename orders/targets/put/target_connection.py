"""What every connection to a target can do, and its limits of time."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from crm_sync.platform.errors import RejectedError
from crm_sync.sentence import Sentence, sentence
from properties.sources.fetch.transfer import Place, failed

BLOCK = 256 * 1024  # bytes


class Unwelcome(RejectedError):
    """The target refuses us, and not only one file. A person must change something first."""


class Readable(Protocol):
    """The bytes of a file."""

    def read(self, size: int = ..., /) -> bytes:
        """Return the next bytes, b"" at the end."""


@dataclass(frozen=True)
class TargetPlace(Place):
    """The address of a target, with the data that is needed to put files there.

    Attributes:
        region: of a storage with S3.
    """

    region: str = ""


@dataclass(frozen=True)
class Limits:
    """When the work with a target must end.

    Attributes:
        end: on the monotonic clock.
        check: raises an error that ends the work, such as the end of the process.
    """

    end: float
    check: Callable[[], None]

    def blocks(self, file: Readable) -> Iterator[bytes]:
        """Yield the blocks of a file, as long as there is time.

        Raises:
            TransientError: the time has passed.
        """
        while block := file.read(BLOCK):
            self.left()
            yield block

    def left(self) -> float:
        """Return the seconds that are left.

        Raises:
            TransientError: there are none.
        """
        self.check()
        seconds = self.end - time.monotonic()
        if seconds <= 0:
            raise failed(sentence("not all of it was sent in time"))
        return seconds


class Connection(Protocol):
    """A connection to a target. All paths are below the address, with / between their parts.

    Each method raises a RejectedError where a person must change something, and a TransientError
    where the next try may succeed.

    Attributes:
        host_key: the key of an SFTP server, else "".
        renames: whether a file is put under another name first. If not, one call puts it whole.
    """

    host_key: str
    renames: bool

    def exists(self, path: str) -> bool:
        """Return whether a file or folder has this name."""

    def put(self, path: str, file: Readable, size: int, digest: str) -> None:
        """Write a whole file in a folder that may be missing; one that is there is replaced.

        Args:
            digest: its SHA-256 in hexadecimal digits.
        """

    def rename(self, path: str, name: str) -> None:
        """Give a file its final name, and replace what has this name."""

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""


def incomplete(host: str, there: int | None, size: int) -> Sentence:
    """Return the text for a file of which not all bytes arrived."""
    return sentence(
        "%(host)s has %(there)s of %(size)s bytes", host=host, there=there or 0, size=size
    )
