"""Records of a feed on disk, until the whole feed is read."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from properties.feeds import lines
from properties.feeds.lines import Line

CHARACTERS = 8 * 1024 * 1024  # of the lines of one chunk, or a single line that is longer


@contextmanager
def open_spool() -> Iterator["Spool"]:
    """Open a spool in a file that has no name; the file goes with it.

    What was read and found good is what is imported, even when the feed is replaced meanwhile; and
    nothing is read twice. The file is in TMPDIR, about as large as the feed.
    """
    with tempfile.TemporaryFile("w+b") as file:
        yield Spool(file)


class Spool:
    """Holds what was read in a file, one item a line."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def put(self, line: Line) -> None:
        """Add a line behind the others."""
        self._file.write(line.text)

    def chunks(self, size: int) -> Iterator[list[Line]]:
        """Yield all lines in their order, at most `size` and about CHARACTERS at a time."""
        self._file.seek(0)
        found: list[Line] = []
        room = CHARACTERS
        for text in self._file:
            if found and (len(found) == size or len(text) > room):
                yield found
                found, room = [], CHARACTERS
            found.append(lines.read(text))
            room -= len(text)
        if found:
            yield found
