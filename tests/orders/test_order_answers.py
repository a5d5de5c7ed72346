"""What POST /v1/orders may answer: the order, its id under any name, where it is, or a fault."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from crm_sync import hooks
from orders.models import Order, Placement
from tests.conftest import PLATFORM
from tests.orders.conftest import calls, now
from tests.placing import place_at_once
from tests.platforms import Between, Canned

State = Placement.State
Told = Callable[[dict[str, Any]], Any]
POSTED = ("POST", "/v1/orders")


@pytest.fixture
def between(box, workspace, home) -> Between:
    return Between(box, PLATFORM)


def order_one(workspace) -> Placement:
    wishes = {"reference": "SEED-1", "user": "AGENT-1", "products": ["GROUND_PHOTO"]}
    return place_at_once(workspace, now=now(), **wishes)


def answering(between: Between, told: Told, *, status: str = "", location: str = "") -> None:
    """Let the platform place the order, and say so in another way."""

    def reword(environ: dict[str, Any], answer: Canned) -> Canned:
        if (environ["REQUEST_METHOD"], environ["PATH_INFO"]) != POSTED:
            return answer
        order = json.loads(answer[2])
        content = told(order)
        body = b"" if content is None else json.dumps(content).encode()
        kept = [one for one in answer[1] if one[0].lower() != "content-length"]
        where = [("Location", location.format(order["id"]))] if location else []
        return status or answer[0], kept + where, body

    between.reword = reword


FORMS: dict[str, Told] = {
    "orderId": lambda order: {"orderId": order["id"]},
    "a number": lambda order: {"orderId": int(order["id"])},
    "orderPublicId": lambda order: {"orderPublicId": order["id"], "id": 7},
    "wrapped": lambda order: {"order": order},
    "wrapped in data": lambda order: {"data": {"orderId": order["id"]}, "success": True},
}


@pytest.mark.parametrize("form", FORMS)
def test_an_order_is_known_by_whatever_name_the_answer_gives_its_id(
    box, workspace, between, drain_all, form
):
    answering(between, FORMS[form])
    done = order_one(workspace)
    (there,) = box.workspace.orders
    assert (done.state, done.order.platform_id) == (State.PLACED, there)
    drain_all()
    order = Order.objects.get()
    assert (order.status, order.assignments.get().products) == ("PLACED", ["GROUND_PHOTO"])
    assert (order.user_platform_id, order.property_platform_id) == ("101", "201")
    assert calls(box).count(POSTED) == 1


@pytest.mark.parametrize("location", ["/v1/orders/{}", "http://sandbox.test/v1/orders/{}/?x=1"])
def test_an_order_that_only_the_header_names_is_known_by_it(
    box, workspace, between, drain_all, location
):
    answering(between, lambda order: None, location=location)
    done = order_one(workspace)
    (there,) = box.workspace.orders
    assert (done.state, done.order.platform_id) == (State.PLACED, there)
    drain_all()
    assert Order.objects.get().status == "PLACED"


@pytest.mark.rule("I9")
@pytest.mark.parametrize("status", ["300 Multiple", "301 Moved", "302 Found", "303 See Other"])
def test_a_redirect_to_what_may_be_the_order_is_uncertain_until_it_is_heard_of(
    box, workspace, between, drain_all, status
):
    answering(between, lambda order: None, status=status, location="/v1/orders/{}")
    done = order_one(workspace)
    assert (done.state, done.order) == (State.UNCERTAIN, None)
    assert f"POST /v1/orders: {status[:3]}" in done.problem
    type(workspace).objects.update(paused_until=None)
    (there,) = box.workspace.orders.values()
    box.advance(there["assignments"][0])
    box.deliver()
    drain_all()
    done.refresh_from_db()
    assert (done.state, done.order.platform_id) == (State.PLACED, there["id"])
    assert calls(box).count(POSTED) == 1


def test_an_id_that_is_longer_than_any_is_not_cut_to_another_one(box, workspace, between):
    answering(between, lambda order: {"id": "7" * 256})
    done = order_one(workspace)
    assert (done.state, done.order, Order.objects.count()) == (State.UNCERTAIN, None, 0)


# --- 503: the platform or something in front of it; the order may be there (I9)
@pytest.mark.rule("I9")
@pytest.mark.parametrize("has_placed", [False, True])
def test_an_order_that_is_answered_with_503_is_uncertain_and_never_repeated(
    box, workspace, between, drain_all, has_placed
):
    if has_placed:
        answering(between, lambda order: None, status="503 Service Unavailable")
    else:
        fault = {"fault": "UNAVAILABLE", "method": "POST", "path": "/v1/orders", "times": 1}
        box.faults.set({"rules": [fault]})
    done = order_one(workspace)
    assert (done.state, done.order) == (State.UNCERTAIN, None)
    assert done.problem.startswith("It is not known whether the order was placed.")
    assert "POST /v1/orders: 503" in done.problem
    workspace.refresh_from_db()
    assert workspace.is_paused(now())
    type(workspace).objects.update(paused_until=None, pauses=0, problem="")
    drain_all()
    assert hooks.queue("placements").workspaces(now()) == set()
    assert (calls(box).count(POSTED), len(box.workspace.orders)) == (1, int(has_placed))
    done.refresh_from_db()
    assert done.state == State.UNCERTAIN


def test_an_order_behind_a_503_settles_its_placement_once_it_is_heard_of(
    box, workspace, between, drain_all
):
    answering(between, lambda order: None, status="503 Service Unavailable")
    done = order_one(workspace)
    type(workspace).objects.update(paused_until=None, pauses=0, problem="")
    (there,) = box.workspace.orders.values()
    box.advance(there["assignments"][0])
    box.deliver()
    drain_all()
    done.refresh_from_db()
    assert (done.state, done.order.platform_id) == (State.PLACED, there["id"])
    assert calls(box).count(POSTED) == 1
