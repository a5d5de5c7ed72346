"""The files behind the addresses of materials: real ones, that a viewer opens."""

import re
import struct
import zlib

import pytest

from sandbox.state import deliverables

HOST = "http://sandbox.test"
WHITE, INK = bytes((255, 255, 255)), bytes((38, 40, 44))


def delivered(box, client, product, quantity=1):
    order = client.order(product, quantity=quantity)
    (assignment,) = order["assignments"]
    box.set_status(assignment["id"], "DELIVERED")
    return f"/v1/orders/{order['id']}/assignments/{assignment['id']}/materials"


def file(client, address: str) -> bytes:
    answer = client.get(address.removeprefix(HOST))
    assert answer.status_code == 200
    return answer.content


def decoded(content: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height and rows of a PNG; every check that the format has is made."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    at, parts = 8, {}
    while at < len(content):
        (size,) = struct.unpack_from(">I", content, at)
        kind, data = content[at + 4 : at + 8], content[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", content, at + 8 + size) == (zlib.crc32(kind + data),)
        parts[kind] = data
        at += 12 + size
    assert list(parts) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, *form = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert form == [8, 2, 0, 0, 0]
    rows = zlib.decompress(parts[b"IDAT"])
    assert len(rows) == height * (1 + width * 3)
    found = [rows[n * (1 + width * 3) :][: 1 + width * 3] for n in range(height)]
    assert {row[0] for row in found} == {0}
    return width, height, [row[1:] for row in found]


@pytest.mark.rule("4.5 GET materials")
def test_4_5_a_picture_in_hd_is_larger_than_the_one_for_the_web(box, client):
    path = delivered(box, client, "11")
    sizes = {}
    for quality in "HD", "WEB":
        (found,) = client.get(path, params={"visualQuality": quality}).json()["materials"]
        content = file(client, found["url"])
        sizes[quality] = (*decoded(content)[:2], len(content) == found["size"])
        assert decoded(file(client, found["thumbnailUrl"]))[:2] == (96, 64)
    assert sizes == {"HD": (720, 480, True), "WEB": (360, 240, True)}


def test_a_picture_shows_more_than_one_colour_and_is_the_same_each_time(box, client):
    path = delivered(box, client, "11", quantity=6)
    found = client.get(path).json()["materials"]
    pictures = [file(client, one["url"]) for one in found]
    assert pictures == [file(client, one["url"]) for one in found]
    assert len({row[:3] for row in decoded(pictures[0])[2]}) > 50  # the sky fades
    assert (
        len({deliverables.content(one, "POST", "ground-photo-1.png") for one in "abcdefghijklmnop"})
        > 4
    )


def test_a_floor_plan_is_walls_on_paper(box, client):
    path = delivered(box, client, "13")
    (found,) = client.get(path).json()["materials"]
    _, height, rows = decoded(file(client, found["url"]))
    assert rows[0] == WHITE * 720
    walls = [row.count(INK) for row in rows]
    assert max(walls) > 400
    assert sum(count == max(walls) for count in walls) < height / 10


def test_a_document_is_a_pdf_whose_table_of_contents_is_true(box, client):
    path = delivered(box, client, "17")
    (found,) = client.get(path).json()["materials"]
    assert_is_pdf(file(client, found["url"]), objects=4)
    (brochure,) = [
        one
        for one in box.workspace.marketing.get("201", [])
        if one["targetPlatform"] == "REAL_ESTATE_BROCHURE"
    ] or [None]
    assert brochure is None  # documents have no pictures to advertise with
    box.marketing_ready("201", "REAL_ESTATE_BROCHURE")
    assert_is_pdf(file(client, box.workspace.marketing["201"][0]["url"]), objects=5)


def assert_is_pdf(content: bytes, objects: int) -> None:
    assert content.startswith(b"%PDF-1.4\n")
    assert content.endswith(b"%%EOF\n")
    table = int(re.search(rb"startxref\n(\d+)\n", content)[1])
    assert content[table:].startswith(b"xref\n0 %d\n" % (objects + 1))
    offsets = [int(one) for one in re.findall(rb"(\d{10}) 00000 n ", content[table:])]
    for number, offset in enumerate(offsets, start=1):
        assert content[offset:].startswith(b"%d 0 obj" % number)
    for length, data in re.findall(rb"/Length (\d+)>>stream\n(.*?)\nendstream", content, re.DOTALL):
        assert int(length) == len(data)


def boxes(content: bytes) -> dict[bytes, bytes]:
    at, found = 0, {}
    while at < len(content):
        size, kind = struct.unpack_from(">I4s", content, at)
        found[kind] = content[at + 8 : at + size]
        at += size
    assert at == len(content)
    return found


def test_a_video_is_an_mp4_whose_samples_are_where_it_says(box, client):
    path = delivered(box, client, "14")
    (found,) = client.get(path).json()["materials"]
    content = file(client, found["url"])
    assert len(content) == found["size"]
    assert list(boxes(content)) == [b"ftyp", b"moov", b"free", b"mdat"]
    movie = boxes(content)[b"moov"]
    (start,) = struct.unpack_from(">I", movie, movie.index(b"stco") + 12)
    sizes = struct.unpack_from(">3I", movie, movie.index(b"stsz") + 16)
    assert (sum(sizes), content[start - 4 : start]) == (len(boxes(content)[b"mdat"]), b"mdat")
    for size in sizes:
        end = start + size
        while start < end:
            (inside,) = struct.unpack_from(">I", content, start)
            kind = content[start + 4]
            start += 4 + inside
        assert (start, kind) == (end, 0x65)  # a picture that stands alone


@pytest.mark.parametrize(
    ("platform", "size"), [("INSTAGRAM", (480, 480)), ("LINKEDIN", (480, 480))]
)
def test_a_post_for_a_network_is_square(box, client, platform, size):
    box.marketing_ready("201", platform)
    (found,) = client.get("/v1/real-estate-properties/201/marketing-materials").json()[
        "marketingMaterials"
    ]
    assert decoded(file(client, found["url"]))[:2] == size


@pytest.mark.parametrize("path", ["k/POST/a.exe", "k/LARGE/a.png", "k/POST/none"])
def test_an_address_that_names_no_file_is_404(client, path):
    assert client.get(f"/files/{path}").status_code == 404
