"""A request counts as arrived exactly when gunicorn's parser needs nothing more of it."""

import random

import pytest
from gunicorn.config import Config
from gunicorn.http.parser import RequestParser

from config.arrival import HEAD_LIMIT, Arrival

LIMIT = 2000
HEAD = b"POST /x HTTP/1.1\r\nHost: a\r\n"
GET = b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def with_length(body: bytes) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(*parts: bytes, trailers: bytes = b"", extension: bytes = b"") -> bytes:
    body = b"".join(b"%X%s\r\n%s\r\n" % (len(part), extension, part) for part in parts)
    return CHUNKED + body + b"0\r\n" + trailers + b"\r\n"


WHOLE = {
    "no body": GET,
    "an empty body": with_length(b""),
    "a body": with_length(b"x" * 700),
    "a body that looks like a head": with_length(b"\r\n\r\n" * 9),
    "the largest body": with_length(b"x" * LIMIT),
    "one chunk": chunked(b"x" * 700),
    "many chunks": chunked(*[b"x"] * 99),
    "chunks that look like the end": chunked(b"0\r\n\r\n", b"\r\n0\r\n\r\n"),
    "the largest chunks": chunked(b"x" * 1600, b"y" * 400),
    "no chunk": chunked(),
    "an extension": chunked(b"abc", extension=b";name=value"),
    "trailers": chunked(b"abc", trailers=b"X-A: b\r\nX-C: d\r\n"),
}


class Source:
    """Gives the parser what is there, and says so when it asks for more."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __iter__(self):
        yield self.data
        raise AssertionError("the parser waits for the caller")


def read_by_gunicorn(data: bytes, most: int = LIMIT + 1) -> bytes:
    request = next(RequestParser(Config(), iter(Source(data)), ("127.0.0.1", 1)))
    return request.body.read(most)


@pytest.mark.parametrize("request_", WHOLE.values(), ids=WHOLE.keys())
def test_a_request_is_here_with_its_last_byte_and_not_before(request_):
    """Byte by byte, and in pieces of every kind."""
    arrival = Arrival(LIMIT)
    assert [arrival.take(request_[i : i + 1]) for i in range(len(request_))] == [
        *[False] * (len(request_) - 1),
        True,
    ]
    assert (bytes(arrival.data), arrival.rest) == (request_, 0)
    read_by_gunicorn(request_)
    dice = random.Random(1)
    for _ in range(50):
        arrival, at = Arrival(LIMIT), 0
        while at < len(request_):
            piece = request_[at : at + dice.randint(1, 300)]
            at += len(piece)
            assert arrival.take(piece) is (at == len(request_))


def test_what_comes_behind_a_request_is_kept_with_it():
    arrival = Arrival(LIMIT)
    assert arrival.take(GET + GET)
    assert bytes(arrival.data) == GET + GET


def test_a_body_over_the_limit_is_not_waited_for_and_what_is_missing_is_known():
    arrival = Arrival(LIMIT)
    assert arrival.take(HEAD + b"Content-Length: 2001\r\n\r\n" + b"x" * 100)
    assert arrival.rest == 1901


def test_of_chunks_over_the_limit_one_byte_more_than_it_is_waited_for():
    data = CHUNKED + b"%X\r\n" % 10**9 + b"x" * LIMIT
    arrival = Arrival(LIMIT)
    assert not arrival.take(data)
    assert arrival.take(b"x")
    assert read_by_gunicorn(data + b"x") == b"x" * (LIMIT + 1)


@pytest.mark.parametrize(
    "wrong",
    [
        CHUNKED + b"zz\r\n",
        CHUNKED + b"\r\n",
        CHUNKED + b"-1\r\n",
        CHUNKED + b"1" * HEAD_LIMIT + b"1",
        CHUNKED + b"0\r\nX-A: " + b"x" * HEAD_LIMIT,
        HEAD + b"Content-Length: ten\r\n\r\n",
        b"nonsense\r\n\r\n",
    ],
)
def test_what_is_no_request_is_left_to_the_parser(wrong):
    arrival = Arrival(LIMIT)
    assert arrival.take(wrong)
    assert (arrival.is_head_too_large, arrival.rest) == (False, 0)


def test_a_head_without_an_end_is_given_up():
    arrival = Arrival(LIMIT)
    assert not arrival.take(b"x" * HEAD_LIMIT)
    assert arrival.take(b"x")
    assert arrival.is_head_too_large


def test_who_waits_for_a_word_before_the_body_is_known():
    arrival = Arrival(LIMIT)
    assert not arrival.take(HEAD + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    assert arrival.expects_word
    assert arrival.take(b"abc")
