"""Pure: which bytes of a file a request wants (RFC 9110, 13 and 14)."""

import re
from dataclasses import dataclass

# One range. Of several, and of what is no range, all bytes are sent, as the RFC allows.
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)


class NotSatisfiable(ValueError):
    """The range begins behind the last byte."""


@dataclass(frozen=True)
class ByteRange:
    """A part of a file, both ends included."""

    first: int
    last: int

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self.last - self.first + 1


def wanted(value: str, size: int) -> ByteRange | None:
    """Return the part that a `Range` asks for, or None for the whole file.

    Raises:
        NotSatisfiable: there is no such part.
    """
    found = _RANGE.fullmatch(value.strip())
    if not found or found[0] == "bytes=-":
        return None
    begin, end = found[1], found[2]
    if not begin:  # the last bytes
        count = int(end)
        if not count or not size:
            raise NotSatisfiable
        return ByteRange(max(0, size - count), size - 1)
    first, last = int(begin), min(int(end), size - 1) if end else size - 1
    if end and int(end) < first:
        return None
    if first >= size:
        raise NotSatisfiable
    return ByteRange(first, last)


def has_tag(value: str, tag: str) -> bool:
    """Return whether an `If-None-Match` names a tag, or any."""
    names = [one.strip().removeprefix("W/") for one in value.split(",")]
    return tag in names or value.strip() == "*"
