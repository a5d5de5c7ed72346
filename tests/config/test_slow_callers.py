"""Who sends half a request is sent away, and nobody else waits meanwhile (S7)."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
import requests

from tests.config.web import PROCFILES, web
from tests.journeys.callers import SECRET
from tests.processes import Installation, wait_until

pytestmark = [pytest.mark.processes, pytest.mark.once]

LATEST = 14.0  # seconds; ten for a request, two to read the answer, and the machine is busy
HEAD = b"POST /webhooks/%s/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: %s\r\n"
LENGTH, CHUNKS = b"Content-Length: 200000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"
FORM = b"Content-Type: multipart/form-data; boundary=b\r\n"
LARGE = b"Content-Length: 300000000\r\n\r\n"
PART = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

# What each of them sends at once, and what it repeats once a second.
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


class Slow:
    """One who sends half of something, and the moment at which the server hung up."""

    def __init__(self, port: int, start: bytes, drip: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.socket.sendall(start)
        self.socket.setblocking(False)
        self.drip, self.began, self.ended = drip, time.monotonic(), 0.0

    def look(self) -> None:
        with suppress(BlockingIOError):
            try:
                if self.socket.recv(65536):
                    return
            except ConnectionError:
                pass
            self.ended = time.monotonic() - self.began

    def go_on(self) -> None:
        with suppress(OSError):
            self.socket.send(self.drip)


@pytest.fixture
def installation(tmp_path, database_url) -> Installation:
    return Installation(tmp_path, database_url)


def hook(installation: Installation) -> str:
    return installation.run("-m", "tests.journeys.hook").split()[-1]


@pytest.fixture
def slow(installation) -> Iterator[Callable[..., list[Slow]]]:
    """Let many of them come; they drip until the test ends."""
    stop = threading.Event()
    everybody: list[Slow] = []

    def come(count: int, url: str, *manners: str) -> list[Slow]:
        chosen = [MANNERS[name] for name in manners or MANNERS]
        words = url.rstrip("/").rsplit("/", 1)[1].encode(), SECRET.encode()
        new = [
            Slow(installation.web_port, start.replace(HEAD, HEAD % words), drip)
            for start, drip in (chosen[n % len(chosen)] for n in range(count))
        ]
        everybody.extend(new)
        return new

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


def call(url: str, body: bytes) -> int:
    headers = {"X-API-Key": SECRET, "Connection": "close"}
    return requests.post(url, data=body, headers=headers, timeout=3).status_code


@pytest.mark.parametrize("procfile", PROCFILES)
def test_two_hundred_slow_callers_are_sent_away_and_nobody_waits_for_them(
    installation, slow, procfile
):
    url = hook(installation)
    with web(installation, procfile) as served:
        them = slow(200, url)
        answers = []
        while not all(one.ended for one in them) and them[0].began + LATEST > time.monotonic():
            answers.append(call(url, b'{"n": %d}' % len(answers)))
            page = requests.get(f"http://127.0.0.1:{installation.web_port}/admin/login/", timeout=3)
            answers.append(page.status_code)
            time.sleep(0.1)
        names = list(MANNERS)
        late = {names[n % len(names)] for n, one in enumerate(them) if not one.ended}
        assert late == set()
        assert set(answers) == {200}
        assert "Traceback" not in served.log.read_text()


def test_whoever_has_been_at_it_longest_gives_way_when_there_are_too_many(installation, slow):
    url = hook(installation)
    with web(installation) as served:
        them = slow(700, url, "drips a body")
        wait_until("the first give way", lambda: all(one.ended for one in them[:200]), limit=5)
        assert [call(url, b'{"n": %d}' % n) for n in range(20)] == [200] * 20
        assert "requests were given up" in served.log.read_text()


def test_a_slow_callback_that_is_whole_in_time_is_stored(installation, slow):
    url = hook(installation)
    with web(installation):
        words = url.rstrip("/").rsplit("/", 1)[1].encode(), SECRET.encode()
        with socket.create_connection(("127.0.0.1", installation.web_port), timeout=20) as caller:
            caller.sendall(HEAD % words + CHUNKS)
            for piece in (b"5\r\n", b'{"a":', b"\r\n3\r\n", b" 1}", b"\r\n0\r\n", b"\r\n"):
                caller.sendall(piece)
                time.sleep(0.5)
            assert caller.recv(65536).startswith(b"HTTP/1.1 200")


def test_who_waits_for_a_word_before_the_body_gets_it(installation):
    url = hook(installation)
    with web(installation):
        words = url.rstrip("/").rsplit("/", 1)[1].encode(), SECRET.encode()
        with socket.create_connection(("127.0.0.1", installation.web_port), timeout=5) as caller:
            caller.sendall(HEAD % words + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            assert caller.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
            caller.sendall(b"{}")
            answer = b""
            while b"stored" not in answer:
                answer += caller.recv(65536)
            assert b"HTTP/1.1 200" in answer


def test_a_stop_waits_for_a_request_on_its_way_and_not_for_a_silent_connection(installation, slow):
    """Half of it came before the stop, the rest after it."""
    url = hook(installation)
    with web(installation) as served:
        (silent,) = slow(1, url, "says nothing")
        words = url.rstrip("/").rsplit("/", 1)[1].encode(), SECRET.encode()
        with socket.create_connection(("127.0.0.1", installation.web_port), timeout=5) as caller:
            caller.sendall(HEAD % words + b"Content-Length: 2\r\n\r\n{")
            time.sleep(0.3)
            served.process.terminate()
            wait_until("the silent one is sent away", lambda: silent.ended, limit=4)
            caller.sendall(b"}")
            assert caller.recv(65536).startswith(b"HTTP/1.1 200")
        assert served.process.wait(10) == 0
        assert "Traceback" not in served.log.read_text()
