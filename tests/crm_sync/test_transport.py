"""No call outlives its deadline, no body its limit, no token leaves its host (I13, S15)."""

import contextlib
import gzip
import io
import socket
import struct
import threading
import time
import tracemalloc
import zlib
from urllib.parse import quote

import pytest
import requests
from hypothesis import example, given, strategies as st
from requests.adapters import BaseAdapter

from crm_sync import permits
from crm_sync.platform import outside, transport
from crm_sync.platform.client import Client
from crm_sync.platform.credentials import ClientCredentials, FixedToken
from crm_sync.platform.errors import AuthError, TransientError
from tests.crm_sync.sockets import (
    OK,
    Server,
    Talk,
    answering,
    free_port,
    full_port,
    saying,
    serving,
)
from tests.crm_sync.test_outside import answer, certificate, secure

DEADLINE = 0.5
GRACE = 0.5  # a bound on behaviour: the longest that a call may outlive its deadline


def fail(server_url: str, *, deadline: float = DEADLINE, json: object = None) -> TransientError:
    """Return what the call raises, after a check that it ended in time."""
    started = time.monotonic()
    with pytest.raises(TransientError) as caught:
        transport.send("GET", f"{server_url}/v1/users", deadline=deadline, json=json)
    assert time.monotonic() - started < deadline + GRACE
    return caught.value


@pytest.mark.rule("I13")
@pytest.mark.parametrize(
    "talk",
    [
        pytest.param(saying(OK, *[b"X"] * 100, pause=0.1), id="a head that drips"),
        pytest.param(
            saying(OK, *[b"X-A: b\r\n"] * 100, pause=0.1), id="a head that drips whole lines"
        ),
        pytest.param(
            saying(OK + b"Content-Length: 100\r\n\r\n", *[b"x"] * 100, pause=0.1),
            id="a body that drips",
        ),
        pytest.param(saying(OK + b"\r\n", *[b"x"] * 100, pause=0.1), id="a drip without a length"),
        pytest.param(
            saying(OK + b"Transfer-Encoding: chunked\r\n\r\n", *[b"1\r\nx\r\n"] * 100, pause=0.1),
            id="chunks that drip",
        ),
        pytest.param(saying(), id="no answer at all"),
        pytest.param(
            saying(*[b"HTTP/1.1 100 Continue\r\n\r\n"] * 100, pause=0.1), id="100 for ever"
        ),
    ],
)
def test_an_answer_that_does_not_end_is_cut_at_the_deadline(talk):
    with serving(talk) as server:
        error = fail(server.url)
    assert (error.unclear, error.pauses) == (True, False)
    assert str(error) == f"GET {server.url}/v1/users: no whole answer within 0.5 s"


def taking(pause: float) -> Talk:
    """Take a part of what is sent, and after a pause the next one; nothing at all without one."""

    def talk(connection: socket.socket) -> None:
        while pause and connection.recv(256 * 1024):
            time.sleep(pause)
        time.sleep(4 * DEADLINE)

    return talk


@pytest.mark.rule("I13")
@pytest.mark.parametrize("pause", [0.0, 0.1])
@pytest.mark.parametrize("is_encrypted", [False, True])
def test_a_server_that_takes_no_whole_request_is_left_at_the_deadline(
    tmp_path, settings, is_encrypted, pause
):
    settings.CA_BUNDLE = str(pem := certificate(tmp_path, "localhost"))
    server = secure(taking(pause), pem, Raw) if is_encrypted else Raw(taking(pause))
    scheme = "https" if is_encrypted else "http"
    try:
        error = fail(f"{scheme}://localhost:{server.port}", json={"a": "b" * 20_000_000})
    finally:
        server.close()
    assert (error.unclear, "no whole answer within 0.5 s" in str(error)) == (True, True)


def test_the_next_call_of_the_thread_has_a_deadline_of_its_own():
    with serving(saying()) as silent, serving(answering(b"{}")) as good:
        fail(silent.url)
        assert transport.send("GET", good.url, deadline=DEADLINE).body == b"{}"
        time.sleep(DEADLINE + 0.1)  # a timer left over would cut the kept connection now
        assert transport.send("GET", good.url, deadline=DEADLINE).status == 200


def test_fetching_a_token_counts_against_the_deadline_of_the_call():
    with serving(saying(OK, *[b"X"] * 100, pause=0.1)) as server:
        client = Client(server.url, ClientCredentials("id", "secret"), deadline=DEADLINE)
        started = time.monotonic()
        with pytest.raises(TransientError) as caught:
            client.get_webhook()
        assert time.monotonic() - started < DEADLINE + GRACE
    assert str(caught.value).startswith(f"POST {server.url}/auth/token: no whole answer within")


