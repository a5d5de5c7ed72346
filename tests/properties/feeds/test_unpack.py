"""The feed out of a ZIP or a gzip file, bounded; what cannot be unpacked is told."""

import gzip
import io
import random
import zipfile
from pathlib import Path

import pytest
from openpyxl import Workbook

from properties.feeds import unpack as unpacking
from properties.feeds.unpack import NotUnpacked, Unpacked, unpack

FEED = b"IDX3.01#" + b"a line of it\r\n" * 1000
LIMIT = 10 * 1024**2


def zipped(*files: tuple[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", kind) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return made.getvalue()


def unpacked(tmp_path: Path, content: bytes, name: str = "out.zip") -> tuple[Unpacked, bytes]:
    path, into = tmp_path / "fetched", io.BytesIO()
    path.write_bytes(content)
    return unpack(path, name, into, limit=LIMIT), into.getvalue()


def test_idx_as_it_is_delivered_is_found_and_the_pictures_are_named(tmp_path):
    pictures = [(f"images/{n}.jpg", b"\xff\xd8") for n in range(3)]
    packed = zipped(("data/unload.txt", FEED), ("readme.txt", b"hello"), *pictures)
    found, content = unpacked(tmp_path, packed)
    assert content == FEED
    assert found.name == "unload.txt"
    assert found.beside == ("images/0.jpg", "images/1.jpg", "images/2.jpg", "readme.txt")


@pytest.mark.parametrize(
    "name", ["stock.xml", "a/b/stock.JSON", "agency/DATA/Unload.txt", "stock.csv", "stock.xlsx"]
)
def test_the_only_feed_in_a_zip_is_taken_whatever_else_is_there(tmp_path, name):
    packed = zipped(("a.jpg", b"x"), ("__MACOSX/._stock.xml", b"x"), (".b.xml", b"x"), (name, FEED))
    found, content = unpacked(tmp_path, packed)
    assert (found.name, content) == (name.rpartition("/")[2], FEED)


def test_a_document_that_is_a_zip_is_no_second_feed_of_a_zip(tmp_path):
    documents = [("a.zip", zipped(("a.xml", FEED))), ("plans/b.ZIP", b"x"), ("c.gz", b"x")]
    found, content = unpacked(tmp_path, zipped(*documents, ("stock.xml", FEED)))
    assert (found.name, content) == ("stock.xml", FEED)
    assert found.beside == ("a.zip", "c.gz", "plans/b.ZIP")
    with pytest.raises(NotUnpacked, match=r"holds several feeds: a\.zip, c\.gz, plans/b\.ZIP"):
        unpacked(tmp_path, zipped(*documents))


def test_gzip_is_unpacked_and_what_is_not_packed_stays_as_it_is(tmp_path):
    assert unpacked(tmp_path, gzip.compress(FEED), "stock.xml.gz") == (Unpacked("stock.xml"), FEED)
    assert unpacked(tmp_path, FEED, "stock.txt") == (Unpacked("stock.txt"), FEED)
    assert unpacked(tmp_path, b"", "stock.txt") == (Unpacked("stock.txt"), b"")


def test_a_workbook_is_a_zip_that_stays_as_it_is(tmp_path):
    made = io.BytesIO()
    Workbook().save(made)
    found, content = unpacked(tmp_path, made.getvalue(), "stock.xlsx")
    assert (found, content) == (Unpacked("stock.xlsx"), made.getvalue())


@pytest.mark.parametrize(
    ("packed", "told"),
    [
        (zipped(("../../etc/passwd.txt", FEED)), "leads out of it: “../../etc/passwd.txt”"),
        (zipped(("/etc/passwd.txt", FEED)), "leads out of it: “/etc/passwd.txt”"),
        (zipped(("a.jpg", b"x")), "the ZIP holds neither data/unload.txt nor another feed"),
        (zipped(("a.xml", b"x"), ("b.csv", b"x")), "the ZIP holds several feeds: a.xml, b.csv"),
        (zipped(*[(f"{n}.xml", b"") for n in range(9)]), "3.xml, 4.xml and 4 more"),
        (zipped(("a.xml", bytes(LIMIT + 1)), kind=zipfile.ZIP_STORED), r"larger than 10.0.MB"),
        (zipped(("a.xml", bytes(LIMIT))), "more than 200 times as large: no feed is"),
        (gzip.compress(bytes(LIMIT)), "more than 200 times as large: no feed is"),
        (gzip.compress(random.Random(1).randbytes(LIMIT + 1)), r"larger than 10.0.MB"),
        (zipped(("a.xml", FEED))[:-30], "the ZIP breaks off: it has no list of its files"),
        (gzip.compress(FEED)[:-9], "it is damaged"),
        (zipped(("a.xml", FEED)).replace(b"\x00a.xml", b"\x01a.xml"), "damaged|locked"),
    ],
    ids=lambda value: "zip" if isinstance(value, bytes) else value,
)
def test_what_cannot_be_unpacked_is_told(tmp_path, packed, told):
    with pytest.raises(NotUnpacked, match=told):
        unpacked(tmp_path, packed)


def test_a_locked_file_is_told(tmp_path):
    packed = bytearray(zipped(("a.xml", FEED)))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        packed[packed.index(mark) + place] |= 1
    with pytest.raises(NotUnpacked, match=r"a.xml is locked with a password"):
        unpacked(tmp_path, bytes(packed))


def test_a_broken_byte_anywhere_is_told_or_harms_nothing(tmp_path):
    packed = zipped(("data/unload.txt", FEED), ("a.jpg", b"x"))
    for place in range(len(packed)):
        broken = bytearray(packed)
        broken[place] ^= 0xFF
        try:
            _, content = unpacked(tmp_path, bytes(broken))
        except NotUnpacked:
            continue
        assert content in (FEED, bytes(broken))


def test_a_zip_of_more_files_than_we_read_is_refused_before_it_is_opened(tmp_path, monkeypatch):
    packed = zipped(*[(f"images/{n}.jpg", b"") for n in range(2_000)], ("data/unload.txt", FEED))
    assert unpacked(tmp_path, packed)[1] == FEED
    monkeypatch.setattr(unpacking, "MOST_FILES", 2_000)
    with pytest.raises(NotUnpacked, match="more than 2,000 files"):
        unpacked(tmp_path, packed)
    monkeypatch.setattr(unpacking, "MOST_NAMES", 100_000)
    with pytest.raises(NotUnpacked, match="more than 2,000 files"):
        unpacked(tmp_path, packed)
