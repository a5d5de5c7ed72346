"""Recognise the format of a feed by its content. The name of the file has no effect."""

import codecs
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from crm_sync.sentence import sentence
from properties.feeds.idx.line_layout import HEADER
from properties.feeds.idx.reader import read_idx
from properties.feeds.openimmo.openimmo_reader import ROOT, read_openimmo
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import NO_FORMAT, Item, NotAFeed
from properties.feeds.swissrets.json_reader import read_json
from properties.feeds.swissrets.xml_reader import read_xml
from properties.feeds.table.csv_reader import is_like_csv, read_csv, text_of
from properties.feeds.table.xlsx_reader import read_xlsx

Reader = Callable[[Path, Profile], Iterator[Item]]

IDX = "IDX"
_FULL_FEEDS: dict[Reader, str] = {
    read_xml: "SWISSRETS_XML",
    read_json: "SWISSRETS_JSON",
    read_openimmo: "OPENIMMO",
    read_idx: IDX,
}
FULL_FEEDS = tuple(_FULL_FEEDS.values())
_HEAD = 4096
_BEFORE_ROOT = re.compile(r"<!--.*?-->|<\?.*?\?>", re.DOTALL)
_ROOT = re.compile(r"<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")
_ZIP = b"PK\x03\x04"
_OTHERS = {
    # OLE2
    b"\xd0\xcf\x11\xe0": sentence("an old or locked Excel file: save it as .xlsx or CSV"),
    # gzip within gzip: the outer is unpacked
    b"\x1f\x8b": sentence("packed with gzip: unpack it first"),
    b"7z\xbc\xaf": sentence("packed with 7-Zip: unpack it first"),
    b"Rar!": sentence("packed with RAR: unpack it first"),
    b"%PDF": sentence("a PDF: ask its sender for a feed"),
}


def read_feed(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Return the items of a file, read in this process.

    Raises:
        NotAFeed, Truncated: see `isolation.open_lines`.
    """
    return reader_of(path)(path, profile)


def full_feed_format(path: Path) -> str | None:
    """Return the format of a full feed; None for a table, which need not be complete.

    Raises:
        NotAFeed: the file is unreadable or in no format of ours.
    """
    return _FULL_FEEDS.get(reader_of(path))


def reader_of(path: Path) -> Reader:
    """Return the reader for a file; raises NotAFeed if there is none."""
    head = _head(path)
    if not head.removeprefix(codecs.BOM_UTF8).strip():
        raise NotAFeed.of(path.name, sentence("the file is empty"))
    for begin, reason in _OTHERS.items():
        if head.startswith(begin):
            raise NotAFeed.of(path.name, reason)
    reader = _reader(head)
    if reader is None:
        raise NotAFeed.of(path.name, NO_FORMAT)
    return reader


def _head(path: Path) -> bytes:
    """Return the first bytes of a file. A pipe is refused: it could be read only once."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            why = sentence("is no file that can be read twice: save it as one first")
            raise NotAFeed.of(path.name, why)
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError as error:
        why = sentence("cannot be read: %(reason)s", reason=error.strerror or "")
        raise NotAFeed.of(path.name, why) from error


def _reader(head: bytes) -> Reader | None:
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    text = text_of(head)
    if start.startswith(b"<") or (text or "").startswith("<"):
        return (
            read_openimmo if _root(text or start.decode("latin-1")) == ROOT else read_xml
        )  # both know UTF-16
    if start.startswith((b"{", b"[")):
        return read_json
    if start.startswith((b"IDX", HEADER)):
        return read_idx
    if start.startswith(_ZIP):
        return read_xlsx
    return read_csv if text and is_like_csv(text) else None


def _root(text: str) -> str:
    """Return the name of the root element of XML; "" if it begins later."""
    found = _ROOT.search(_BEFORE_ROOT.sub("", text))
    return found[1] if found else ""
