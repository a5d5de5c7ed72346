"""A raw HTTP answer becomes a value, or the error that says what to do (A4, A5, A8, I29)."""

import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings, strategies as st

from crm_sync.platform.errors import (
    AuthError,
    FieldError,
    NotFoundError,
    RejectedError,
    SyncError,
    TransientError,
)
from crm_sync.platform.responses import Answer, read_answer
from crm_sync.text import clean

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NAMED = {
    "title": ["too long"],
    "prices": {"rent.gross": ["too low", "and odd"], "buy": {"message": "missing"}},
    "videoLinks": [{}, {"url": "no address"}],
}


def read(status: int, body: object = b"", *, took: float = 0.0, **headers: str) -> Answer:
    return read_answer(
        call="PATCH /v1/x",
        status=status,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        body=body if isinstance(body, bytes) else json.dumps(body).encode(),
        took=took,
        now=NOW,
    )


def refusal(status: int, body: object = b"", **headers: str) -> SyncError:
    with pytest.raises(SyncError) as caught:
        read(status, body, **headers)
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, TransientError),
        (302, TransientError),
        (400, RejectedError),
        (401, AuthError),
        (403, AuthError),
        (404, NotFoundError),
        (405, TransientError),
        (408, TransientError),
        (409, RejectedError),
        (410, NotFoundError),
        (412, TransientError),
        (413, RejectedError),
        (415, TransientError),
        (422, RejectedError),
        (423, TransientError),
        (429, TransientError),
        (500, TransientError),
        (502, TransientError),
        (503, TransientError),
        (504, TransientError),
    ],
)
def test_each_status_means_one_reaction(status, kind):
    error = refusal(status, {"message": "the reason"})
    assert type(error) is kind
    assert str(error) == f"PATCH /v1/x: {status} the reason"


@pytest.mark.parametrize(
    ("status", "unclear", "pauses"),
    [
        *((300, True, True), (301, True, True), (304, True, True), (307, False, True)),
        *((308, False, True), (405, False, True), (408, True, False)),
        *((412, False, False), (415, False, True), (423, False, False), (429, False, True)),
        *((500, True, False), (503, True, True)),
    ],
)
def test_a_passing_fault_says_whether_it_may_have_worked_and_who_waits(status, unclear, pauses):
    error = refusal(status)
    assert (error.unclear, error.pauses, error.retry_after) == (unclear, pauses, None)


@pytest.mark.parametrize(("status", "expired"), [(401, True), (403, False)])
def test_only_a_401_may_be_cured_by_a_fresh_token(status, expired):
    assert refusal(status).expired is expired


def test_a_refusal_keeps_its_status():
    assert [refusal(status).status for status in (400, 409, 422)] == [400, 409, 422]


@pytest.mark.rule("7 error body")
@pytest.mark.parametrize("name", ["field", "attr", "path", "property"])
def test_a_field_is_read_under_each_of_its_names(name):
    body = {"message": "no", "errors": [{name: "prices.rent.gross", "message": "too low"}]}
    error = refusal(400, body)
    assert error.fields == (FieldError("prices.rent.gross", "too low"),)
    assert str(error) == "PATCH /v1/x: 400 no; prices.rent.gross: too low"


def test_a_field_error_without_name_or_message_is_still_one():
    error = refusal(400, {"errors": [{}, {"field": "title"}, "text", None]})
    assert error.fields == (
        FieldError("", "refused"),
        FieldError("title", "refused"),
        FieldError("", "text"),
    )


@pytest.mark.parametrize("name", ["field", "attr", "path", "property"])
def test_one_field_may_stand_in_the_body_itself(name):
    error = refusal(400, {"message": "too long", "status": 400, name: "title"})
    assert error.fields == (FieldError("title", "too long"),)
    assert str(error) == "PATCH /v1/x: 400 too long; title: too long"


