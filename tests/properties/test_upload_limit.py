"""Nobody fills our disk or our memory, above all nobody whom we do not know (S7)."""

import socket
import time
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tests.config.web import web
from tests.journeys.callers import SECRET
from tests.processes import Installation

LARGE = 300_000  # bytes; a callback may have 262,144
PLACES = ["/", "/admin/", "/admin/login/", "/admin/properties/import/add/", "/healthz", "/nowhere"]


def form(size: int = LARGE) -> dict[str, SimpleUploadedFile]:
    return {"file": SimpleUploadedFile("a.xml", b"x" * size)}


@pytest.mark.parametrize("place", PLACES)
def test_a_large_form_of_somebody_unknown_is_refused_everywhere(client, db, place):
    answer = client.post(place, form(), headers={"Cookie": "sessionid=forged"})
    assert (answer.status_code, answer.content) == (
        413,
        b"Log in first: without that a request holds at most 256.0\xc2\xa0KB.",
    )
    assert client.post(place, form(10_000)).status_code != 413


@pytest.mark.parametrize("length", ["9" * 40, "-1", "1e9", "ten"])
def test_a_length_that_is_no_length_is_refused(client, db, length):
    assert client.post("/admin/login/", {}, CONTENT_LENGTH=length).status_code == 413


def test_who_is_logged_in_sends_large_files_but_one_at_a_time(admin_client):
    add = reverse("admin:properties_import_add")
    assert admin_client.post(add, form()).status_code == 200  # the form again: a field is missing
    two = {name: SimpleUploadedFile(name, b"x") for name in ("one", "two")}
    assert admin_client.post(add, two).status_code == 400


@pytest.mark.rule("S7")
@pytest.mark.processes
def test_nothing_of_an_unknown_upload_reaches_the_disk(tmp_path: Path, database_url):
    """Seen while it is on its way: at the end of a request Django removes what it spooled."""
    spool = tmp_path / "spool"
    spool.mkdir()
    installation = Installation(tmp_path, database_url, TMPDIR=str(spool))
    callback = installation.run("-m", "tests.journeys.hook").split()[-1].partition("/webhooks")[2]
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    with web(installation):
        before = set(spool.iterdir())  # gunicorn's own
        for place in [*PLACES, f"/webhooks{callback}", "/static/unfold/css/styles.css"]:
            head = f"POST {place} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {SECRET}\r\n"
            head += f"Cookie: csrftoken={'a' * 32}\r\nContent-Length: 32000000\r\n"
            head += "Content-Type: multipart/form-data; boundary=b\r\n"
            with socket.create_connection(("127.0.0.1", installation.web_port), 5) as caller:
                caller.sendall(head.encode() + b"\r\n" + part)
                try:
                    caller.sendall(b"x" * 4_000_000)
                    time.sleep(0.2)
                except ConnectionError:
                    pass  # refused while it was sent
                assert set(spool.iterdir()) == before, place
