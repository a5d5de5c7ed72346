"""Access (§5.1), errors (§7), bad input, and the sandbox's own paths (A53)."""

import base64
import io
import json

import pytest

from sandbox.__main__ import parser
from sandbox.app import LOOPBACK
from sandbox.state.workspace import Workspace
from sandbox.wire import MAX_BODY
from tests.sandbox.conftest import Client, refusal

PATHS = [
    ("GET", "/v1/users"),
    ("PATCH", "/v1/real-estate-properties/201"),
    ("GET", "/v1/orders/1"),
    ("GET", "/materials/1/2"),
    ("PUT", "/v1/webhooks"),
    ("GET", "/webhook/history"),
]


@pytest.mark.rule("4.1 JWT", "5.1 JWT")
@pytest.mark.parametrize(("method", "path"), PATHS)
@pytest.mark.parametrize(
    "header", [None, "Bearer", "Bearer wrong", "Basic test-token", "Bearer a.b.c", "Bearer é"]
)
def test_5_1_a_missing_or_wrong_token_is_401(box, method, path, header):
    nobody = Client(box, token=None)
    headers = {"Authorization": header.encode()} if header else {}
    before = box.workspace.to_json()
    assert refusal(nobody.request(method, path, json={}, headers=headers)) == (401, [])
    assert box.workspace.to_json() == before


@pytest.mark.rule("5.1 token")
def test_5_1_client_credentials_give_a_token_that_lives_an_hour(box, clock):
    nobody = Client(box, token=None)
    answer = nobody.post("/auth/token", json={"clientId": "id", "secret": "secret"})
    assert (answer.status_code, list(answer.json())) == (200, ["token"])
    token = answer.json()["token"]
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert claims["exp"] == int(clock.now.timestamp()) + 3600
    client = Client(box, token=token)
    clock.move(minutes=59, seconds=59)
    assert client.get("/v1/users").status_code == 200
    clock.move(seconds=1)
    assert refusal(client.get("/v1/users")) == (401, [])


@pytest.mark.parametrize(
    "body",
    [{}, {"clientId": "id", "secret": "x"}, {"clientId": 1, "secret": []}, {"clientId": "id"}],
)
def test_a6_wrong_credentials_are_401(box, body):
    assert refusal(Client(box, token=None).post("/auth/token", json=body)) == (401, [])


def test_a6_a_token_with_other_claims_is_401(box):
    nobody = Client(box, token=None)
    token = nobody.post("/auth/token", json={"clientId": "id", "secret": "secret"}).json()["token"]
    head, claims, signature = token.split(".")
    forged = base64.urlsafe_b64encode(b'{"exp": 9999999999}').decode().rstrip("=")
    assert Client(box, token=f"{head}.{claims}.{signature}").get("/v1/users").status_code == 200
    assert Client(box, token=f"{head}.{forged}.{signature}").get("/v1/users").status_code == 401


def test_every_answer_carries_the_date_of_the_sandbox_clock(client):
    for path in "/v1/users", "/none", "/v1/orders/1":
        assert client.get(path).headers["Date"] == "Mon, 02 Mar 2026 08:30:00 GMT"


@pytest.mark.rule("7 error body")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b'{"areaUsable": NaN}',
        b'{"areaUsable": Infinity}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"areaUsable": ' + b"9" * 5_000 + b"}",
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PATCH", "/v1/real-estate-properties/201"),
        ("POST", "/v1/real-estate-properties"),
        ("POST", "/v1/orders"),
        ("PUT", "/v1/webhooks"),
        ("POST", "/_sandbox/clock"),
    ],
)
def test_7_a_body_that_is_no_json_object_is_400_and_changes_nothing(
    box, client, method, path, content
):
    before = box.workspace.to_json()
    assert refusal(client.request(method, path, data=content)) == (400, [])
    assert box.workspace.to_json() == before


def test_a_body_over_1_mib_is_413_and_one_of_1_mib_is_not(box, client):
    frame = b'{"localizations": [{"description": "%s"}]}'
    path = "/v1/real-estate-properties/201"
    whole = frame % (b"x" * (MAX_BODY - len(frame) + 2))
    assert client.patch(path, data=whole).status_code == 200
    before = box.workspace.to_json()
    assert refusal(client.patch(path, data=whole + b" ")) == (413, [])
    assert box.workspace.to_json() == before


@pytest.mark.parametrize(("size", "status"), [(MAX_BODY, "200 OK"), (MAX_BODY + 1, "413")])
def test_a_body_without_a_length_is_read_as_far_as_it_may_be(box, size, status):
    body = b'{"title": "chunked"}'.ljust(size)
    environ = {
        "REQUEST_METHOD": "PATCH",
        "PATH_INFO": "/v1/real-estate-properties/201",
        "HTTP_AUTHORIZATION": "Bearer test-token",
        "HTTP_HOST": "sandbox.test",
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
    }
    seen = []
    box(environ, lambda *answer: seen.append(answer))
    assert seen[0][0].startswith(status)


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/none", "/v1/orders", "//v1/users", "/%00", "/é"])
def test_a_path_that_is_not_there_is_404_or_405(client, path):
    answer = client.get(path)
    assert refusal(answer)[0] == (405 if path == "/v1/orders" else 404)