@pytest.mark.parametrize("body", [{"errors": NAMED}, NAMED, {"message": "no", "errors": NAMED}])
def test_fields_may_be_the_names_of_an_object_with_their_messages(body):
    assert refusal(422, body).fields == (
        FieldError("title", "too long"),
        FieldError("prices.rent.gross", "too low; and odd"),
        FieldError("prices.buy", "missing"),
        FieldError("videoLinks[1].url", "no address"),
    )


@pytest.mark.parametrize(
    "body",
    [
        # What frameworks answer by themselves: none of these names is one of a property.
        {"timestamp": "t", "status": 400, "error": "Bad Request", "path": "/v1/x"},
        {"type": "about:blank", "title": "Bad Request", "status": 400, "detail": "no"},
        {"detail": "no"},
        {"code": "E7", "message": "no"},
    ],
)
def test_the_parts_of_an_error_body_are_no_fields(body):
    assert refusal(400, body).fields == ()


# As Spring, JHipster, RFC 7807, RFC 9457, JSON:API, Symfony, FluentValidation, ASP.NET, FastAPI,
# NestJS, Ajv, express-validator, Zod and Google write that a field is wrong.
FRAMEWORKS = {
    "ASP.NET": {
        "type": "https://example.net/validation-error",
        "title": "One or more validation errors occurred.",
        "status": 400,
        "errors": {"$.prices.rent.gross": ["too high"]},
    },
    "Ajv": {"errors": [{"instancePath": "/prices/rent/gross", "message": "too high"}]},
    "express-validator": {
        "errors": [{"param": "prices.rent.gross", "msg": "too high", "location": "body"}]
    },
    "Zod": {"issues": [{"path": ["prices", "rent", "gross"], "message": "too high"}]},
    "validationErrors": {
        "validationErrors": [{"field": "prices.rent.gross", "message": "too high"}]
    },
    "one error": {"detail": {"field": "prices.rent.gross", "message": "too high"}},
    "Spring": {
        "timestamp": "t",
        "status": 400,
        "error": "Bad Request",
        "message": "Validation failed for object='property'. Error count: 1",
        "errors": [
            {
                "codes": ["Max.property.prices.rent", "Max"],
                "objectName": "property",
                "field": "prices.rent.gross",
                "rejectedValue": 1,
                "defaultMessage": "too high",
                "code": "Max",
            }
        ],
        "path": "/v1/real-estate-properties",
    },
    "JHipster": {
        "type": "about:blank",
        "title": "Method argument not valid",
        "status": 400,
        "message": "error.validation",
        "fieldErrors": [
            {"objectName": "property", "field": "prices.rent.gross", "message": "too high"}
        ],
    },
    "fieldErrors of names": {"fieldErrors": {"prices.rent.gross": ["too high"]}},
    "RFC 7807": {
        "type": "https://example.net/validation-error",
        "title": "Your request parameters didn't validate.",
        "invalid-params": [{"name": "prices.rent.gross", "reason": "too high"}],
    },
    "RFC 9457": {
        "type": "https://example.net/validation-error",
        "title": "Your request is not valid.",
        "errors": [{"detail": "too high", "pointer": "#/prices/rent/gross"}],
    },
    "JSON:API": {
        "errors": [
            {
                "status": "422",
                "source": {"pointer": "/data/attributes/prices/rent/gross"},
                "title": "Invalid Attribute",
                "detail": "too high",
            }
        ]
    },
    "Symfony": {
        "type": "https://symfony.com/errors/validation",
        "title": "Validation Failed",
        "detail": "prices.rent.gross: too high",
        "violations": [
            {"propertyPath": "prices.rent.gross", "title": "too high", "parameters": {}}
        ],
    },
    "FluentValidation": {
        "errors": [{"propertyName": "prices.rent.gross", "errorMessage": "too high"}],
    },
    "FastAPI": {
        "detail": [
            {"loc": ["body", "prices", "rent", "gross"], "msg": "too high", "type": "value_error"}
        ]
    },
    "class-validator": {
        "statusCode": 400,
        "message": [{"property": "prices.rent.gross", "constraints": {"max": "too high"}}],
        "error": "Bad Request",
    },
    "Google": {
        "error": {
            "code": 400,
            "message": "Request contains an invalid argument.",
            "status": "INVALID_ARGUMENT",
            "details": [
                {
                    "@type": "type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations": [{"field": "prices.rent.gross", "description": "too high"}],
                }
            ],
        }
    },
}


