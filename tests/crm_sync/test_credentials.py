"""Tokens for client credentials: bought once, used often, bought again when needed (A6)."""

import socket
from datetime import UTC, datetime, timedelta

import pytest

from crm_sync.platform import credentials
from crm_sync.platform.client import Client
from crm_sync.platform.credentials import ClientCredentials, FixedToken
from crm_sync.platform.errors import AuthError, TransientError
from tests.conftest import PLATFORM
from tests.crm_sync.sockets import answering, serving

PROPERTIES = "/v1/real-estate-properties"


@pytest.fixture
def tokens() -> dict:
    """Return the tokens that this process keeps: none at the start of the test."""
    credentials.tokens.clear()
    return credentials.tokens


def calls(box) -> list[tuple[str, str, int]]:
    return [(method, path, status) for method, path, _, status in box.calls]


@pytest.mark.rule("5.1 token")
def test_one_token_serves_many_calls(box, tokens):
    client = Client(PLATFORM, ClientCredentials("client", "secret"))
    for _ in range(5):
        client.get_property("201")
    assert [path for _, path, _ in calls(box)] == ["/auth/token", *[f"{PROPERTIES}/201"] * 5]
    other = Client(PLATFORM, ClientCredentials("client", "secret"))
    other.get_property("202")
    assert calls(box)[-1] == ("GET", f"{PROPERTIES}/202", 200)
    assert len(tokens) == 1


@pytest.mark.rule("5.1 token")
def test_a_token_that_expired_is_fetched_once_more_and_the_call_repeated_once(box, tokens):
    client = Client(PLATFORM, ClientCredentials("client", "secret"))
    client.get_property("201")
    box.set_clock(datetime.now(UTC) + timedelta(hours=2))  # its clock says expired, ours does not
    box.calls.clear()
    assert client.patch_property("201", {"title": "New"}).document["title"] == "New"
    assert calls(box)[:2] == [("PATCH", f"{PROPERTIES}/201", 401), ("POST", "/auth/token", 200)]
    assert calls(box)[2:] == [("PATCH", f"{PROPERTIES}/201", 200)]


def test_a_token_near_its_end_is_replaced_before_it_is_used(box, tokens):
    client = Client(PLATFORM, ClientCredentials("client", "secret"))
    client.get_property("201")
    ((key, (token, _)),) = tokens.items()
    tokens[key] = (token, datetime.now(UTC).timestamp() + 30)
    box.calls.clear()
    client.get_property("201")
    assert [status for _, _, status in calls(box)] == [200, 200]
    assert calls(box)[0][1] == "/auth/token"


def test_a_fixed_token_that_is_wrong_is_not_allowed_and_tried_once(box):
    with pytest.raises(AuthError):
        Client(PLATFORM, FixedToken("wrong")).create_property({"title": "x"})
    assert calls(box) == [("POST", PROPERTIES, 401)]
    assert len(box.workspace.properties) == 2


def test_a_wrong_client_secret_is_asked_for_a_token_once(box, tokens):
    with pytest.raises(AuthError):
        Client(PLATFORM, ClientCredentials("client", "wrong")).get_webhook()
    assert calls(box) == [("POST", "/auth/token", 401)]
    assert tokens == {}


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"token": 7}', b'{"token": ""}', b""])
def test_an_answer_without_a_token_is_not_allowed(tokens, body):
    with serving(answering(body)) as server, pytest.raises(AuthError):
        Client(server.url, ClientCredentials("a", "b")).get_webhook()
    assert tokens == {}


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "422 Unprocessable"])
def test_a_token_that_is_refused_says_nothing_of_what_it_is_for(tokens, status):
    with serving(answering(b"{}", status=status)) as server, pytest.raises(AuthError) as caught:
        Client(server.url, ClientCredentials("a", "b")).get_property("201")
    assert len(server.requests) == 1
    assert str(caught.value).startswith("no token was given (POST /auth/token: ")
    assert str(caught.value).endswith("an operator has to check address and credentials")


@pytest.mark.parametrize("when", ["first", "after a 401"])
def test_what_gets_no_token_was_not_sent(tokens, when):
    """So an order that meets this is tried again, and no person has to look for it (I9)."""

    def talk(connection: socket.socket) -> None:
        if server.requests[-1].startswith(b"POST /v1/orders"):
            answering(b"{}", status="401 Unauthorized")(connection)
        elif when == "first" or tokens:
            answering(b"{}", status="503 Service Unavailable")(connection)
        else:
            answering(b'{"token": "t"}')(connection)

    with serving(talk) as server, pytest.raises(TransientError) as caught:
        Client(server.url, ClientCredentials("a", "b")).place_order({})
    assert (caught.value.unclear, caught.value.pauses) == (False, True)


@pytest.mark.rule("5.1 JWT")
@pytest.mark.parametrize("claims", ["e30", "W10", "!", "eyJleHAiOiAxZTQwMH0", "eyJleHAiOiAieCJ9"])
def test_a_token_that_tells_no_end_is_used_all_the_same(tokens, claims):
    body = f'{{"token": "a.{claims}.c"}}'.encode()
    with serving(answering(body)) as server:
        answer = Client(server.url, ClientCredentials("a", "b")).get_webhook()
    assert f"Bearer a.{claims}.c\r\n".encode() in server.requests[-1]
    assert answer.document is not None