def test_a_method_that_a_path_does_not_take_is_405_and_names_the_others(client):
    answer = client.delete("/v1/real-estate-properties")
    assert (refusal(answer), answer.headers["Allow"]) == ((405, []), "GET, POST")


def test_a5_a_fault_of_the_sandbox_itself_is_a_documented_500(box, client):
    box.workspace.users["broken"] = object()
    assert refusal(client.get("/v1/users")) == (500, [])


def test_every_call_is_recorded(box, client):
    client.get("/v1/users?page=0")
    client.patch("/v1/real-estate-properties/201", json={"title": "New"})
    client.patch("/v1/real-estate-properties/201", data=b"{")
    client.post("/_sandbox/step")
    assert list(box.calls) == [
        ("GET", "/v1/users", None, 200),
        ("PATCH", "/v1/real-estate-properties/201", {"title": "New"}, 200),
        ("PATCH", "/v1/real-estate-properties/201", None, 400),
    ]


def test_a_workspace_is_the_same_after_its_way_through_json(box, hooked):
    hooked.order("11", "17", "15")
    while box.step():
        pass
    box.deliver()
    box.nudge(next(iter(box.workspace.assignments)))
    state = json.loads(json.dumps(box.workspace.to_json()))
    assert Workspace.from_json(state).to_json() == box.workspace.to_json()
    assert Workspace.from_json(state).properties.by_reference("SEED-2")["id"] == "202"


@pytest.mark.parametrize("value", [None, [], {}, {"properties": {}}, "x"])
def test_what_is_no_state_is_refused(value):
    with pytest.raises(ValueError, match="not the state"):
        Workspace.from_json(value)


# A53


def test_a53_the_state_is_shown_without_its_secrets(box, client):
    client.put("/v1/webhooks", json={"url": "http://hook.test", "authSecret": "s3cret"})
    answer = Client(box, token=None).get("/_sandbox/state")
    assert list(answer.json()["properties"]) == ["201", "202"]
    assert answer.json()["webhook"]["hasAuthSecret"] is True
    calls = Client(box, token=None).get("/_sandbox/calls").json()["calls"]
    assert calls == [
        {
            "method": "PUT",
            "path": "/v1/webhooks",
            "body": {"url": "http://hook.test", "authSecret": "***"},
            "status": 201,
        }
    ]
    assert box.workspace.signing_key not in answer.text
    assert "s3cret" not in answer.text


def test_a53_a_property_is_edited_a_user_added_the_clock_set_and_all_reset(box, client, clock):
    changed = client.patch("/_sandbox/properties/201", json={"title": "Theirs"})
    assert changed.json() == client.get("/v1/real-estate-properties/201").json()
    assert changed.json()["title"] == "Theirs"
    assert client.post("/_sandbox/users", json={"name": "Agent Four"}).json() == {
        "id": "1001",
        "name": "Agent Four",
    }
    assert client.get("/v1/users").json()["totalElements"] == 4
    client.post("/_sandbox/clock", json={"now": "2026-09-10T00:00:00Z"})
    clock.move(seconds=5)
    assert client.get("/v1/users").headers["Date"] == "Thu, 10 Sep 2026 00:00:05 GMT"
    assert client.post("/_sandbox/reset").status_code == 204
    assert box.workspace.properties == Workspace.seeded().properties
    assert client.get("/v1/users").headers["Date"] == "Mon, 02 Mar 2026 08:30:05 GMT"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *((name, 200) for name in ("localhost:8900", "127.0.0.1", "[::1]:8900", "Dev.Lan:1")),
        *((name, 403) for name in ("evil.example:8900", "127.0.0.1.evil.example", "[::2]")),
    ],
)
def test_a_name_that_somebody_points_to_this_machine_is_refused(box, host, status):
    box.hosts = LOOPBACK | {"dev.lan"}
    seen = []
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/_sandbox/state", "HTTP_HOST": host}
    environ |= {"wsgi.input": io.BytesIO(), "SERVER_NAME": "x", "SERVER_PORT": "1"}
    b"".join(box(environ, lambda line, headers: seen.append(int(line[:3]))))
    assert seen == [status]


def test_the_token_comes_from_the_environment_so_that_no_command_line_shows_it(monkeypatch):
    monkeypatch.setenv("SANDBOX_TOKEN", "from-the-environment")
    assert parser().parse_args([]).token == "from-the-environment"
    assert parser().parse_args(["--token", "typed"]).token == "typed"
    monkeypatch.delenv("SANDBOX_TOKEN")
    assert parser().parse_args([]).token is None