@pytest.mark.parametrize("body", FRAMEWORKS.values(), ids=FRAMEWORKS)
def test_the_error_bodies_of_common_frameworks_name_their_field(body):
    error = refusal(400, body)
    assert error.fields == (FieldError("prices.rent.gross", "too high"),)
    assert "too high" in error.words
    # No text of Python or JSON, which nobody could read.
    assert not set("{}[]") & set(error.words)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("/data/attributes/videoLinks/1/url", "videoLinks[1].url"),
        ("#/videoLinks/1/url", "videoLinks[1].url"),
        ("$.videoLinks[1].url", "videoLinks[1].url"),
        (["body", "videoLinks", 1, "url"], "videoLinks[1].url"),
        ("/data", ""),
        ([], ""),
        (7, "[7]"),
        ({"parameter": "page"}, "page"),
    ],
)
def test_the_path_of_a_field_is_written_as_ours(name, path):
    error = refusal(400, {"errors": [{"source": name, "detail": "no"}]})
    assert error.fields == (FieldError(path, "no"),)


@pytest.mark.parametrize("depth", [100, 450, 900])
def test_a_body_however_deep_is_a_refusal(depth):
    body = b'{"errors": [' * depth + b"{}" + b"]}" * depth
    assert type(refusal(400, body)) is RejectedError


def test_several_messages_are_one_text():
    body = {"statusCode": 400, "message": ["title is long", "floor is odd"], "error": "Bad Request"}
    assert refusal(400, body).words == "title is long; floor is odd"


def test_a_refusal_in_html_keeps_its_words():
    page = (
        b"<!DOCTYPE html><html><head><title>Error</title><style>p { color: red }</style></head>"
        b"<body><!-- x --><h1>Bad Request</h1>\n<p>The <b>title</b> is too long &amp; odd.</p>"
        b"<script>let a = '<p>'</script></body></html>"
    )
    error = refusal(400, page)
    assert error.words == "Error Bad Request The title is too long & odd."
    assert error.fields == ()
    assert refusal(400, b"\xef\xbb\xbf<p>too long</p>").words == "too long"
    assert refusal(400, b"<html></html>").words == "a web page, no answer of the platform"


def test_a_large_page_is_read_in_no_time():
    began = time.monotonic()
    refusal(400, b"<script" * 500_000)
    assert time.monotonic() - began < 2


def test_a_refusal_keeps_what_the_platform_said_apart_from_our_call():
    assert refusal(400, {"detail": "title is too long"}).words == "title is too long"
    assert refusal(400, b"no\n title").words == "no title"


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>Bad gateway</html>", b"\xff\xfe\x00", b"[1]", b"null", b"[" * 100_000, b'"text"'],
)
def test_an_error_body_that_is_no_object_names_no_field(body):
    assert refusal(400, body).fields == ()


def test_of_a_body_that_is_no_json_the_beginning_is_shown():
    assert str(refusal(502, b"bad\n gateway" + b"x" * 600)) == (
        "PATCH /v1/x: 502 bad gateway" + "x" * 489
    )


def test_a_web_page_of_something_in_between_is_not_printed():
    message = "PATCH /v1/x: 502 a web page, no answer of the platform"
    assert str(refusal(502, b" <!doctype html><title>Proxy</title>")) == message


