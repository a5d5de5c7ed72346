"""Open a feed by what is in it, whatever its name says."""

import codecs
from collections.abc import Iterator
from pathlib import Path

from properties.feeds.records import NotAFeed, Record, Refusal
from properties.feeds.swissrets_json import read_json
from properties.feeds.swissrets_xml import read_xml

_HEAD = 4096
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def open_feed(path: Path) -> Iterator[Record | Refusal]:
    """Return the records and refusals of a file as a stream, in its order.

    Raises NotAFeed at once for a file that cannot be read or is neither XML nor JSON; while it is
    read, NotAFeed for one that turns out to be another format or hostile, and Truncated where it
    breaks off after records. Nothing of such a file should be imported.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise NotAFeed(f"{path.name}: cannot be read: {error.strerror}") from error
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if not start:
        raise NotAFeed(f"{path.name}: the file is empty")
    if start.startswith((b"<", *_UTF16)):  # the parser of XML knows UTF-16 by itself
        return read_xml(path)
    if start.startswith((b"{", b"[")):
        return read_json(path)
    raise NotAFeed(f"{path.name}: neither XML nor JSON")
