"""Every route of the API: whose rows it shows, which scope it needs, and its description (S12)."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from crm_sync import hooks
from tests.api import EVERYTHING, Program, error, program
from tests.roles import fill, routes, slug_of, snapshot, word

pytestmark = [pytest.mark.django_db, pytest.mark.once]
METHODS = ("GET", "PUT", "PATCH", "POST", "DELETE")
OPEN = {"schema/", "docs/"}  # the same for everybody
LAST = {"", "properties/<path:reference>"}  # what leads nowhere
LISTS = {
    "changes",
    "orders",
    "properties",
}  # of all in the workspace: empty for a stranger, and not 404


def views() -> dict[str, Any]:
    """Return the view of each route of the API."""
    found = {
        route.removeprefix("api/v1/"): pattern.callback.view_class.scopes
        for route, pattern in routes()
        if route.startswith("api/v1/") and route.removeprefix("api/v1/") not in OPEN | LAST
    }
    assert len(found) >= 11
    return found


def address(route: str, rows: dict[str, Any]) -> str:
    meant = {
        "<str:reference>": rows["properties.property"].object_reference_id,
        "<str:order_id>": rows["orders.order"].platform_id,
        "<int:placement_id>": str(rows["orders.placement"].pk),
    }
    meant["<int:file_id>"] = str(rows["orders.materialfile"].pk)
    meant["<int:source_id>"] = str(rows["properties.source"].pk)
    for name, value in meant.items():
        route = route.replace(name, quote(value))
    assert "<" not in route, f"say what {route} means"
    return f"/{route}"


# Of each method: what no call does anything with, since no field is right.
BODIES = {"POST": {"user": 1, "products": []}, "PUT": {"title": 5}, "PATCH": {"title": 5}}


def everything(one: Program, rows: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """Call each route by each method; return route, method and answer."""
    return [
        (
            route,
            method,
            one.call(method, address(route, rows), BODIES.get(method), Idempotency_Key="k"),
        )
        for route in views()
        for method in METHODS
    ]


@pytest.mark.rule("S12")
def test_a_token_of_another_workspace_finds_nothing_and_changes_nothing():
    a, b = fill("a"), fill("b")
    stranger = program(b["crm_sync.workspace"])
    before = snapshot()
    wrong = []
    for route, method, answer in everything(stranger, a):
        said = answer.content.decode()
        leaks = word("a") in said.replace(word("a") + "-1.", "") or slug_of("a") in said
        is_list = route in LISTS and method == "GET"
        created = route == "properties/<str:reference>" and method == "PUT"
        expected = 200 if is_list else 400 if created else 404
        if method not in views()[route]:
            expected = 405
        if answer.status_code != expected or leaks:
            wrong.append((route, method, answer.status_code, said[:200]))
    assert wrong == []
    after = snapshot()
    assert {name for name in after if after[name] != before[name]} <= {"crm_sync.ApiToken"}


def test_each_route_needs_the_scope_that_it_names_and_no_other():
    rows = fill("a")
    for scope in EVERYTHING:
        one = program(rows["crm_sync.workspace"], [scope], name=scope)
        for route, method, answer in everything(one, rows):
            needed = views()[route].get(method)
            if needed is None:
                assert error(answer)[0] == 405, (route, method)
            elif needed == scope:
                assert answer.status_code not in (401, 403, 405, 500), (route, method)
            else:
                assert error(answer)[:2] == (403, "permission_denied"), (route, method)
    assert {one.name for one in hooks.plugged().api_scopes} == set(EVERYTHING)


def test_without_a_token_nothing_but_the_description_opens():
    rows = fill("a")
    assert {error(answer)[0] for _, _, answer in everything(Program(""), rows)} == {401}
    for route in OPEN:
        assert Client().get(f"/api/v1/{route}").status_code == 200


def test_the_description_lists_every_route_and_method_and_the_shape_of_errors():
    schema = json.loads(Client().get("/api/v1/schema/").content)
    described = {
        (path.removeprefix("/api/v1/"), method.upper())
        for path, calls in schema["paths"].items()
        for method in calls
    }
    there = {
        (route.replace("<str:", "{").replace("<int:", "{").replace(">", "}"), method)
        for route, scopes in views().items()
        for method in scopes
    }
    assert described == there
    for calls in schema["paths"].values():
        for call in calls.values():
            assert call["responses"]["default"]["content"]["application/json"]["schema"] == {
                "$ref": "#/components/schemas/Error"
            }
            assert call["security"] == [{"token": []}]
            assert call["description"]


def test_the_page_of_the_description_loads_everything_from_here():
    page = Client().get("/api/v1/docs/")
    assert "default-src 'self'" in page["Content-Security-Policy"]
    text = page.content.decode()
    assert "http://" not in text.replace("http://testserver", "")
    assert "https://" not in text
    assert Client().get("/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js")
