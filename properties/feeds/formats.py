"""Recognise the format of a feed by its content, whatever the file is called."""

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path

from properties.feeds.idx.layout import HEADER
from properties.feeds.idx.reader import read_idx
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import Item, NotAFeed
from properties.feeds.swissrets.json_reader import read_json
from properties.feeds.swissrets.xml_reader import read_xml
from properties.feeds.table.csv_reader import names_a_column, read_csv
from properties.feeds.table.xlsx_reader import read_xlsx

Reader = Callable[[Path, Profile], Iterator[Item]]

_FULL_FEEDS: dict[Reader, str] = {
    read_xml: "SWISSRETS_XML",
    read_json: "SWISSRETS_JSON",
    read_idx: "IDX",
}
_HEAD = 4096
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ZIP = b"PK\x03\x04"
_OLE2 = b"\xd0\xcf\x11\xe0"  # Excel until 2003, and workbooks with a password


def read_feed(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Return what is in a file, read in this process.

    Raises:
        NotAFeed, Truncated: as `isolation.open_feed` does.
    """
    return reader_of(path)(path, profile)


def full_feed_format(path: Path) -> str | None:
    """Return the name of the format if the file is a full feed; None for a table of ours.

    Raises NotAFeed as `open_feed` does at once.
    """
    return _FULL_FEEDS.get(reader_of(path))


def reader_of(path: Path) -> Reader:
    """Return the reader for a file; NotAFeed where there is none."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise NotAFeed(f"{path.name}: cannot be read: {error.strerror}") from error
    if not head.removeprefix(codecs.BOM_UTF8).strip():
        raise NotAFeed(f"{path.name}: the file is empty")
    reader = _reader(head)
    if reader is None and head.startswith(_OLE2):
        raise NotAFeed(f"{path.name}: an old or locked Excel file: save it as .xlsx or CSV")
    if reader is None:
        raise NotAFeed(f"{path.name}: neither SwissRETS (XML, JSON) nor IDX nor a table of ours")
    return reader


def _reader(head: bytes) -> Reader | None:
    """Return the reader for a file that begins so."""
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if start.startswith((b"<", *_UTF16)):  # the parser of XML knows UTF-16 by itself
        return read_xml
    if start.startswith((b"{", b"[")):
        return read_json
    if start.startswith((b"IDX", HEADER)):
        return read_idx
    if start.startswith(_ZIP):
        return read_xlsx
    return read_csv if names_a_column(head) else None