def test_what_the_platform_says_can_be_stored_in_every_database():
    body = {"message": "a\0b\ud800c", "errors": [{"field": "ti\0tle", "message": "n\0o"}]}
    error = refusal(400, body)
    assert error.fields == (FieldError("title", "no"),)
    assert str(error) == "PATCH /v1/x: 400 abc; title: no"
    assert str(refusal(503, b"down\0")) == "PATCH /v1/x: 503 down"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("-7", 0.0),
        ("Sun, 01 Mar 2026 12:02:00 GMT", 120.0),
        ("Sun, 01 Mar 2026 13:02:00 +0100", 120.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("Mon, 99 Foo 2026", None),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text, seconds):
    assert refusal(429, Retry_After=text).retry_after == seconds


@pytest.mark.parametrize(
    "text", ["inf", "1e999", "99999999999999999", "Fri, 31 Dec 9999 23:59 GMT"]
)
def test_a_retry_after_without_end_pauses_for_a_day_at_most(text):
    assert refusal(503, Retry_After=text).retry_after == 86_400.0


def test_a_good_answer_keeps_every_key():
    answer = read(200, {"id": "7", "somethingNew": [1, {"a": None}]})
    assert (answer.status, answer.document) == (200, {"id": "7", "somethingNew": [1, {"a": None}]})


@pytest.mark.parametrize("body", [b"", b"  \n"])
def test_a_204_has_no_document(body):
    assert read(204, body) == Answer(204, None, None)


@pytest.mark.parametrize("body", [b"<html>", b"{", b"\xff", b"[" * 100_000, b"9" * 5_000])
def test_a_good_status_with_a_body_that_is_no_json_has_an_unclear_outcome(body):
    error = refusal(200, body)
    assert type(error) is TransientError
    assert (str(error), error.unclear) == ("PATCH /v1/x: 200, but the body is not JSON", True)


@pytest.mark.parametrize(
    "date",
    ["Sun, 01 Mar 2026 12:00:00 GMT", "Sun, 01 Mar 2026 13:00:00 +0100", "01 Mar 2026 12:00:00"],
)
def test_a_read_is_as_old_as_the_platforms_clock_less_the_time_it_took(date):
    assert read(200, {}, took=1.5, Date=date).as_of == NOW - timedelta(seconds=1.5)


@pytest.mark.parametrize("date", ["", "yesterday", "Mon, 01 Jan 9999999999999999999 00:00 GMT"])
def test_without_a_readable_date_nobody_knows_how_old_a_read_is(date):
    assert read(200, {}, Date=date).as_of is None


@settings(max_examples=200, deadline=None)
@given(st.integers(100, 599), st.binary(max_size=60), st.text(max_size=30), st.text(max_size=30))
def test_whatever_comes_is_an_answer_or_one_of_our_errors(status, body, date, retry_after):
    try:
        found: Answer | SyncError = read(status, body, Date=date, Retry_After=retry_after)
    except SyncError as error:
        found = error
    good = (Answer, TransientError) if 200 <= status < 300 else SyncError
    assert isinstance(found, good)


TEXTS = st.text(st.sampled_from("aé€😀\\u0d8\0\ud800\udfff\ud7ff\ue000"), max_size=6)
DOCUMENTS = st.recursive(
    TEXTS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2)
)


@given(DOCUMENTS, st.booleans(), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_an_answer_is_cleaned_however_its_text_is_written(document, is_escaped, encoding):
    text = json.dumps({"text": document}, ensure_ascii=is_escaped)
    answer = read(200, text.encode(encoding, "surrogatepass"))
    assert answer.cleaned == clean(answer.document)[0]


@pytest.mark.parametrize("text", ["plain", "Zürich, 5 €", "two\nlines", "한국어 😀"])
def test_no_walk_over_an_answer_is_needed_to_see_that_it_is_clean(text):
    answer = read(200, json.dumps({"text": text}, ensure_ascii=False).encode())
    assert answer.cleaned is answer.document
