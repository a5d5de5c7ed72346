"""Unpack the feed from a ZIP, a gzip file, or the feed itself, within limits.

No file is written under a name that a sender chose.
"""

import gzip
import os
import re
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, cast

from crm_sync.sentence import Sentence, sentence
from crm_sync.text import quoted

IDX = "data/unload.txt"
_FEEDS = frozenset({".txt", ".csv", ".tsv", ".xml", ".json", ".xlsx", ".idx", ".zip", ".gz"})
_PACKED = frozenset({".zip", ".gz"})
_HIDDEN = re.compile(r"(^|/)(\.|__MACOSX/)")
NAMED = 5  # files in a message that could be the feed
MOST_FILES = 50_000  # in a ZIP
MOST_NAMES = 16 * 1024**2  # bytes of a ZIP's list of files
RATIO = 200  # unpacked size to packed size; a feed packs to a tenth
SMALL = 1024**2  # bytes up to which the ratio does not apply
BLOCK = 1024 * 1024  # bytes
_ZIP, _GZIP = b"PK\x03\x04", b"\x1f\x8b"
_WORKBOOK = "[Content_Types].xml"  # an Excel file is a ZIP, too
_END, _END64, _LOCATOR64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"


def the_feed(names: Collection[str], *, in_zip: bool = False) -> str:
    """Return the name of the feed among the names of files, with slashes between folders.

    Args:
        in_zip: the files of a ZIP, in which one that is packed again is no feed beside another.

    Raises:
        ValueError: there is no feed, or several files could be the feed.
    """
    shown = sorted(name for name in names if not _HIDDEN.search(name))
    if found := [name for name in shown if f"/{name.lower()}".endswith(f"/{IDX}")]:
        return _only(found)
    found = [name for name in shown if _may_be_feed(name)]
    once = [name for name in found if PurePosixPath(name).suffix.lower() not in _PACKED]
    return _only(once if in_zip and once else found)


def is_delivery(name: str) -> bool:
    """Return whether the name of a file is that of a feed, and of no hidden or unfinished file."""
    return "/" not in name and not _HIDDEN.search(name) and _may_be_feed(name)


def _may_be_feed(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in _FEEDS


def _only(found: list[str]) -> str:
    if not found:
        raise ValueError(sentence("holds neither %(name)s nor another feed", name=IDX))
    if len(found) > 1:
        raise ValueError(_several(found))
    return found[0]


def _several(found: list[str]) -> Sentence:
    names, more = found[:NAMED], len(found) - NAMED
    if more <= 0:
        return sentence("holds several feeds: %(names)s", names=names)
    return sentence("holds several feeds: %(names)s and %(count)s more", names=names, count=more)


class NotUnpacked(Exception):
    """The file cannot be unpacked, or must not be. The message has the reason."""


@dataclass(frozen=True)
class Unpacked:
    """The feed as an unpacked file.

    Attributes:
        name: the name of the feed in the packed file.
        beside: the names of the other files that were packed with it.
    """

    name: str
    beside: tuple[str, ...] = ()


def unpack(path: Path, name: str, into: BinaryIO, *, limit: int) -> Unpacked:
    """Write the feed that a file is or contains.

    Args:
        name: the name of the file at its source.
        limit: the most bytes that the feed may have.

    Raises:
        NotUnpacked: the file contains no feed or several, is broken, or is too large.
    """
    with path.open("rb") as file:
        head = file.read(4)
        file.seek(0)
        if head.startswith(_GZIP):
            _copy(
                cast("IO[bytes]", gzip.GzipFile(fileobj=file)),
                into,
                packed=path.stat().st_size,
                limit=limit,
            )
            return Unpacked(name.removesuffix(".gz").removesuffix(".GZ"))
        if head == _ZIP:
            with _opened(file) as archive:
                if not _is_workbook(archive):
                    return _from_zip(archive, into, limit=limit)
        file.seek(0)
        _copy(file, into, packed=path.stat().st_size, limit=limit)
    return Unpacked(name)


def is_packed(path: Path) -> bool:
    """Return whether a file is packed: a gzip file, or a ZIP that is no workbook.

    Raises:
        NotUnpacked: the file is a broken ZIP.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(4)
        if head == _ZIP:
            with _opened(file) as archive:
                return not _is_workbook(archive)
    return head.startswith(_GZIP)


@contextmanager
def _opened(file: BinaryIO) -> Iterator[zipfile.ZipFile]:
    _check_list(file)
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise NotUnpacked(sentence("the ZIP is damaged: pack the feed again")) from error


def _check_list(file: BinaryIO) -> None:
    """Refuse a ZIP whose list of files would fill the memory when it is opened."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 66_000))
    tail = file.read()
    place = tail.rfind(_END)
    if place < 0:
        raise NotUnpacked(sentence("the ZIP breaks off: it has no list of its files"))
    length = int.from_bytes(tail[place + 12 : place + 16], "little")
    if tail[max(0, place - 20) : place].startswith(_LOCATOR64):
        start = tail.rfind(_END64, 0, place)
        length = int.from_bytes(tail[start + 40 : start + 48], "little") if start >= 0 else size
    if length > MOST_NAMES:
        raise NotUnpacked(sentence("the ZIP holds more than %(most)s files", most=MOST_FILES))


def _is_workbook(archive: zipfile.ZipFile) -> bool:
    return _WORKBOOK in archive.NameToInfo


def _from_zip(archive: zipfile.ZipFile, into: BinaryIO, *, limit: int) -> Unpacked:
    entries = [one for one in archive.infolist() if not one.is_dir()]
    if len(entries) > MOST_FILES:
        raise NotUnpacked(sentence("the ZIP holds more than %(most)s files", most=MOST_FILES))
    names = {one.filename for one in entries}
    for name in sorted(names):
        if name.startswith("/") or ".." in PurePosixPath(name).parts:
            raise NotUnpacked(
                sentence("the ZIP holds a file that leads out of it: %(name)s", name=quoted(name))
            )
    try:
        chosen = the_feed(names, in_zip=True)
    except ValueError as error:
        raise NotUnpacked(sentence("the ZIP %(problem)s", problem=str(error))) from None
    info = archive.getinfo(chosen)
    if info.flag_bits & 1:
        why = sentence("%(name)s is locked with a password in the ZIP", name=chosen)
        raise NotUnpacked(why)
    with archive.open(info) as file:
        _copy(file, into, packed=info.compress_size, limit=limit)
    return Unpacked(PurePosixPath(chosen).name, tuple(sorted(names - {chosen})))


def _copy(source: IO[bytes], into: BinaryIO, *, packed: int, limit: int) -> None:
    """Copy a file, within the limits of its size.

    Args:
        packed: the packed size in bytes.
    """
    size = 0
    try:
        while block := source.read(BLOCK):
            size += len(block)
            if size > limit:
                most = f"{limit / 1024**2:,.1f}"
                raise NotUnpacked(sentence("unpacked it is larger than %(most)s MB", most=most))
            if size > SMALL and size > RATIO * packed:
                why = sentence(
                    "unpacked it is more than %(most)s times as large: no feed is", most=RATIO
                )
                raise NotUnpacked(why)
            into.write(block)
    except (zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile) as error:
        why = sentence("it is damaged or breaks off: pack the feed again")
        raise NotUnpacked(why) from error
