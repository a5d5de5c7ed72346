"""Records of a feed on disk, until they are imported."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import IO

from properties.feeds import lines
from properties.feeds.lines import Line

CHARACTERS = 8 * 1024 * 1024  # of the lines of one chunk, or a single line that is longer
EVERY = 1_000  # lines from one place that is noted to the next


class Spool:
    """Holds what was read in a file, one item a line.

    What was read and found good is what is imported, even when the feed is replaced meanwhile; and
    nothing is read twice. It is about as large as the feed.

    Attributes:
        count: the number of lines.
        places: where in the file each `EVERY`-th of them begins.
    """

    def __init__(self, file: IO[bytes], *, count: int = 0, places: Sequence[int] = ()) -> None:
        self._file = file
        self.count = count
        self.places = list(places)

    def put(self, line: Line) -> None:
        """Add a line behind the others."""
        if not self.count % EVERY:
            self.places.append(self._file.tell())
        self.count += 1
        self._file.write(line.text)

    def chunks(self, size: int, *, skip: int = 0) -> Iterator[list[Line]]:
        """Yield the lines behind the first `skip`, at most `size` and about CHARACTERS at a time.

        Of the skipped ones fewer than `EVERY` are passed over, whatever their number.
        """
        found: list[Line] = []
        room = CHARACTERS
        for text in self._texts(skip):
            if found and (len(found) == size or len(text) > room):
                yield found
                found, room = [], CHARACTERS
            found.append(lines.read(text))
            room -= len(text)
        if found:
            yield found

    def _texts(self, skip: int) -> Iterator[bytes]:
        if skip >= self.count:
            return
        self._file.seek(self.places[skip // EVERY])
        yield from islice(self._file, skip % EVERY, None)
