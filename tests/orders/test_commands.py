"""place_order, reschedule_order, cancel_order: output, exit codes, dry runs."""

import json
from datetime import date
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from crm_sync.translated import day_in_words
from orders.models import Assignment, Order, Placement
from tests.orders.conftest import calls, lost, mirror

WISH = ("--reference", "SEED-1", "--user", "AGENT-1", "--product", "GROUND_PHOTO")

BY = "in the name of Agent One (AGENT-1)"


def run(name: str, *words: str) -> str:
    out = StringIO()
    call_command(name, *words, stdout=out)
    return out.getvalue()


def failure(name: str, *words: str) -> tuple[int, str]:
    with pytest.raises(CommandError) as error:
        run(name, *words)
    return error.value.returncode, str(error.value)


def test_an_order_is_placed_and_told(box, workspace, home):
    text = run("place_order", "main", *WISH, "--product", "13")
    order = Order.objects.get()
    assert text.splitlines() == [
        "GROUND_PHOTO: 249.00 EUR",
        "FLOOR_PLAN: 89.00 EUR",
        "sum: 338.00 EUR",
        f"order {order.platform_id} placed for SEED-1 {BY}: GROUND_PHOTO, FLOOR_PLAN",
    ]


def test_an_open_order_with_the_same_product_is_named_before_the_next_one(
    box, workspace, home, capsys
):
    run("place_order", "main", *WISH, "--product", "13")
    (there,) = box.workspace.orders.values()
    assert "warning" not in capsys.readouterr().err
    wish = (*WISH, "--product", "GROUND_PHOTO")
    warning = (
        f"SEED-1 has an open order with the same product: order {there['id']}"
        f" of {day_in_words(date.fromisoformat(there['createdAt'][:10]))} (GROUND_PHOTO)"
    )
    text = run("place_order", "main", *wish, "--dry-run")
    assert text.splitlines()[:2] == ["GROUND_PHOTO: 2 x 249.00 EUR = 498.00 EUR", "sum: 498.00 EUR"]
    assert capsys.readouterr().err == f"warning: {warning}\n"
    printed = json.loads(run("place_order", "main", *wish, "--json"))
    assert printed["warnings"] == [warning]
    assert printed["sum"] == {
        "amounts": [{"amount": "498.0", "currency": "EUR"}],
        "unpriced": 0,
    }
    Order.objects.update(status="COMPLETED")
    run("place_order", "main", *WISH)
    assert capsys.readouterr().err.splitlines() == [f"warning: {warning}"]


def test_an_order_is_placed_and_told_as_json(box, workspace, home):
    printed = json.loads(run("place_order", "main", *WISH, "--delivery", "42", "--json"))
    order = Order.objects.get()
    assert (printed["state"], printed["order"], printed["status"]) == (
        "PLACED",
        order.platform_id,
        "PLACED",
    )
    assert printed["instructions"] == {"billing": "21", "organization": "31", "delivery": "42"}
    assert [item["product"] for item in printed["products"]] == ["GROUND_PHOTO"]


def test_a_dry_run_shows_the_bodies_and_orders_nothing(box, workspace, home):
    printed = json.loads(run("place_order", "main", *WISH, "--dry-run", "--json"))
    assert printed["POST /v1/sessions"] == {"userId": "101", "realEstatePropertyId": "201"}
    body = printed["POST /v1/orders"]
    assert body["products"] == [{"id": "11", "quantity": 1}]
    assert body["instructions"] == {"billing": "21", "organization": "31", "delivery": "41"}
    assert ("POST", "/v1/orders") not in calls(box)
    assert (box.workspace.orders, Placement.objects.count(), Order.objects.count()) == ({}, 0, 0)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("nowhere", *WISH), 2, "no workspace 'nowhere'; there is: main"),
        (("main", *WISH, "--user", "NOBODY"), 2, "no user 'NOBODY' on the platform"),
        (("main", *WISH, "--reference", "NO-1"), 2, "no property 'NO-1' on the platform"),
        (("main", *WISH, "--product", "NO_PHOTO"), 2, "no product 'NO_PHOTO' in this session"),
        (("main", *WISH, "--billing", "99"), 2, "no billing instruction '99'"),
        (("main", *WISH, "--dry-run", "--billing", "99"), 2, "no billing instruction '99'"),
    ],
)
def test_a_wrong_choice_is_one_clear_line(box, workspace, home, words, code, message):
    returncode, text = failure("place_order", *words)
    assert returncode == code
    assert text.startswith(message)
    assert "\n" not in text
    assert box.workspace.orders == {}


