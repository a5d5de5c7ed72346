"""A ZIP that is made while it is sent holds each file whole, or nothing of it."""

import io
import tracemalloc
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from crm_sync.zip_stream import BLOCK, BrokenOff, ZipStream

AT = datetime(2026, 5, 4, 6, tzinfo=UTC)


def read_until(end: int, size: int = 0) -> Callable[[int], bytes]:
    """Return the `read` of a file that fails after `end` blocks, or ends after `size` of them."""
    done = 0

    def read(most: int) -> bytes:
        nonlocal done
        if done == end:
            raise OSError(5, "Input/output error")
        done += 1
        return b"x" * most if done <= size else b""

    return read


def add(made: ZipStream, name: str, read: Callable[[int], bytes]) -> bytes:
    return b"".join(made.add(name, read, at=AT, size=0))


def test_each_file_is_there_as_it_is_with_its_time():
    made = ZipStream()
    sent = add(made, "Küche/ä.txt", io.BytesIO(b"hello").read) + add(made, "b", io.BytesIO().read)
    whole = zipfile.ZipFile(io.BytesIO(sent + made.end()))
    assert whole.testzip() is None
    assert [(one.filename, one.file_size) for one in whole.infolist()] == [
        ("Küche/ä.txt", 5),
        ("b", 0),
    ]
    assert whole.read("Küche/ä.txt") == b"hello"
    assert whole.infolist()[0].date_time == (2026, 5, 4, 6, 0, 0)


def test_a_file_that_cannot_be_read_leaves_nothing_and_the_next_one_is_whole():
    made = ZipStream()
    with pytest.raises(OSError, match="Input/output error"):
        add(made, "a", read_until(0))
    sent = add(made, "b", io.BytesIO(b"hello").read)
    assert zipfile.ZipFile(io.BytesIO(sent + made.end())).namelist() == ["b"]


def test_a_file_that_breaks_off_is_no_file_that_is_missing():
    with pytest.raises(BrokenOff, match=r"a\.jpg broke off: Input/output error"):
        add(ZipStream(), "a.jpg", read_until(3, size=9))


@pytest.mark.once
def test_ten_times_the_files_take_the_same_memory():
    def peak(files: int) -> int:
        made = ZipStream()
        tracemalloc.start()
        for number in range(files):
            for piece in made.add(f"{number}", read_until(-1, size=40), at=AT, size=0):
                assert len(piece) <= BLOCK + 200
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert max(peak(1), peak(10)) < 4 * BLOCK
