"""Clients that call our endpoint as the platform does, and remember what they were answered."""

import hashlib
import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

SECRET = "the-secret-of-the-callback"
PATIENCE = 30.0  # §8: what the platform waits for an answer
HEADERS = {"Content-Type": "application/json", "X-API-Key": SECRET}


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def event(name: str) -> bytes:
    """The body of an event like no other."""
    fields = {"event": "MARKETING_MATERIALS_READY", "timestamp": "2026-01-31T10:00:00Z"}
    return json.dumps(fields | {"propertyId": name, "targetPlatform": "INSTAGRAM"}).encode()


@dataclass
class Callers:
    """Threads that call all the time; a fifth of the events they send twice (§6.1 rule 5)."""

    url: str
    rng: random.Random
    sent: set[str] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)
    answers: Counter[int] = field(default_factory=Counter)  # 0: none came
    slowest: float = 0.0
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self, count: int, pause: float = 0.0) -> None:
        for number in range(count):
            rng = random.Random(self.rng.random())
            thread = threading.Thread(target=self._call, args=(f"{number}", rng, pause))
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _call(self, name: str, rng: random.Random, pause: float) -> None:
        line, bodies = Line(self.url), [event(f"{name}-0")]
        while not self._stop.is_set():
            is_again = rng.random() < 0.2
            body = rng.choice(bodies[-20:]) if is_again else event(f"{name}-{len(bodies)}")
            if not is_again:
                bodies.append(body)
            began = time.monotonic()
            with self._lock:
                self.sent.add(digest(body))
            status = line.call(body)
            with self._lock:
                self.answers[status] += 1
                self.slowest = max(self.slowest, time.monotonic() - began)
                if status == 200:
                    self.acknowledged.add(digest(body))
            time.sleep(pause if status else 0.05)


class Line:
    """One connection, opened anew after it broke."""

    def __init__(self, url: str) -> None:
        self.address = urlsplit(url)
        self.connection: http.client.HTTPConnection | None = None

    def call(self, body: bytes) -> int:
        """Send an event and return the status, 0 where no answer came."""
        port = self.address.port
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            self.connection.request("POST", self.address.path, body, HEADERS)
            response = self.connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            if self.connection is not None:
                self.connection.close()
            self.connection = None
            return 0
        if response.will_close:
            self.connection = None
        return response.status


def at_a_rate(url: str, count: int, a_second: float, note: Callable[[int, float], None]) -> None:
    """Send `count` events at a rate, each on time whatever became of those before."""

    def one(number: int) -> None:
        began = time.monotonic()
        note(Line(url).call(event(f"burst-{number}")), time.monotonic() - began)

    began, threads = time.monotonic(), []
    for number in range(count):
        time.sleep(max(0.0, began + number / a_second - time.monotonic()))
        threads.append(threading.Thread(target=one, args=(number,)))
        threads[-1].start()
    for thread in threads:
        thread.join()