def test_a_call_that_needs_a_second_token_and_a_second_try_ends_at_its_deadline():
    def talk(connection: socket.socket) -> None:
        asked = server.requests[-1]
        time.sleep(0.2)
        if asked.startswith(b"POST /auth/token"):
            answering(b'{"token": "t"}')(connection)
        else:
            answering(b"{}", status="401 Unauthorized")(connection)

    with serving(talk) as server:
        client = Client(server.url, ClientCredentials("slow", "secret"), deadline=DEADLINE)
        started = time.monotonic()
        with pytest.raises(TransientError):
            client.place_order({})
        assert time.monotonic() - started < DEADLINE + GRACE


def test_a_refused_connection_cannot_have_reached_the_platform():
    error = fail(f"http://127.0.0.1:{free_port()}")
    assert error.unclear is False
    assert str(error).endswith(": cannot connect")


def test_a_name_that_does_not_resolve_cannot_have_reached_the_platform():
    assert fail("http://no-such-host.invalid", deadline=5.0).unclear is False


class Raw(Server):
    """A server that leaves each connection to `talk` at once, and waits for no request."""

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            self._talk(connection)


@contextlib.contextmanager
def over_tls(server: Server):
    """Yield the address of a server over TLS, and close it."""
    try:
        yield f"https://localhost:{server.port}"
    finally:
        server.close()


