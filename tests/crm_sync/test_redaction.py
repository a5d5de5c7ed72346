"""What must go, and what must stay: a document that is changed by chance would be pushed back."""

import base64
import html
import json
import logging
from datetime import UTC, datetime

import pytest

from crm_sync.platform import outside, transport
from crm_sync.platform.errors import RejectedError
from crm_sync.platform.outside import RequestOptions
from crm_sync.platform.redaction import Redactor
from crm_sync.platform.responses import read_answer
from tests.crm_sync.sockets import OK, saying, serving

SECRET = 'a-"long"/secret+é'


def masked(text: str, *secrets: str) -> str:
    return Redactor(secrets or (SECRET,)).text(text)


def test_a_text_loses_the_longest_of_two_secrets_that_begin_alike():
    assert masked("x abcdef abcdefgh y", "abcdef", "abcdefgh") == "x *** *** y"


@pytest.mark.parametrize("before", ["", "i", "id", "id:", "client:"])
def test_of_base64_no_more_than_the_ends_are_left(before):
    encoded = base64.b64encode(f"{before}{SECRET}, and more".encode()).decode()
    decoded = masked(encoded).split("***")
    assert len(decoded) == 2
    for end in decoded:
        assert SECRET[3:8] not in base64.b64decode(end + "=" * (-len(end) % 4)).decode("latin-1")


@pytest.mark.rule("S4")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bearer token expired", "Bearer token expired"),
        ("got Bearer 0123456789abcdef.x", "got Bearer ***"),
        ("got eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln: no", "got ***: no"),
        ("Basic apartment", "Basic apartment"),
    ],
)
def test_tokens_that_nobody_knows_here_go_too(text, expected):
    assert Redactor().text(text) == expected


def test_a_document_loses_long_secrets_in_names_and_values_however_they_are_escaped():
    escaped = "".join(f"\\u{ord(one):04x}" for one in SECRET)
    body = f'{{"a": ["x {escaped} y", 1, null], "{escaped}": {{"b": true}}}}'.encode()
    found = Redactor((SECRET,)).document(json.loads(body), body)
    assert found == {"a": ["x *** y", 1, None], "***": {"b": True}}


def test_a_document_loses_a_secret_that_was_written_as_html_before_it_became_json():
    secret = 'canary/token+"\\%-8f3kd0'
    document = {"error": f"no {html.escape(secret)} here"}
    body = json.dumps(document).encode()
    assert Redactor((secret,)).document(document, body) == {"error": "no *** here"}
    assert Redactor((secret,)).shown(document) == {"error": "no *** here"}


def test_a_document_keeps_what_is_a_secret_by_chance():
    document = {"title": "The secret garden", "text": "Bearer 0123456789abcdef"}
    body = json.dumps(document).encode()
    assert Redactor(("secret", "t")).document(document, body) == document
    assert Redactor(("t",)).text("a text") == "a text"


def test_no_log_holds_the_secret_of_an_address_whatever_the_answer_looks_like(caplog):
    caplog.set_level(logging.DEBUG)
    odd = saying(OK + b"Content-Length: 2\r\nno colon here\r\n\r\n{}")
    with serving(odd) as server:
        address = f"{server.url}/hook?key=canary-in-the-log"
        options = RequestOptions(inside=["127.0.0.1"])
        with outside.post(address, b"{}", options, deadline=2.0) as answer:
            assert answer.status == 200
        with outside.get(address, options, deadline=2.0) as answer:
            assert answer.status == 200
        assert transport.send("GET", address, deadline=2.0).status == 200
        assert [b"canary-in-the-log" in one for one in server.requests] == [True, True, True]
    assert "canary" not in caplog.text


@pytest.mark.parametrize("length", range(480, 501))
def test_no_half_of_a_secret_is_left_where_a_long_text_is_cut(length):
    body = b"x" * length + SECRET.encode()
    options = {"headers": {}, "took": 0.0, "now": datetime.now(UTC), "hide": Redactor((SECRET,))}
    with pytest.raises(RejectedError) as refusal:
        read_answer(call="GET /", status=400, body=body, **options)
    assert str(refusal.value) == "GET /: 400 " + ("x" * length + "***")[:500]
