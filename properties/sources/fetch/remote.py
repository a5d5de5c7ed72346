"""Where on a server the feed is: at the address, or in the folder that the address names.

And how long it may take to get it from there, whatever the server does.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from crm_sync.platform import outside
from crm_sync.platform.errors import SyncError
from properties.feeds.entry import IDX, the_feed
from properties.sources.address import Address
from properties.sources.fetch.wanted import Sink, failed, rejected

MOST = 100_000  # names in a folder
LONGEST = 100 * MOST  # characters of all of them
_OF_LATIN_1 = {0xDC00 + byte: byte for byte in range(0x80, 0x100)}


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
    """The names in a folder as they come one by one: a list of a server may have no end."""

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
