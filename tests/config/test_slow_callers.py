"""Who sends half a request keeps nobody waiting: nginx holds them (S7, decision 21)."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
import requests

from tests.config.conftest import Front
from tests.config.web import web
from tests.journeys.callers import SECRET
from tests.journeys.rows import ask
from tests.processes import Installation, wait_until

pytestmark = [pytest.mark.processes, pytest.mark.once]

CALLERS, CALLBACKS = 500, 20
SOON = 2.0  # seconds for a callback beside them
LATEST = 14.0  # seconds; ten for a head or a piece of a body, and the machine is busy
LENGTH, CHUNKS = b"Content-Length: 200000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"
FORM = b"Content-Type: multipart/form-data; boundary=b\r\n"
LARGE = b"Content-Length: 30000000\r\n\r\n"
PART = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
STORED = "select count(*) from crm_sync_receivedevent"

# What each of them sends at once (HEAD is that of a callback), and what it repeats once a second.
HEAD = b"HEAD"
MANNERS: dict[str, tuple[bytes, bytes]] = {
    "says nothing": (b"", b""),
    "half a head": (HEAD, b""),
    "drips a head": (HEAD, b"x"),
    "half a body": (HEAD + LENGTH + b"{", b""),
    "drips a body": (HEAD + LENGTH + b"{", b"x"),
    "half a chunk": (HEAD + CHUNKS + b"ff\r\n{", b""),
    "drips chunks": (HEAD + CHUNKS, b"1\r\nx\r\n"),
    "promises a large body": (HEAD + LARGE, b""),
    "drips a large form": (HEAD + FORM + LARGE + PART, b"x"),
    "goes on with half a request": (HEALTH + HEAD, b""),
    "starts another one and drips": (HEALTH + HEAD + CHUNKS, b"1\r\nx\r\n"),
    "waits for a word": (HEAD + b"Expect: 100-continue\r\n" + LENGTH, b""),
    "asks and does not hang up": (HEALTH.replace(b"Host", b"Connection: close\r\nHost"), b""),
}
# nginx waits for a body as long as something of it comes; that costs one of its connections.
WAITED_FOR = {"drips a body", "drips chunks", "drips a large form", "starts another one and drips"}


class Slow:
    """One who sends half of something, and the moment at which nginx hung up."""

    def __init__(self, front: Front, manner: str) -> None:
        start, self.drip = MANNERS[manner]
        self.socket = front.connect()
        self.socket.sendall(start.replace(HEAD, front.head()[:-2]))
        self.socket.setblocking(False)
        self.manner, self.began, self.ended = manner, time.monotonic(), 0.0

    def look(self) -> None:
        with suppress(ssl.SSLWantReadError, BlockingIOError):
            try:
                if self.socket.recv(65536):
                    return
            except (ConnectionError, ssl.SSLError) as error:
                if isinstance(error, ssl.SSLWantReadError):
                    raise
            self.ended = time.monotonic() - self.began

    def go_on(self) -> None:
        with suppress(OSError):
            self.socket.send(self.drip)


@pytest.fixture
def slow(front) -> Iterator[Callable[[int], list[Slow]]]:
    """Let so many of them come, of each manner; they drip until the test ends."""
    stop = threading.Event()
    everybody: list[Slow] = []
    manners = list(MANNERS)

    def come(count: int) -> list[Slow]:
        for number in range(count):
            everybody.append(Slow(front, manners[number % len(manners)]))
        return everybody.copy()

    def live() -> None:
        beats = 0
        while not stop.wait(0.1):
            beats += 1
            for one in everybody.copy():
                if not one.ended:
                    one.look()
                    if one.drip and not beats % 10:
                        one.go_on()

    thread = threading.Thread(target=live)
    thread.start()
    yield come
    stop.set()
    thread.join()
    for one in everybody:
        one.socket.close()


@pytest.mark.rule("S7")
def test_beside_five_hundred_slow_callers_a_callback_is_stored_at_once(front, slow):
    them = slow(CALLERS)
    codes, seconds = [], []
    for number in range(CALLBACKS):
        began = time.monotonic()
        codes.append(front.post(b'{"n": %d}' % number).status_code)
        seconds.append(time.monotonic() - began)
        page = f"https://localhost:{front.port}/admin/login/"
        codes.append(requests.get(page, verify=front.certificate, timeout=SOON).status_code)
    assert codes == [200] * 2 * CALLBACKS
    assert max(seconds) < SOON
    assert ask(front.installation.environment["DATABASE_URL"], STORED) == [(CALLBACKS,)]
    those = [one for one in them if one.manner not in WAITED_FOR]
    limit = max(0.0, them[-1].began + LATEST - time.monotonic())
    wait_until("they are sent away", lambda: all(one.ended for one in those), limit=limit)


def test_a_slow_callback_that_is_whole_in_time_is_stored(front):
    with front.connect() as caller:
        caller.sendall(front.head("Transfer-Encoding: chunked"))
        for piece in (b"5\r\n", b'{"a":', b"\r\n3\r\n", b" 1}", b"\r\n0\r\n", b"\r\n"):
            caller.sendall(piece)
            time.sleep(0.5)
        assert caller.recv(65536).startswith(b"HTTP/1.1 200")


def test_who_waits_for_a_word_before_the_body_gets_it(front):
    with front.connect() as caller:
        caller.sendall(front.head("Expect: 100-continue", "Content-Length: 2"))
        assert caller.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        caller.sendall(b"{}")
        answer = b""
        while b"stored" not in answer:
            answer += caller.recv(65536)
        assert b"HTTP/1.1 200" in answer


# --- without nginx, as in the demo


@pytest.fixture
def installation(tmp_path, database_url) -> Installation:
    return Installation(tmp_path, database_url)


def hook(installation: Installation) -> bytes:
    """Make a workspace; the head of a callback to it, without the blank line behind it."""
    path = "/" + installation.run("-m", "tests.journeys.hook").split()[-1].split("/", 3)[3]
    return f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: {SECRET}\r\n".encode()


@pytest.mark.rule("I17")
def test_no_callback_arrives_on_a_connection_that_was_kept(front):
    """A server may close a kept one in the very moment in which a callback arrives on it."""
    for answer in (front.post(b"{}"), front.post(b""), front.post(b"x" * 300_000)):
        assert answer.headers["Connection"] == "close"
    port = front.installation.callbacks_port  # behind nginx
    answer = requests.post(f"http://127.0.0.1:{port}{front.path}?token={SECRET}", b"{}", timeout=5)
    assert (answer.status_code, answer.headers["Connection"]) == (200, "close")


def test_a_stop_waits_for_a_request_on_its_way_and_not_for_a_silent_connection(installation):
    """Half of it came before the stop, the rest after it."""
    head = hook(installation)
    with web(installation) as served:
        address = ("127.0.0.1", installation.web_port)
        with (
            socket.create_connection(address, timeout=9) as silent,
            socket.create_connection(address, timeout=5) as caller,
        ):
            caller.sendall(head + b"Content-Length: 2\r\n\r\n{")
            time.sleep(0.3)
            served.process.terminate()
            time.sleep(0.3)
            caller.sendall(b"}")
            assert caller.recv(65536).startswith(b"HTTP/1.1 200")
            assert silent.recv(1) == b""  # it was sent away
        assert served.process.wait(10) == 0
        assert "Traceback" not in served.log.read_text()
