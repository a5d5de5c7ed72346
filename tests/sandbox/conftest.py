"""A sandbox in this process, a client of it, and somebody whom it calls back."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

import pytest
import requests

from sandbox.app import Sandbox
from tests.wsgi import WsgiAdapter

BASE = "http://sandbox.test"
HOOK = "http://hook.test/callback"
START = datetime(2026, 3, 2, 8, 30, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        self.now += timedelta(**by)


class Callback:
    """Receives callbacks, and answers what it is told to."""

    def __init__(self) -> None:
        self.requests: list[dict] = []
        self.status = 200
        self.body = b""
        self.headers: list[tuple[str, str]] = []
        self.error: Exception | None = None
        self.then: Callable[[], object] | None = None

    @property
    def events(self) -> list[dict]:
        return [one["event"] for one in self.requests]

    def kinds(self) -> list[str]:
        return [one["event"] for one in self.events]

    def __call__(self, environ, start_response):
        length = int(environ["CONTENT_LENGTH"])
        self.requests.append(
            {
                "method": environ["REQUEST_METHOD"],
                "path": environ["PATH_INFO"],
                "query": environ["QUERY_STRING"],
                "headers": {
                    "Content-Type": environ.get("CONTENT_TYPE"),
                    **{
                        name[5:].replace("_", "-").title(): value
                        for name, value in environ.items()
                        if name.startswith(("HTTP_X_", "HTTP_AUTH"))
                    },
                },
                "event": json.loads(environ["wsgi.input"].read(length)),
            }
        )
        if self.then:
            self.then()
        if self.error:
            raise self.error
        start_response(f"{self.status} {HTTPStatus(self.status).phrase}", self.headers)
        return [self.body]


class Client(requests.Session):
    """Calls the sandbox by path, with its token."""

    def __init__(self, box: Sandbox, token: str | None = "test-token") -> None:
        super().__init__()
        self.mount(BASE, WsgiAdapter(box))
        if token:
            self.headers["Authorization"] = f"Bearer {token}"

    def request(self, method, url, *args, **kwargs):
        return super().request(method, f"{BASE}{url}", *args, **kwargs)

    def order(self, *products: str, quantity: int = 1) -> dict:
        """Place an order for the property 201 by the user 101."""
        session = self.post("/v1/sessions", json={"userId": "101", "realEstatePropertyId": "201"})
        lines = [{"id": one, "quantity": quantity} for one in products]
        body = {
            "sessionId": session.json()["id"],
            "products": lines,
            "instructions": {"billing": "21", "organization": "31", "delivery": "41"},
        }
        answer = self.post("/v1/orders", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()


def finished(box, client, *products):
    """Place an order and lead it to its end; return it as it is then."""
    order = client.order(*products)
    while box.step():
        pass
    return client.get(f"/v1/orders/{order['id']}").json()


def refusal(answer: requests.Response) -> tuple[int, list[str]]:
    """The status of an error answer and the fields that it names; checks the shape of A4."""
    body = answer.json()
    assert set(body) == {"status", "error", "message", "errors"}
    assert body["status"] == answer.status_code
    assert body["error"] == HTTPStatus(answer.status_code).phrase
    assert isinstance(body["message"], str)
    assert all(set(one) == {"field", "message"} for one in body["errors"])
    return answer.status_code, [one["field"] for one in body["errors"]]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def callback() -> Callback:
    return Callback()


@pytest.fixture
def box(clock, callback) -> Sandbox:
    http = requests.Session()
    http.mount("http://hook.test", WsgiAdapter(callback))
    return Sandbox(token="test-token", client_id="id", client_secret="secret", now=clock, http=http)


@pytest.fixture
def client(box) -> Client:
    return Client(box)


@pytest.fixture
def hooked(client) -> Client:
    """A client whose workspace has a webhook."""
    assert client.put("/v1/webhooks", json={"url": HOOK, "method": "POST"}).status_code == 201
    return client


def placed(client, *products):
    """Place an order; the order, and the ids of its assignments."""
    order = client.order(*products)
    return order, [one["id"] for one in order["assignments"]]


def status(client, order_id):
    return client.get(f"/v1/orders/{order_id}").json()["status"]


def configure(client, **fields):
    return client.put("/v1/webhooks", json={"url": HOOK, "method": "POST", **fields})


def ring(box, callback=None):
    """Emit one event and send it."""
    box.marketing_ready("201", "LINKEDIN")
    assert box.deliver() == 1
    return callback.requests[-1] if callback else None
