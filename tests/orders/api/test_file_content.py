"""The bytes of a stored file by the API: whole, in parts, and only of the token's workspace."""

import itertools

import pytest
from django.test import Client
from hypothesis import given, strategies as st

from orders.materials import byte_range
from orders.materials.byte_range import NotSatisfiable
from orders.materials.download import storage
from orders.models import MaterialFile
from tests.api import BASE, program
from tests.crm_sync.admin_pages import make_workspace
from tests.orders.targets.stock import delivered, material, store

NUMBER = itertools.count()
BODY = bytes(range(256)) * 3000


@pytest.fixture
def file(main, folder) -> MaterialFile:
    store(material(delivered(main), "m1", file_name="Küche.jpg"), BODY)
    return MaterialFile.objects.get()


def got(workspace, file: MaterialFile, scopes=("orders:read",), **headers: str):
    token = program(workspace, scopes, name=f"ERP {next(NUMBER)}").token
    client = Client(headers={"Authorization": f"Bearer {token}"} | headers)
    answer = client.get(f"{BASE}/files/{file.pk}")
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return answer.status_code, body, answer.headers


def test_the_whole_file_comes_with_its_type_name_and_tag(main, file):
    status, body, headers = got(main, file, Accept="image/*")
    assert (status, body) == (200, BODY)
    assert (headers["Content-Type"], headers["Content-Length"]) == ("image/jpeg", str(len(BODY)))
    assert (headers["ETag"], headers["Accept-Ranges"]) == (f'"{file.digest}"', "bytes")
    assert "attachment" in headers["Content-Disposition"]


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        ("bytes=0-9", slice(0, 10)),
        ("bytes=700000-", slice(700_000, None)),
        ("bytes=-5", slice(-5, None)),
        ("bytes=10-99999999", slice(10, None)),
        ("bytes=-99999999", slice(0, None)),
        ("bytes=767999-767999", slice(-1, None)),
    ],
)
def test_a_part_comes_alone(main, file, wanted, part):
    status, body, headers = got(main, file, Range=wanted)
    assert (status, body) == (206, BODY[part])
    first = range(len(BODY))[part][0]
    last = first + len(body) - 1
    assert headers["Content-Range"] == f"bytes {first}-{last}/{len(BODY)}"
    assert headers["Content-Length"] == str(len(body))


@pytest.mark.parametrize("wanted", ["bytes=0-1,5-6", "bytes=9-5", "lines=1-2", "bytes=-", "x"])
def test_what_is_no_single_range_gets_the_whole_file(main, file, wanted):
    assert got(main, file, Range=wanted)[:2] == (200, BODY)


@pytest.mark.parametrize("wanted", ["bytes=768000-", "bytes=768000-768001", "bytes=-0"])
def test_a_part_behind_the_end_is_refused(main, file, wanted):
    status, body, headers = got(main, file, Range=wanted)
    assert (status, body, headers["Content-Range"]) == (416, b"", f"bytes */{len(BODY)}")


def test_a_version_that_the_program_has_is_not_sent_again(main, file):
    tag = f'"{file.digest}"'
    for named in (tag, f'"x", {tag}', f"W/{tag}", "*"):
        status, body, headers = got(main, file, **{"If-None-Match": named})
        assert (status, body, headers["ETag"]) == (304, b"", tag)
    assert got(main, file, **{"If-None-Match": '"x"'})[0] == 200


def test_the_rest_of_another_version_is_not_sent(main, file):
    tag = f'"{file.digest}"'
    assert got(main, file, Range="bytes=5-", **{"If-Range": tag})[0] == 206
    assert got(main, file, Range="bytes=5-", **{"If-Range": '"x"'})[:2] == (200, BODY)


@pytest.mark.rule("S12")
def test_only_a_token_of_the_workspace_with_the_scope_gets_it(main, file):
    assert got(make_workspace("other"), file)[0] == 404
    assert got(main, file, scopes=("properties:read",))[0] == 403
    assert Client().get(f"{BASE}/files/{file.pk}").status_code == 401


def test_a_file_that_is_not_there_is_a_404(main, file):
    storage().delete(file.name)
    assert got(main, file)[0] == 404
    MaterialFile.objects.update(name="", stored_at=None, digest="", problem="x")
    assert got(main, file)[0] == 404


def test_the_list_of_materials_says_where_the_bytes_are(main, file):
    erp = program(main, ("orders:read",))
    (ready,) = erp.get("/orders/5000/materials")["items"]
    assert ready["materials"][0]["file"] == {
        "address": f"{BASE}/files/{file.pk}",
        "mimeType": "image/jpeg",
        "size": len(BODY),
        "sha256": file.digest,
    }
    MaterialFile.objects.update(name="", stored_at=None, digest="", problem="x")
    (ready,) = erp.get("/orders/5000/materials")["items"]
    assert ready["materials"][0]["file"] is None


@given(
    st.text(max_size=20) | st.from_regex(r"bytes=\d{0,6}-\d{0,6}", fullmatch=True),
    st.integers(0, 999),
)
def test_no_range_leads_out_of_the_file(text, size):
    try:
        part = byte_range.wanted(text, size)
    except NotSatisfiable:
        return
    if part is not None:
        assert 0 <= part.first <= part.last < size
