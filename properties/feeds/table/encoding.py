"""How the text of a table is coded: UTF-8, UTF-16 or Windows-1252, as spreadsheets save it."""

import codecs
from pathlib import Path

from properties.feeds.records import NotAFeed

SAMPLE = 64 * 1024
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SHORT = 200  # bytes that show whether it is UTF-16 without a mark: ...
MOST, FEW = 0.6, 0.2  # ... of every second one most are zeros, and of the others few
# Of what cannot be printed: layout, and what some programs write into names (see `header.plain`).
_LAYOUT = "\t\r\n\f\v\u00a0\u2007\u202f\u200b\u200c\u200d\u2060\ufeff\u00ad"


def encoding_of(path: Path) -> str:
    """Return the encoding of a file: UTF-8 where all of it is, else what Excel writes in Europe.

    Raises:
        NotAFeed: it begins as UTF-8 and then is not: read as Windows-1252, every umlaut were wrong.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    beyond_ascii = False
    with path.open("rb") as file:
        head = file.read(SAMPLE)
        if marked := _marked(head):
            return marked
        file.seek(0)
        done = 0
        while chunk := file.read(SAMPLE):
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                read = error.object[: error.start]
                if beyond_ascii or not bytes(read).isascii():
                    where = f"at byte {done + error.start:,}"
                    raise NotAFeed(f"{path.name}: begins as UTF-8, but is none {where}") from error
                return "cp1252"
            beyond_ascii = beyond_ascii or not chunk.isascii()
            done += len(chunk)
    return "utf-8"


def text_of(head: bytes) -> str | None:
    """Return the text that a file begins with, without blanks before it; None where it is none."""
    text = head.decode(_marked(head) or "utf-8", errors="replace").lstrip("\ufeff \t\r\n")
    line = text.replace("\r", "\n").partition("\n")[0]
    return text if all(c.isprintable() or c in _LAYOUT for c in line) else None


def _marked(head: bytes) -> str:
    """Return the encoding that the first bytes give away; empty where they do not."""
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if head.startswith(_UTF16):
        return "utf-16"
    odd, even = (_zeros(head[start:SHORT:2]) for start in (1, 0))
    if odd > MOST and even < FEW:
        return "utf-16-le"
    return "utf-16-be" if even > MOST and odd < FEW else ""


def _zeros(some: bytes) -> float:
    """Return the share of zeros: the names in a header are ASCII, nearly all of them."""
    return some.count(0) / len(some) if some else 0.0
