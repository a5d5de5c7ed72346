"""What comes from outside makes no line of the log, and brings no token into it (S4)."""

import json
import logging
import re
import socket
from datetime import datetime

import pytest
import requests
from hypothesis import given, strategies as st

from config.logs import Json, LineFormatter
from crm_sync.text import in_one_line
from tests.config.web import web
from tests.processes import Installation, wait_until

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJlLWNhbmFyeQ"
FORGED = "O-1\n2026-01-01 00:00:00,000 INFO crm_sync: all is well"


def record(message: str, *arguments: object, failed: bool = False) -> logging.LogRecord:
    trace = None
    if failed:
        try:
            raise ValueError(message)
        except ValueError as error:
            trace = (ValueError, error, error.__traceback__)
    return logging.LogRecord("crm_sync", logging.ERROR, "", 1, message, arguments, trace)


@pytest.mark.rule("S4")
@given(st.text())
def test_any_text_becomes_one_line(text):
    assert len(in_one_line(text).splitlines()) <= 1
    assert len(LineFormatter().format(record("%s", text)).splitlines()) == 1
    assert json.loads(Json().format(record("%s", text)))["message"] is not None
    assert len(Json().format(record("%s", text)).splitlines()) == 1


def test_a_line_that_somebody_forges_stays_within_its_own():
    line = LineFormatter().format(record("order %s is not known", FORGED))
    shown = FORGED.replace("\n", "\\n")
    assert line.endswith(f"ERROR crm_sync: order {shown} is not known")


def test_a_line_begins_with_a_time_that_names_its_difference_from_utc():
    made = record("a")
    written = LineFormatter().format(made)[: len("2026-01-01 00:00:00.000+00:00")]
    assert datetime.fromisoformat(written).timestamp() == pytest.approx(made.created, abs=0.001)
    assert datetime.fromisoformat(written).tzinfo is not None


def test_lines_of_a_traceback_are_indented_and_hold_no_forged_line():
    lines = LineFormatter().format(record(FORGED, failed=True)).splitlines()
    assert [line for line in lines[1:] if not line.startswith("    ")] == []
    assert "\n2026-01-01" not in "\n".join(lines)


@pytest.mark.rule("S4")
@pytest.mark.parametrize("form", [LineFormatter(), Json()])
@pytest.mark.parametrize("text", [f"Authorization: Bearer {TOKEN}", f'{{"token": "{TOKEN}"}}'])
def test_no_token_is_logged(form, text):
    written = form.format(record(text, failed=True)) + form.format(record("%s", text))
    assert "canary" not in written
    assert TOKEN not in written
    assert "***" in written


def test_a_record_in_json_says_when_how_bad_where_and_what():
    found = json.loads(Json().format(record("%d rows", 3)))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", found.pop("time"))
    assert isinstance(found.pop("process"), int)
    assert found == {"level": "ERROR", "logger": "crm_sync", "message": "3 rows"}


@pytest.mark.rule("S4")
@pytest.mark.processes
def test_the_log_of_the_web_holds_a_path_in_one_line(tmp_path):
    installation = Installation(tmp_path, f"sqlite:///{tmp_path / 'db.sqlite3'}")
    installation.manage("migrate", "--verbosity", "0")
    with web(installation) as served, socket.socket() as caller:
        caller.connect(("127.0.0.1", installation.web_port))
        caller.sendall(b"GET /no%0Aforged%0D%1b[31m HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert caller.recv(100).startswith(b"HTTP/1.1 404")
        caller.close()
        wait_until("the line is written", lambda: b"GET /no" in served.log.read_bytes(), limit=10)
    (line,) = [one for one in served.log.read_text().splitlines() if "GET /no" in one]
    assert "GET /no\\nforged\\r\\x1b[31m 404" in line


@pytest.mark.processes
def test_a_line_of_the_access_log_has_the_id_of_its_request(tmp_path):
    installation = Installation(tmp_path, f"sqlite:///{tmp_path / 'db.sqlite3'}")
    with web(installation) as served:
        address = f"http://127.0.0.1:{installation.web_port}/healthz"
        requests.get(address, headers={"X-Request-ID": "of-its-caller"}, timeout=10)
        line = re.compile(r"^127\.0\.0\.1 GET /healthz 200 .* \[of-its-caller\]$", re.MULTILINE)
        wait_until("the line", lambda: line.search(served.log.read_text()), limit=10)