def reset(connection: socket.socket) -> None:
    """Break a connection off, as a machine that goes down does."""
    connection.recv(1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


SERVER_HELLO = b"\x16\x03\x03\x40\x00"  # the head of a record of 16 KiB


@pytest.mark.parametrize(
    "talk",
    [
        pytest.param(saying(), id="silence"),
        pytest.param(saying(SERVER_HELLO, *[b"x"] * 100, pause=0.1), id="a drip"),
        pytest.param(reset, id="a reset"),
        pytest.param(saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"), id="no TLS"),
    ],
)
def test_a_tls_handshake_that_fails_ends_in_time_and_nothing_was_sent(talk):
    with over_tls(Raw(talk)) as url:
        error = fail(url)
    assert (error.unclear, str(error)) == (False, f"GET {url}/v1/users: cannot connect")


def test_a_drip_over_tls_is_cut_at_the_deadline(tmp_path, settings):
    settings.CA_BUNDLE = str(pem := certificate(tmp_path, "localhost"))
    talk = saying(OK + b"Content-Length: 100\r\n\r\n", *[b"x"] * 100, pause=0.1)
    with over_tls(secure(talk, pem)) as url:
        error = fail(url)
    assert (error.unclear, str(error)) == (
        True,
        f"GET {url}/v1/users: no whole answer within 0.5 s",
    )


def test_all_addresses_of_a_name_have_one_deadline(monkeypatch):
    answer(monkeypatch, [[f"127.0.0.{number}" for number in range(1, 9)]])
    with full_port() as port:
        error = fail(f"http://cdn.test:{port}")
    assert (error.unclear, str(error).endswith(": cannot connect")) == (False, True)


def test_the_second_address_of_a_name_is_asked_where_the_first_refuses(monkeypatch):
    with serving(answering(b"{}")) as server:
        answer(monkeypatch, [["127.0.0.2", "127.0.0.1"]])
        url = f"http://cdn.test:{server.port}"
        assert transport.send("GET", url, deadline=DEADLINE).body == b"{}"
        assert _headers(server)["host"] == f"cdn.test:{server.port}"


@pytest.mark.rule("I13")
@pytest.mark.parametrize("takes", [DEADLINE + 0.1, 8 * DEADLINE])
def test_a_resolver_that_does_not_answer_in_time_ends_no_call_later(monkeypatch, takes):
    late = slow_resolver(monkeypatch, takes)
    with serving(answering(b"{}")) as server:
        error = fail(f"http://cdn.test:{server.port}")
        late.wait(5)
        assert server.requests == []
    assert (error.unclear, str(error).endswith(": cannot connect")) == (False, True)


def test_a_fetch_and_a_connection_do_not_wait_longer_for_a_resolver(monkeypatch):
    late = slow_resolver(monkeypatch, 8 * DEADLINE)
    options = outside.RequestOptions(inside=["cdn.test"])
    started = time.monotonic()
    with (
        pytest.raises(TransientError, match="was not found in time"),
        outside.get("http://cdn.test/a.jpg", options, deadline=DEADLINE),
    ):
        pass
    with pytest.raises(TransientError, match="was not found in time"):
        outside.connect("cdn.test", 80, ["cdn.test"], timeout=DEADLINE)
    assert time.monotonic() - started < 2 * DEADLINE + GRACE
    late.wait(5)


def test_a_name_that_is_found_slowly_but_in_time_is_called(monkeypatch):
    slow_resolver(monkeypatch, DEADLINE / 2)
    with serving(answering(b"{}")) as server:
        url = f"http://cdn.test:{server.port}/v1/users"
        assert transport.send("GET", url, deadline=4 * DEADLINE).status == 200


def slow_resolver(monkeypatch, seconds: float) -> threading.Event:
    """Let the resolver of the system take so long; return what is set once it has answered."""
    answer(monkeypatch, [["127.0.0.1"]] * 2)
    quick, late = socket.getaddrinfo, threading.Event()

    def slow(host, *args, **how):
        if host == "cdn.test":
            time.sleep(seconds)
            late.set()
        return quick(host, *args, **how)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    return late


@pytest.mark.parametrize(
    "words", [b"certificate verify failed: x", b"NewConnectionError", b"NameResolutionError"]
)
def test_no_words_of_a_server_say_that_nothing_was_sent(words):
    with serving(saying(words + b"\r\n\r\n", close=True)) as server:
        error = fail(server.url)
    assert (error.unclear, str(error)) == (
        True,
        f"GET {server.url}/v1/users: no answer (ProtocolError)",
    )


@pytest.mark.parametrize("url", ["http://", "http:///v1", "http://127.0.0.1:99999", "ftp://host"])
def test_an_address_that_is_none_cannot_have_reached_the_platform(url):
    assert fail(url).unclear is False


@pytest.mark.parametrize(
    "talk",
    [
        pytest.param(saying(close=True), id="closed without an answer"),
        pytest.param(saying(b"HTTP/1.", close=True), id="cut in the status line"),
        pytest.param(
            saying(OK + b"Content-Length: 100\r\n\r\n{", close=True), id="cut in the body"
        ),
        pytest.param(
            saying(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab", close=True),
            id="cut in a chunk",
        ),
        pytest.param(saying(b"not HTTP at all\r\n\r\n", close=True), id="no HTTP"),
        pytest.param(
            saying(OK + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"), id="no gzip"
        ),
    ],
)
def test_an_answer_that_is_cut_off_has_an_unclear_outcome(talk):
    with serving(talk) as server:
        assert fail(server.url).unclear is True


@pytest.mark.parametrize("size", [b"-1", b"-5"])
def test_a_chunk_of_a_negative_size_is_not_read(size):
    with serving(saying(OK + b"Transfer-Encoding: chunked\r\n\r\n%b\r\nabcde" % size)) as server:
        error = fail(server.url)
    assert (error.unclear, str(error)) == (
        True,
        f"GET {server.url}/v1/users: no answer (ProtocolError)",
    )


LARGE = 5 * 1024 * 1024 + 1


@pytest.mark.parametrize(
    "talk",
    [
        pytest.param(answering(b"x" * LARGE), id="with its length"),
        pytest.param(saying(OK + b"\r\n" + b"x" * LARGE, close=True), id="without a length"),
    ],
)
def test_a_body_over_the_limit_is_not_taken(talk):
    with serving(talk) as server:
        error = fail(server.url, deadline=5.0)
    assert error.unclear is True
    assert str(error) == (f"GET {server.url}/v1/users: the answer is larger than {LARGE - 1} bytes")


def test_a_body_at_the_limit_is_taken_whole():
    with serving(answering(b"x" * (LARGE - 1))) as server:
        assert len(transport.send("GET", server.url, deadline=5.0).body) == LARGE - 1


@pytest.mark.parametrize("packed", [True, False])
def test_an_answer_in_chunks_is_read_whole_and_its_connection_stays_open(packed):
    body = b'{"a": "%b"}' % (b"x" * 200_000)
    sent = gzip.compress(body, mtime=0) if packed else body
    head = OK + b"Content-Encoding: gzip\r\n" * packed + b"Transfer-Encoding: chunked\r\n\r\n"
    chunks = [b"%x\r\n%b\r\n" % (len(part), part) for part in (sent[:99], sent[99:], b"")]
    with serving(saying(head + b"".join(chunks))) as server:
        for _ in range(3):
            assert transport.send("GET", server.url, deadline=5.0).body == body
        assert (len(server.requests), len(server._open)) == (3, 1)


@pytest.mark.rule("I13")
def test_a_gzip_bomb_does_not_fill_the_memory():
    packer = zlib.compressobj(level=1, wbits=31)
    bomb = b"".join(packer.compress(bytes(1024 * 1024)) for _ in range(300)) + packer.flush()
    tracemalloc.start()
    with serving(answering(bomb, "Content-Encoding: gzip")) as server:
        error = fail(server.url, deadline=5.0)
    assert str(error).endswith(f"the answer is larger than {LARGE - 1} bytes")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * 1024 * 1024


@pytest.mark.rule("S15")
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
def test_a_redirect_is_not_followed_and_the_token_goes_nowhere_else(status):
    with serving(answering(b"{}")) as elsewhere:
        moved = answering(b"", f"Location: {elsewhere.url}/v1/webhooks", status=status)
        with serving(moved) as server:
            with pytest.raises(TransientError, match=f": {status[:3]}") as caught:
                Client(server.url, FixedToken("canary-token")).get_webhook()
            assert len(server.requests) == 1
    assert caught.value.pauses
    assert elsewhere.requests == []


@pytest.mark.rule("S15")
def test_proxies_and_netrc_of_the_environment_are_not_used(monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login user password canary\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with serving(answering(b"{}")) as proxy, serving(answering(b"{}")) as server:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        transport.send("GET", server.url, deadline=DEADLINE)
        assert _headers(server).get("authorization") is None
    assert proxy.requests == []


@pytest.mark.rule("S15")
def test_a_cookie_of_one_call_does_not_travel_with_the_next():
    with serving(answering(b"{}", "Set-Cookie: session=of-workspace-one")) as server:
        transport.send("GET", server.url, deadline=DEADLINE)
        transport.send("GET", server.url, deadline=DEADLINE)
        assert len(server.requests) == 2
        assert _headers(server).get("cookie") is None


@pytest.mark.parametrize("token", ["line\r\nX-Injected: 1", "not-latin-€", "nul\0", " "])
def test_a_token_that_no_header_can_carry_is_not_allowed_and_nothing_is_sent(token):
    with serving(answering(b"{}")) as server, pytest.raises(AuthError) as caught:
        Client(server.url, FixedToken(token)).get_webhook()
    assert token not in str(caught.value) or token == " "
    assert server.requests == []


def test_a_good_answer_comes_with_its_status_headers_body_and_time():
    with serving(answering(b'{"a": 1}', "X-A: b", status="201 Created")) as server:
        raw = transport.send("POST", server.url, deadline=DEADLINE, json={"n": 1})
    assert (raw.status, raw.headers["x-a"], raw.body) == (201, "b", b'{"a": 1}')
    assert 0 < raw.took < DEADLINE
    assert server.requests[0].endswith(b'\r\n\r\n{"n": 1}')


def _headers(server: Server) -> dict[str, str]:
    """Return the headers of the last request."""
    lines = server.requests[-1].decode().split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


class Recorder(BaseAdapter):
    """A network that keeps what it is given, and answers 204."""

    def send(self, request, **kwargs):
        self.request = request
        response = requests.Response()
        response.status_code, response.raw = 204, io.BytesIO()
        return response

    def close(self) -> None:
        pass


ORIGINS = ["http://a.test", "https://A.test:8443", "http://bücher.test", "http://[::1]:8000"]
ORIGINS += ["http://me:secret@a.test", "HTTP://a.test", "http://127.0.0.1:80"]
ROOTS = ["", "/api", "/a/./b/../c", "/.../.a", "/straße/ a", "/%41%2f%zz", "/a?b=c", "#d"]


@example(ORIGINS[0], "", ".", None, None)
@given(
    st.sampled_from(ORIGINS),
    st.sampled_from(ROOTS),
    st.text(max_size=8).map(lambda text: quote(text.encode("utf-8", "replace"), safe="")),
    st.sampled_from([None, {"n": [1, "ü"]}]),
    st.sampled_from([None, {"page": 1, "q": "a b"}]),
)
def test_what_is_sent_is_what_requests_makes_of_it(origin, root, segment, json, params):
    url = f"{origin}{root}/v1/{segment}"
    network, headers = Recorder(), {"Authorization": "Bearer t"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(transport.MOUNTS, "", network)
        transport.send("PATCH", url, deadline=DEADLINE, headers=headers, params=params, json=json)
    headers = {**transport.HEADERS, **headers}
    theirs = requests.Request("PATCH", url, headers=headers, params=params, json=json).prepare()
    ours = network.request
    assert (ours.method, ours.body, ours.headers) == (theirs.method, theirs.body, theirs.headers)
    # `%41` and `A` are one character of an address (RFC 3986, 2.3).
    assert requests.utils.requote_uri(ours.url) == theirs.url


def test_the_wait_for_a_permit_after_a_call_is_no_time_of_the_call():
    ends, took = threading.Event(), []

    def hold() -> None:
        with permits.held():
            assert ends.wait(30)

    def call() -> None:
        with permits.held():
            for _ in range(permits.PERMITS):
                others.append(threading.Thread(target=hold))
                others[-1].start()  # the last of them gets the permit of the call
            took.append(transport.send("GET", server.url, deadline=10.0).took)

    others: list[threading.Thread] = []
    with serving(answering(b"{}")) as server:
        caller = threading.Thread(target=call)
        caller.start()
        time.sleep(1.5)
        ends.set()
        for thread in (caller, *others):
            thread.join(30)
    assert took[0] < 1.0
