"""A program places, follows and changes orders as people do, at most once (I9, S12)."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Semaphore

import pytest
from django.db import connection, connections

from crm_sync.hooks import queue
from crm_sync.work import turn
from orders.api.views import CALLS_AT_ONCE
from orders.models import ChangeRequest, Order, Placement
from orders.placing.wish import place_once
from properties.domain.editing import create
from properties.models import Property
from tests.api import error, program
from tests.conftest import PLATFORM
from tests.orders.conftest import calls, lost, now
from tests.platforms import Between
from tests.together import together

PATH = "/properties/SEED-1/placements"
WISH = {"user": "AGENT-1", "products": ["GROUND_PHOTO", "FLOOR_PLAN"]}
POSTED = ("POST", "/v1/orders")


@pytest.fixture
def erp(workspace, home):
    return program(workspace)


def test_an_order_is_placed_once_for_a_key_and_followed_to_what_is_delivered(
    erp, box, drain_all, boss
):
    begun = erp.call("POST", PATH, WISH, Idempotency_Key="wish-1")
    said = begun.json()
    assert (begun.status_code, said["state"], said["isConfirmed"]) == (202, "CONFIRMED", True)
    assert (said["order"], said["warnings"], len(said["products"])) == (None, [], 2)
    assert said["sum"]["amounts"][0]["currency"]
    assert calls(box).count(POSTED) == 0  # a worker sends it
    again = erp.call(
        "POST", PATH, WISH | {"products": WISH["products"][::-1]}, Idempotency_Key="wish-1"
    )
    assert (again.status_code, again.json()["id"]) == (200, said["id"])
    drain_all()
    placed = erp.get(f"/placements/{said['id']}")
    assert (placed["state"], calls(box).count(POSTED)) == ("PLACED", 1)
    assert erp.call("POST", PATH, WISH, Idempotency_Key="wish-1").json() == placed
    assert erp.call("POST", PATH, WISH, Idempotency_Key="wish-2").json()["warnings"] != []
    order = erp.get(f"/orders/{placed['order']}")
    assert (order["reference"], len(order["assignments"])) == ("SEED-1", 2)
    assert erp.get("/properties/SEED-1/orders")["items"] == [order]
    for _ in range(12):
        box.step()
        box.deliver()
        drain_all()
    materials = erp.get(f"/orders/{order['id']}/materials")["items"]
    assert {one["order"] for one in materials} == {order["id"]}
    assert all(one["materials"][0]["id"] for one in materials)
    assert len(erp.get("/properties/SEED-1/materials")["items"]) >= len(materials) > 0
    row = Order.objects.get(platform_id=order["id"])
    page = boss.get(f"/admin/orders/order/{row.pk}/change/").content.decode()
    assert "API: ERP placed the order" in page


@pytest.mark.django_db(transaction=True)
def test_an_order_is_listed_under_its_property_as_soon_as_its_placement_is_placed(
    erp, home, box, drain_all
):
    placement = erp.call("POST", PATH, WISH, Idempotency_Key="wish-1").json()["id"]
    listed, has_looked = [], []

    def look(execute, *statement):
        if has_looked or connection.in_atomic_block:
            return execute(*statement)
        has_looked.append(True)  # what the calls execute is not looked at
        if erp.get(f"/placements/{placement}")["state"] == "PLACED":
            both = ("/orders?reference=SEED-1", "/properties/SEED-1/orders")
            listed.extend(len(erp.get(path)["items"]) for path in both)
        has_looked.clear()
        return execute(*statement)

    with connection.execute_wrapper(look):
        drain_all()
    assert len(listed) > 2
    assert set(listed) == {1}


@pytest.mark.rule("S12")
def test_who_may_only_write_orders_is_answered_with_no_more_than_an_address(
    workspace, home, box, drain_all
):
    writer, reader = (program(workspace, [f"orders:{may}"], name=may) for may in ("write", "read"))
    begun = writer.call("POST", PATH, WISH, Idempotency_Key="wish-1")
    assert begun.status_code == 204
    assert begun["Location"] == f"/api/v1/placements/{Placement.objects.get().pk}"
    again = writer.call("POST", PATH, WISH, Idempotency_Key="wish-1")
    assert (again.status_code, again["Location"]) == (204, begun["Location"])
    drain_all()
    placed = reader.get(begun["Location"].removeprefix("/api/v1"))
    assert placed["state"] == "PLACED"
    cancelled = writer.call("POST", f"/orders/{placed['order']}/cancel", {"user": "AGENT-1"})
    assert cancelled.status_code == 204
    assert reader.get(f"/orders/{placed['order']}")["status"] == "CANCELLED"
    assert error(writer.call("GET", f"/orders/{placed['order']}"))[0] == 403


def test_a_key_that_names_another_wish_is_refused_and_one_is_required(erp, home):
    assert error(erp.call("POST", PATH, WISH)) == (400, "key_missing", ["Idempotency-Key"])
    for bad in ("a b", "x" * 256, "ü"):
        answer = erp.call("POST", PATH, WISH, Idempotency_Key=bad)
        assert error(answer) == (400, "bad_key", ["Idempotency-Key"])
    assert erp.call("POST", PATH, WISH, Idempotency_Key="k").status_code == 202
    other = WISH | {"products": ["GROUND_PHOTO"]}
    for body in (other, WISH | {"user": "AGENT-2"}):
        assert error(erp.call("POST", PATH, body, Idempotency_Key="k"))[:2] == (422, "key_reused")
    another = program(home.workspace, name="another program of the workspace")
    assert another.call("POST", PATH, WISH, Idempotency_Key="k").status_code == 200
    assert Placement.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({}, ["user", "products"]),
        ({"user": "A", "products": []}, ["products"]),
        ({"user": "A", "products": ["P", 5, {}]}, ["products[2]"]),
        (WISH | {"instruction": {}}, ["instruction"]),
        (WISH | {"instructions": {"bill": "1"}}, ["instructions.bill"]),
    ],
)
def test_what_is_wrong_with_a_wish_is_told_by_field(erp, body, paths):
    answer = erp.call("POST", PATH, body, Idempotency_Key="k")
    assert error(answer) == (400, "invalid", paths)


def test_what_cannot_be_ordered_leaves_nothing_and_the_key_free(erp, box, wire, home):
    for wrong in ({"user": "NOBODY"}, {"products": ["CASTLE"]}, {"instructions": {"billing": "x"}}):
        answer = erp.call("POST", PATH, WISH | wrong, Idempotency_Key="k")
        assert error(answer)[:2] == (422, "no_such_choice")
    wire.answers["/v1/sessions"] = ("503 Busy", b"{}")
    busy = erp.call("POST", PATH, WISH, Idempotency_Key="k")
    assert (error(busy)[:2], busy["Retry-After"]) == ((503, "platform_unavailable"), "30")
    del wire.answers["/v1/sessions"]
    refused = {"REFUSED": {"title": "is too long"}}
    Property.objects.create(workspace=home.workspace, object_reference_id="NEW", problem=refused)
    never = erp.call("POST", "/properties/NEW/placements", WISH, Idempotency_Key="k")
    assert error(never)[:2] == (422, "no_such_choice")
    assert not Placement.objects.exists()
    assert erp.call("POST", PATH, WISH, Idempotency_Key="k").status_code == 202


def test_an_order_for_a_property_that_is_new_is_placed_after_its_push(
    erp, box, workspace, home, drain_all
):
    create(workspace, "NEW-1", {"title": "New"}, origin="API", now=now())
    path = "/properties/NEW-1/placements"
    wish = {"user": "AGENT-1", "products": ["FLOOR_PLAN", "13", "GROUND_PHOTO"]}
    begun = erp.call("POST", path, wish, Idempotency_Key="k")
    assert (begun.status_code, begun.json()["state"]) == (202, "CONFIRMED")
    wrong = wish | {"products": ["CASTLE"]}
    never = erp.call("POST", path, wrong, Idempotency_Key="w").json()
    assert turn.take(queue("placements"), workspace.pk, seconds=5.0).counts == {
        "waits for its push": 2
    }
    waits = erp.get(f"/placements/{begun.json()['id']}")["problem"]
    assert waits == "It is not on the platform yet, and is sent there first."
    drain_all()
    Placement.objects.filter(due_at__isnull=False).update(due_at=now())
    drain_all()
    assert erp.get(f"/placements/{begun.json()['id']}")["state"] == "PLACED"
    failed = erp.get(f"/placements/{never['id']}")
    assert (failed["state"], failed["problem"]) == ("FAILED", "Not offered: CASTLE")
    (body,) = (body for method, path, body, _ in box.calls if (method, path) == POSTED)
    assert body["products"] == [{"id": "13", "quantity": 2}, {"id": "11", "quantity": 1}]


def test_a_price_that_changes_meanwhile_orders_nothing_and_says_so(erp, box, drain_all):
    begun = erp.call("POST", PATH, WISH, Idempotency_Key="k").json()
    for product in Placement.objects.get().products:
        product["price"] = {"amount": 1, "currency": "CHF"}
    row = Placement.objects.get()
    row.products[0]["price"] = {"amount": 1, "currency": "CHF"}
    Placement.objects.filter(pk=row.pk).update(products=row.products)
    drain_all()
    said = erp.get(f"/placements/{begun['id']}")
    assert (said["state"], said["isConfirmed"], said["order"]) == ("READY", False, None)
    assert said["problem"].startswith("Nothing was ordered yet: the price has changed.")
    assert calls(box).count(POSTED) == 0


def test_a_change_is_sent_once_for_a_key_and_the_page_says_who_asked(erp, box, scheduled, boss):
    first = scheduled.assignments.order_by("pk")[0].platform_id
    where = f"/orders/{scheduled.platform_id}"
    wish = {"user": "AGENT-1", "assignment": first, "proposedAt": "2026-12-01T10:00:00+01:00"}
    for _ in range(2):
        moved = erp.call("POST", f"{where}/reschedule", wish, Idempotency_Key="k")
        assert (moved.status_code, moved.json()["id"]) == (200, scheduled.platform_id)
    wrong = wish | {"proposedAt": "0001-01-01T00:00:00"}
    assert error(erp.call("POST", f"{where}/reschedule", wrong)) == (400, "invalid", ["proposedAt"])
    wish = {"user": "AGENT-1", "reason": "sold"}
    for _ in range(2):
        ended = erp.call("POST", f"{where}/cancel", wish, Idempotency_Key="k")
        assert (ended.status_code, ended.json()["status"]) == (200, "CANCELLED")
    sent = [body for method, _, body, _ in box.calls if method == "PUT"]
    assert [one.get("proposedAt") for one in sent] == ["2026-12-01T09:00:00Z", None]
    other = erp.call("POST", f"{where}/cancel", wish | {"reason": "let"}, Idempotency_Key="k")
    assert error(other)[:2] == (422, "key_reused")
    refused = erp.call("POST", f"{where}/cancel", wish)
    assert error(refused)[:2] == (409, "refused_by_platform")
    assert set(ChangeRequest.objects.values_list("program", flat=True)) == {"API: ERP"}
    page = boss.get(f"/admin/orders/order/{scheduled.pk}/change/").content.decode()
    assert "API: ERP" in page


def test_an_unclear_change_says_so_and_is_not_repeated_under_its_key(erp, box, wire, scheduled):
    wire.after["/cancel"] = lost
    where = f"/orders/{scheduled.platform_id}/cancel"
    wish = {"user": "AGENT-1"}
    answer = erp.call("POST", where, wish, Idempotency_Key="k")
    assert error(answer)[:2] == (504, "outcome_unknown")
    again = erp.call("POST", where, wish, Idempotency_Key="k")
    assert error(again)[:2] == (409, "already_sent")
    assert len([one for one in box.calls if one[0] == "PUT"]) == 1
    for body, path in (({}, "user"), (wish | {"why": "x"}, "why")):
        assert error(erp.call("POST", where, body)) == (400, "invalid", [path])


@pytest.mark.rule("I9")
@pytest.mark.django_db(transaction=True)
def test_of_two_calls_with_one_key_at_one_moment_one_places(transactional_db, workspace, home, box):
    def call() -> tuple[int, bool]:
        row, is_new = place_once(
            workspace,
            key="k",
            program="API: ERP",
            reference="SEED-1",
            user="AGENT-1",
            products=["GROUND_PHOTO"],
            instructions={},
            now=now(),
        )
        return row.pk, is_new

    found = together(call, workers=2)
    assert len({pk for pk, _ in found}) == 1
    assert sorted(is_new for _, is_new in found) == [False, True]
    assert Placement.objects.count() == 1
    assert connection.vendor


@pytest.mark.django_db(transaction=True)
def test_while_four_calls_wait_for_the_platform_the_fifth_is_asked_to_come_back(erp, box):
    went_on, waiting = Event(), Semaphore(0)

    def hang(_) -> None:
        waiting.release()
        went_on.wait(30)

    platform = Between(box, PLATFORM)
    platform.before = hang
    with ThreadPoolExecutor(CALLS_AT_ONCE) as pool:
        held = [pool.submit(one_call, erp, f"k{number}") for number in range(CALLS_AT_ONCE)]
        try:
            assert all(waiting.acquire(timeout=10) for _ in held)
            refused = erp.call("POST", PATH, WISH, Idempotency_Key="k")
            assert (error(refused)[:2], refused["Retry-After"]) == ((503, "busy"), "5")
            assert erp.get("/properties/SEED-1")["reference"] == "SEED-1"
        finally:
            went_on.set()
    assert [one.result() for one in held] == [202] * CALLS_AT_ONCE
    assert erp.call("POST", PATH, WISH, Idempotency_Key="k").status_code == 202


def one_call(erp, key: str) -> int:
    try:
        return erp.call("POST", PATH, WISH, Idempotency_Key=key).status_code
    finally:
        connections.close_all()