def test_a_platform_that_is_away_is_one_clear_line(workspace, home, wire):
    wire.before["GET /v1/users"] = lost
    code, text = failure("place_order", "main", *WISH)
    assert code == 1
    assert "/v1/users: no whole answer within" in text


def test_a_refused_order_exits_with_1(box, workspace, home, wire):
    wire.answers["/v1/orders"] = ("422 Unprocessable Entity", b'{"message": "no more credit"}')
    code, text = failure("place_order", "main", *WISH)
    assert (code, text) == (1, "FAILED: POST /v1/orders: 422 no more credit")


def test_an_uncertain_order_exits_with_3(box, workspace, home, wire):
    wire.after["POST /v1/orders"] = lost
    code, text = failure("place_order", "main", *WISH)
    assert code == 3
    assert text.startswith("UNCERTAIN: It is not known whether the order was placed.")


def test_an_order_is_cancelled(box, place):
    order = place()
    text = run("cancel_order", "main", order.platform_id, "--user", "AGENT-1")
    assert text == f"the platform was asked to cancel {order} {BY}; status: CANCELLED\n"
    assert box.workspace.orders[order.platform_id]["status"] == "CANCELLED"


@pytest.mark.parametrize("box", ["brief"], indirect=True)
def test_an_order_is_cancelled_where_the_platform_answers_with_nothing(box, place):
    order = place()
    text = run("cancel_order", "main", order.platform_id, "--user", "AGENT-1")
    assert text == f"the platform was asked to cancel {order} {BY}; status: not read yet\n"
    assert box.workspace.orders[order.platform_id]["status"] == "CANCELLED"


def test_an_order_is_rescheduled(box, place, drain_all):
    order = place()
    box.step()
    box.deliver()
    drain_all()
    words = ("--user", "AGENT-1", "--at", "2026-12-01T10:00:00+01:00", "--reason", "rain")
    printed = json.loads(run("reschedule_order", "main", order.platform_id, *words, "--json"))
    assert [one["status"] for one in printed["assignments"]] == ["RESCHEDULE_IN_PROCESS"]
    assert list(box.calls)[-1][2] == {
        "userId": "101",
        "reason": "rain",
        "proposedAt": "2026-12-01T09:00:00Z",
    }


@pytest.mark.parametrize(
    ("name", "more", "shown"),
    [
        ("cancel_order", ("--reason", "sold"), '/cancel {"userId": "101", "reason": "sold"}'),
        ("reschedule_order", (), '/reschedule {"userId": "101"}'),
    ],
)
def test_a_dry_run_of_a_change_reads_only(box, place, name, more, shown):
    order = place()
    before = mirror()
    box.calls.clear()
    words = ("main", order.platform_id, "--user", "AGENT-1", "--dry-run", *more)
    assert run(name, *words) == f"PUT /v1/orders/{order.platform_id}{shown}\n{BY}\n"
    assert calls(box) == []  # the user is known
    assert mirror() == before


@pytest.mark.parametrize(
    ("name", "words", "code", "message"),
    [
        ("cancel_order", ("999", "--user", "AGENT-1"), 2, "no order '999' is known in workspace"),
        ("cancel_order", ("ID", "--user", "NOBODY"), 2, "no user 'NOBODY' on the platform"),
        ("reschedule_order", ("ID", "--user", "AGENT-1"), 1, "The platform does not allow it as"),
        (
            *("reschedule_order", ("ID", "--user", "AGENT-1", "--at", "tomorrow"), 2),
            "--at is not a timestamp: 'tomorrow'",
        ),
        ("reschedule_order", ("ID", "--user", "AGENT-1", "--at", ""), 2, "--at is "),
        (
            *("reschedule_order", ("ID", "--user", "AGENT-1", "--assignment", "9"), 2),
            "order ID has no assignment '9'; there is: ",
        ),
    ],
)
def test_a_change_that_fails_is_one_clear_line(box, place, name, words, code, message):
    order = place()
    before = mirror()
    named = [order.platform_id if word == "ID" else word for word in words]
    returncode, text = failure(name, "main", *named)
    assert returncode == code
    assert text.startswith(message.replace("ID", order.platform_id))
    assert mirror() == before


def test_a_change_without_a_clear_answer_exits_with_3(box, place, wire):
    order = place()
    wire.after["/cancel"] = lost
    code, text = failure("cancel_order", "main", order.platform_id, "--user", "AGENT-1")
    assert code == 3
    assert text.startswith(f"It is not known whether order {order.platform_id} was changed")
    assert Assignment.objects.get().status == "CREATED"
