"""Whatever is sent: no 5xx, a described answer, and an unchanged state when it is refused."""

import io
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from sandbox.api.openapi import QUERY, Operation, statuses
from sandbox.api.operations import DESCRIPTION, OPERATIONS
from sandbox.app import Sandbox
from sandbox.state.workspace import Workspace
from tests.sandbox.conftest import START, Client
from tests.sandbox.schema_check import resolved, wrong

ODD = ("0", "SEED-1", "..", "é", "a b", "%2F", "UNKNOWN", "x" * 300, "", "2026-13-01", "1e9")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)

ODD_OR_ANY = st.sampled_from(ODD) | JSON


def filled() -> Sandbox:
    """A sandbox with an order at work, another delivered, two sessions, one expired, a webhook."""
    box = Sandbox(token="test-token", client_id="id", client_secret="s", now=lambda: START)
    client = Client(box)
    client.put("/v1/webhooks", json={"url": "http://hook.test"})
    client.order("11", "17")
    client.order("11")
    for _ in range(2):
        client.post("/v1/sessions", json={"userId": "101", "realEstatePropertyId": "201"})
    list(box.workspace.sessions.values())[-2]["expiresAt"] = "2026-01-01T00:00:00Z"
    box.set_status("1002", "SCHEDULED")
    box.set_status("1005", "DELIVERED")
    box.pending.clear()
    return box


FILLED = filled().workspace
STATE = json.dumps(FILLED.to_json())

# What fits at a name, in a path, a query or a body.
FITS = {
    "propertyId": ["201", "202"],
    "objectReferenceId": ["SEED-1"],
    "realEstatePropertyId": ["201"],
    "orderId": ["1001", "1004"],
    "assignmentId": ["1002", "1003", "1005"],
    "sessionId": list(FILLED.sessions)[-2:],
    "userId": ["101"],
    "userReferenceId": ["AGENT-1"],
    "url": ["http://hook.test/"],
    "id": ["11", "17"],
    "billing": ["21"],
    "organization": ["31"],
    "delivery": ["41"],
    "now": ["2026-05-01T10:00:00Z"],
    "scheduledAt": ["2026-05-01T10:00:00Z"],
    "proposedAt": ["2026-05-01T10:00:00Z"],
    "modifiedSince": ["2026-01-01T10:00:00Z"],
    "estimatedDeliveryAt": ["2026-05-01"],
    "status": ["CANCELLED", "ON_HOLD", "DELIVERED"],
    "product": ["GROUND_PHOTO"],
    "clientId": ["id"],
    "secret": ["s"],
    "enabled": ["true", "false"],
    "page": ["0", "3"],
    "size": ["1", "100"],
    "key": ["k"],
    "quality": ["POST", "thumbnail"],
    "name": ["floor-plan-1.png", "a.pdf"],
}
# Of two that exclude each other one is left out, nearly always.
EITHER = (("userId", "userReferenceId"), ("realEstatePropertyId", "objectReferenceId"))


def mostly(usual: st.SearchStrategy, odd: st.SearchStrategy) -> st.SearchStrategy:
    return st.integers(0, 24).flatmap(lambda number: odd if number == 0 else usual)


def fitting(schema: dict, name: str = "", depth: int = 0) -> st.SearchStrategy:
    """Values that fit a schema nearly always: each part may be something else."""
    schema = resolved(schema)
    if "anyOf" in schema:
        return mostly(fitting(schema["anyOf"][0], name, depth), JSON)
    if schema.get("type") == "string":
        fits = schema.get("enum") or FITS.get(name)
        return mostly(st.sampled_from(fits) if fits else st.text(max_size=9), ODD_OR_ANY)
    if schema.get("type") == "object" and schema.get("properties") and depth < 3:
        return mostly(members(schema, depth + 1), JSON)
    if schema.get("type") == "array" and depth < 3:
        return mostly(
            st.lists(fitting(schema["items"], name, depth + 1), min_size=1, max_size=2), JSON
        )
    plain = {"integer": st.integers(1, 100), "number": st.integers(0, 1), "boolean": st.booleans()}
    return mostly(plain.get(schema.get("type", ""), st.just({})), JSON)


@st.composite
def members(draw: st.DrawFn, schema: dict, depth: int) -> dict:
    required = schema.get("required", [])
    optional = sorted(set(schema["properties"]) - set(required))
    chosen = draw(st.lists(st.sampled_from(optional), max_size=4, unique=True)) if optional else []
    for pair in EITHER:
        if set(pair) & set(optional):
            chosen = [one for one in chosen if one not in pair]
            chosen.append(draw(st.sampled_from([one for one in pair if one in optional])))
    return {
        one: draw(fitting(schema["properties"][one], one, depth)) for one in [*required, *chosen]
    }


