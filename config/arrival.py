"""Pure: has a whole HTTP request arrived (RFC 9112)? Each byte is read once.

It does not judge: what is no proper request counts as arrived, and gunicorn's parser refuses it.
"""

import re

HEAD_LIMIT = 64 * 1024  # bytes; also of the lines between chunks, and behind the last one
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)
LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,15})[ \t]*\r\n", re.IGNORECASE)
CODED = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)
EXPECTS = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*\r\n", re.IGNORECASE)


class Arrival:
    """One request on its way in.

    Attributes:
        data: what has arrived.
        is_here: nothing more is to be waited for.
        is_head_too_large: its head does not end; there is nothing to parse.
        expects_word: the caller waits for `100 Continue` before the body.
        rest: bytes of the body that are still to come: 0, or those of a body over the limit,
            which nobody should wait for.
    """

    def __init__(self, body_limit: int) -> None:
        """Wait for bodies of at most `body_limit` bytes, of a larger chunked one for one more."""
        self.data = bytearray()
        self.is_here = self.is_head_too_large = self.expects_word = False
        self.rest = 0
        self._limit = body_limit
        self._step = self._read_head
        self._searched = 0  # where the search for the end of a line goes on
        self._needed = 0  # bytes of `data` without which there is nothing to read
        self._decoded = 0  # bytes in the chunks until here

    def take(self, piece: bytes) -> bool:
        """Add what came; return whether nothing more is to be waited for."""
        self.data += piece
        while not self.is_here and len(self.data) >= self._needed and self._step():
            pass
        return self.is_here

    # Each of these steps returns whether there may be more to read.

    def _read_head(self) -> bool:
        end = self.data.find(b"\r\n\r\n", self._searched)
        if end < 0 or end > HEAD_LIMIT:
            self._searched = max(0, len(self.data) - 3)
            self.is_here = self.is_head_too_large = len(self.data) > HEAD_LIMIT
            return False
        head = bytes(self.data[: end + 2])
        self.expects_word = bool(EXPECTS.search(head))
        body = end + 4
        if CODED.search(head):
            self._step, self._needed, self._searched = self._read_size, body, body
            return True
        length = LENGTH.search(head)
        size = int(length[1]) if length else 0
        self._step, self._needed = self._arrived, body + size
        if size > self._limit:
            self.rest = max(0, self._needed - len(self.data))
            self.is_here = True
        return True

    def _arrived(self) -> bool:
        self.is_here = True
        return False

    def _read_size(self) -> bool:
        """Read the line in front of a chunk, which begins at `_needed`."""
        start = self._needed
        end = self.data.find(b"\r\n", self._searched)
        if end < 0:
            self._searched = max(start, len(self.data) - 1)
            self.is_here = len(self.data) - start > HEAD_LIMIT
            return False
        found = CHUNK_SIZE.fullmatch(self.data[start:end])
        size = int(found[1], 16) if found else -1
        if size < 0:
            return self._arrived()
        if size == 0:
            self._step, self._searched = self._read_trailers, end
            return True
        over = self._decoded + size - self._limit - 1
        self._decoded += size
        if over >= 0:
            self._step, self._needed = self._arrived, end + 2 + size - over
        else:
            self._needed = self._searched = end + 2 + size + 2
        return True

    def _read_trailers(self) -> bool:
        if self.data.find(b"\r\n\r\n", self._searched) >= 0:
            return self._arrived()
        self.is_here = len(self.data) - self._needed > HEAD_LIMIT
        self._searched = max(self._searched, len(self.data) - 3)
        return False
