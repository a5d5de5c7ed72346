"""A picture is no larger than its target wants, and is otherwise the same."""

import errno
import io
import struct

import pytest
from PIL import Image

from crm_sync.platform.errors import RejectedError
from orders.models import Target, TargetFile
from orders.targets import picture_size
from orders.targets.picture_size import shrunk
from tests.orders.targets.stock import delivered, make_target, material, store, there, upload

TURNED = 6  # the tag of a camera that was held upright
ORIENTATION = 0x0112
MIME = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}


def picture(width: int, height: int, kind: str = "JPEG", **how: object) -> bytes:
    made = io.BytesIO()
    Image.effect_noise((width, height), 50).convert("RGB").save(made, kind, **how)
    return made.getvalue()


def size_of(body: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(body)) as image:
        return image.size


@pytest.mark.parametrize("kind", MIME)
@pytest.mark.parametrize(
    ("size", "edge", "smaller"),
    [((800, 400), 200, (200, 100)), ((300, 900), 300, (100, 300)), ((3000, 10), 300, (300, 1))],
)
def test_the_longest_edge_is_as_long_as_wanted(kind, size, edge, smaller):
    made = shrunk(io.BytesIO(picture(*size, kind)), MIME[kind], edge)
    body = made.file.read()
    assert (size_of(body), len(body)) == (smaller, made.size)
    with Image.open(io.BytesIO(body)) as image:
        assert image.format == kind


@pytest.mark.parametrize("size", [(200, 100), (100, 200), (200, 200), (10, 10)])
def test_a_picture_that_fits_is_sent_as_it_is(size):
    assert shrunk(io.BytesIO(picture(*size)), "image/jpeg", 200) is None


def test_what_is_no_such_picture_is_sent_as_it_is():
    assert shrunk(io.BytesIO(b"%PDF-"), "application/pdf", 200) is None


def test_a_picture_is_turned_and_keeps_its_colour_profile():
    exif = Image.Exif()
    exif[ORIENTATION] = TURNED
    body = picture(800, 400, exif=exif, icc_profile=b"profile")
    made = shrunk(io.BytesIO(body), "image/jpeg", 200)
    with Image.open(made.file) as image:
        assert image.size == (100, 200)
        assert image.getexif().get(ORIENTATION, 1) == 1
        assert image.info["icc_profile"] == b"profile"


def with_data(body: bytes, *entries: tuple[int, int, int, int]) -> bytes:
    """Put data of a camera into a JPEG: a tag, its type, its count and its value each."""
    listed = b"".join(struct.pack("<HHII", *one) for one in entries)
    tiff = b"II*\0" + struct.pack("<IH", 8, len(entries)) + listed + bytes(20)
    block = b"Exif\0\0" + tiff
    return body[:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + body[2:]


SHORT, FLOAT, RATIONAL, TEXT = 3, 11, 5, 2
MAKE, UNIT = 0x010F, 0x0128


@pytest.mark.parametrize("wrong", [(MAKE, FLOAT, 1, 7), (UNIT, RATIONAL, 1, 8), (UNIT, TEXT, 2, 9)])
@pytest.mark.parametrize(("turned", "size"), [(TURNED, (100, 200)), (1, (200, 100))])
def test_a_picture_whose_data_is_wrong_comes_without_it_and_is_turned(wrong, turned, size):
    body = with_data(picture(800, 400), wrong, (ORIENTATION, SHORT, 1, turned))
    made = shrunk(io.BytesIO(body), "image/jpeg", 200)
    with Image.open(made.file) as image:
        assert (image.size, image.getexif().get(ORIENTATION, 1)) == (size, 1)


@pytest.mark.parametrize(
    "body", [b"\xff\xd8\xff no picture", picture(800, 400)[:-2000], picture(800, 400, "PNG")]
)
def test_a_picture_that_cannot_be_read_says_so(body):
    with pytest.raises(RejectedError, match="cannot be read"):
        shrunk(io.BytesIO(body), "image/jpeg", 200)


class Broken(io.BytesIO):
    """A file whose storage fails in the middle."""

    def read(self, size: int | None = -1) -> bytes:
        if self.tell() > 1000:
            raise OSError(errno.EIO, "Input/output error")
        return super().read(size)


def test_a_storage_that_cannot_be_read_now_does_not_blame_the_picture():
    with pytest.raises(OSError, match="Input/output error"):
        shrunk(Broken(picture(800, 400)), "image/jpeg", 200)


def test_a_disk_that_is_full_does_not_blame_the_picture(monkeypatch):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(picture_size, "SpooledTemporaryFile", lambda **_: Full())
    with pytest.raises(OSError, match="No space left"):
        shrunk(io.BytesIO(picture(800, 400)), "image/jpeg", 200)


def test_a_picture_with_too_many_pixels_is_not_read(monkeypatch):
    monkeypatch.setattr(picture_size, "PIXELS", 1000)
    with pytest.raises(RejectedError, match="more than 1,000 pixels"):
        shrunk(io.BytesIO(picture(100, 11)), "image/jpeg", 50)


def test_a_target_gets_pictures_that_fit_and_the_file_here_stays(crm, main):
    make_target(main, "FOLDER", str(crm), longest_edge=200)
    ready, body = delivered(main), picture(800, 400)
    store(material(ready, "m1"), body)
    store(material(ready, "m2", visual_type="DOCUMENT"), b"%PDF-1", "application/pdf")
    store(material(ready, "m3"), b"\xff\xd8\xff broken")
    upload(main)
    found = there(crm)
    assert size_of(found["R-1/ground_photo/01.jpg"]) == (200, 100)
    assert found["R-1/ground_photo/01.pdf"] == b"%PDF-1"
    assert len(found) == 2
    rows = list(TargetFile.objects.order_by("pk"))
    assert rows[0].size == len(found["R-1/ground_photo/01.jpg"])
    assert "cannot be read" in rows[2].problem
    Target.objects.update(longest_edge=None)
    TargetFile.objects.filter(pk=rows[0].pk).update(
        due_at=rows[0].created_at, digest="", uploaded_at=None
    )
    upload(main)
    assert there(crm)["R-1/ground_photo/01.jpg"] == body