@st.composite
def requests(draw: st.DrawFn) -> tuple[Operation, str, str, bytes]:
    """An operation, its path with words put in, a query and a body."""
    operation = draw(st.sampled_from(OPERATIONS))
    path = operation.path
    while "{" in path:
        before, _, rest = path.partition("{")
        name, _, after = rest.partition("}")
        usual = st.sampled_from(FITS.get(name, ["POST"]))
        path = before + draw(mostly(usual, st.sampled_from(ODD))) + after
    wanted = (
        draw(st.lists(st.sampled_from(operation.query), unique=True)) if operation.query else []
    )
    pairs = {one: draw(fitting(QUERY[one] | {"type": "string"}, one)) for one in wanted}
    pairs |= draw(mostly(st.just({}), st.dictionaries(st.sampled_from(sorted(QUERY)), st.text())))
    query = "&".join(f"{quote(name)}={quote(str(value))}" for name, value in pairs.items())
    schema = {"$ref": f"#/components/schemas/{operation.body.removesuffix('?') or 'object'}"}
    document = draw(fitting(schema))
    places = list(leaves(document))
    if places and draw(st.booleans()):
        container, key = draw(st.sampled_from(places))
        container[key] = draw(JSON)
    body = draw(mostly(st.just(json.dumps(document).encode()), st.binary(max_size=20)))
    return operation, path, query, body


def leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place of a document: what holds it, and under which key."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        yield value, key
        yield from leaves(value[key])


def call(box: Sandbox, method: str, path: str, query: str, body: bytes) -> tuple[int, str, bytes]:
    seen: list = []
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path.encode().decode("latin-1"),
        "QUERY_STRING": query,
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_AUTHORIZATION": "Bearer test-token",
        "HTTP_HOST": "sandbox.test",
        "wsgi.input": io.BytesIO(body),
    }
    content = b"".join(box(environ, lambda *answer: seen.append(answer)))
    status, headers = seen[0]
    return int(status[:3]), dict(headers).get("Content-Type", ""), content


@pytest.mark.rule("7 error body")
@pytest.mark.filterwarnings("ignore")
@settings(max_examples=700, deadline=None, suppress_health_check=list(HealthCheck))
@given(requests())
def test_whatever_is_sent_the_answer_is_a_described_one_and_a_refusal_changes_nothing(request):
    operation, path, query, body = request
    box = Sandbox(
        *("test-token", "id", "s"),
        now=lambda: START,
        workspace=Workspace.from_json(json.loads(STATE)),
    )
    before = json.dumps(box.workspace.to_json()), box.faults.shown(), box.now()
    status, content_type, content = call(box, operation.method, path, query, body)
    assert status < 500, content
    if status >= 400:
        after = json.dumps(box.workspace.to_json()), box.faults.shown(), box.now()
        assert after == before
        assert wrong(json.loads(content), DESCRIPTION["components"]["schemas"]["Error"]) == []
    # What a word of a path holds may lead elsewhere, or nowhere.
    if path.count("/") == operation.path.count("/") and "by-reference" not in path:
        assert status in {*statuses(operation), 404, 405}
    if (
        status == 200
        and content_type == "application/json"
        and path.count("/") == operation.path.count("/")
    ):
        name = operation.answers.get(200)
        assert (
            name is None
            or wrong(json.loads(content), {"$ref": f"#/components/schemas/{name}"}) == []
        )


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(requests(), st.sampled_from(("strict", "brief", "odd")))
def test_no_kind_of_platform_brings_a_500_and_a_refusal_changes_nothing(request, kind):
    operation, path, query, body = request
    box = Sandbox(
        *("test-token", "id", "s"),
        now=lambda: START,
        workspace=Workspace.from_json(json.loads(STATE)),
        switches={"platform": kind},
    )
    before = json.dumps(box.workspace.to_json())
    status, content_type, content = call(box, operation.method, path, query, body)
    assert status < 500, content
    assert status != 204 or not content
    if content and content_type == "application/json":
        assert isinstance(json.loads(content), dict | list)
    if status >= 400:
        assert json.dumps(box.workspace.to_json()) == before


HEADERS = ("HOST", "ORIGIN", "AUTHORIZATION", "CONTENT_LENGTH", "CONTENT_TYPE", "EXPECT", "COOKIE")
ODD_HEADERS = (
    "http://[",
    "[",
    "Bearer ",
    "Bearer a.b.\xff",
    "Bearer e30.e30.x",
    "null",
    "\x00",
    "",
)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(("/v1/users", "/_sandbox/state", "/webhook", "/nowhere")),
    st.dictionaries(
        st.sampled_from(HEADERS),
        st.sampled_from(ODD_HEADERS) | st.text(st.characters(max_codepoint=255), max_size=20),
    ),
)
@example("/_sandbox/state", {"ORIGIN": "http://["})
def test_no_header_brings_a_500(path, headers):
    box = Sandbox(token="test-token", now=lambda: START)
    seen: list = []
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "SERVER_NAME": "sandbox.test",
        "SERVER_PORT": "80",
        "wsgi.input": io.BytesIO(b""),
        **{
            name if name.startswith("CONTENT") else f"HTTP_{name}": headers[name]
            for name in headers
        },
    }
    content = b"".join(box(environ, lambda *answer: seen.append(answer)))
    assert int(seen[0][0][:3]) < 500, content
