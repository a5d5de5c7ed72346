"""kill -9 of a web that sends an export with pictures: no half ZIP looks whole (decision 36)."""

import io
import zipfile
from pathlib import Path

import pytest
import requests

from tests.journeys.rows import everything
from tests.processes import Installation

PROPERTIES, FILES, SIZE = 6, 4, 1_000_000
LIST = "/admin/properties/property/"
# The message to the person, the note that they exported, and the last number that SQLite gave.
WRITTEN = {"django_session", "django_admin_log", "sqlite_sequence"}


@pytest.mark.processes
@pytest.mark.parametrize("suffix", ["json", "xml"])
@pytest.mark.parametrize("read", [0, SIZE * 3 // 2, SIZE * 9], ids=["head", "2nd file", "3rd home"])
def test_an_export_whose_web_is_killed_is_no_zip_and_the_next_one_is_whole(
    tmp_path: Path, database_url: str, suffix: str, read: int
):
    installation = Installation(tmp_path, database_url)
    session = requests.Session()
    session.trust_env = False
    try:
        counts = (str(PROPERTIES), str(FILES), str(SIZE))
        made = installation.run("-m", "tests.journeys.exporting", *counts)
        session.cookies["sessionid"] = made.strip()
        installation.start_web()
        before = rows(database_url)
        half = bytearray()
        with begin(session, installation, suffix) as answer:
            assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/zip")
            while len(half) < read:
                half += answer.raw.read(1 << 16)
            installation.kill("web")
            with pytest.raises(requests.exceptions.ChunkedEncodingError):
                half += answer.content
        assert len(half) < PROPERTIES * FILES * SIZE
        with pytest.raises(zipfile.BadZipFile):
            zipfile.ZipFile(io.BytesIO(half))
        after = rows(database_url)
        assert [name for name in after if after[name] != before[name]] == []
        installation.start_web()
        with begin(session, installation, suffix) as answer:
            whole = zipfile.ZipFile(io.BytesIO(answer.content))
    finally:
        installation.stop()
    assert whole.testzip() is None
    *pictures, feed = whole.infolist()
    assert feed.filename == f"properties.{suffix}"
    assert [one.file_size for one in pictures] == [SIZE] * (PROPERTIES * FILES)
    text = whole.read(feed).decode()
    assert [one.filename for one in pictures if one.filename not in text] == []


def begin(session: requests.Session, installation: Installation, suffix: str) -> requests.Response:
    home = f"http://127.0.0.1:{installation.web_port}"
    session.get(f"{home}/admin/login/", timeout=30)
    form = {
        "action": f"export_{suffix}_zip",
        "select_across": "1",
        "_selected_action": "1",
        "csrfmiddlewaretoken": session.cookies["csrftoken"],
    }
    headers = {"Referer": f"{home}{LIST}"}
    return session.post(home + LIST, form, headers=headers, stream=True, timeout=30)


def rows(url: str) -> dict[str, list[object]]:
    """Return all rows but those that an export writes before its first byte."""
    return {name: list(some) for name, some in everything(url).items() if name not in WRITTEN}
