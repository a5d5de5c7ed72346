"""A confirmed placement is sent by a worker, at most once, wherever a process dies (I9)."""

import io
import json
import threading
import uuid
from contextlib import ExitStack
from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.models import User

from crm_sync import hooks
from crm_sync.models import Workspace
from crm_sync.platform import transport
from crm_sync.work import slots, turn
from orders.models import Order, Placement
from orders.placing import confirmation
from properties.push.queue import PROPERTIES
from sandbox.interface import catalogue
from tests import placing
from tests.conftest import PLATFORM
from tests.orders.conftest import calls, now
from tests.together import together
from tests.wsgi import WsgiAdapter

State = Placement.State
POSTED = ("POST", "/v1/orders")
ORDERS = "POST /v1/orders"


class Died(BaseException):
    """The process of the worker is killed at this very point."""


def die() -> None:
    raise Died


@pytest.fixture
def ready(workspace, home) -> Placement:
    """Return a placement that a person can review."""
    return prepared(workspace, "GROUND_PHOTO", "FLOOR_PLAN")


def prepared(workspace: Workspace, *products: str) -> Placement:
    made = placing.reviewable(
        workspace, reference="SEED-1", user="AGENT-1", products=products, now=now()
    )
    made.created_by = account()
    made.save(update_fields=["created_by"])
    return made


def account() -> User:
    return User.objects.get_or_create(username="agent")[0]


def confirm(row: Placement) -> bool:
    return placing.confirm(row, account=account(), now=now()) == 1


def take_back(row: Placement) -> int:
    return confirmation.take_back(Placement.objects.filter(pk=row.pk))


def drain(workspace: Workspace) -> dict[str, int]:
    return turn.take(hooks.queue("placements"), workspace.pk, seconds=20.0).counts


def drain_and_die(workspace: Workspace) -> None:
    """Let a worker die at the point that the test has prepared, and its lease end."""
    with pytest.raises(Died):
        drain(workspace)
    assert Placement.objects.get().lease_token is not None
    assert drain(workspace) == {}  # as long as the lease lasts nobody touches it
    ago = now() - timedelta(seconds=1)
    Placement.objects.update(lease_until=ago, due_at=ago)


def state(row: Placement) -> str:
    """Where the placement stands now; no worker has it."""
    row.refresh_from_db()
    assert (row.lease_token, row.lease_until) == (None, None)
    return row.state


def sent(box) -> int:
    """How often an order was sent to the platform."""
    return calls(box).count(POSTED)


# --- confirmed, once ---
def test_a_confirmed_placement_is_placed_by_a_worker(box, workspace, ready):
    assert confirm(ready)
    assert drain(workspace) == {"sent": 1}
    assert (state(ready), sent(box)) == (State.PLACED, 1)
    (order,) = box.workspace.orders.values()
    assert (ready.order.platform_id, ready.due_at) == (order["id"], None)
    assert (ready.confirmed_by, ready.problem) == (account(), "")


def test_confirming_rings_for_a_worker(workspace, ready, rings, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        confirm(ready)
    assert rings == [("placements", workspace.pk)]


@pytest.mark.rule("I9")
def test_what_nobody_has_confirmed_is_never_sent(box, workspace, ready, drain_all):
    drain_all()
    Placement.objects.update(attempts=0, problem="")
    assert drain(workspace) == {}
    assert (state(ready), sent(box)) == (State.READY, 0)


@pytest.mark.rule("I9")
def test_confirming_twice_orders_once(box, workspace, ready):
    assert [confirm(ready), confirm(ready)] == [True, False]
    drain(workspace)
    assert not confirm(ready)
    assert drain(workspace) == {}
    assert (state(ready), sent(box)) == (State.PLACED, 1)


def test_what_another_window_has_changed_is_not_confirmed(box, workspace, ready):
    Placement.objects.update(revision=ready.revision + 1)
    assert not placing.confirm(ready, revision=ready.revision, account=account(), now=now())
    assert drain(workspace) == {}
    assert (state(ready), sent(box)) == (State.READY, 0)


def test_what_is_taken_back_in_time_is_not_sent(box, workspace, ready):
    confirm(ready)
    assert take_back(ready)
    assert drain(workspace) == {}
    assert (state(ready), sent(box)) == (State.READY, 0)
    assert confirm(ready)
    drain(workspace)
    assert not take_back(ready)
    assert (state(ready), sent(box)) == (State.PLACED, 1)


def test_what_is_taken_back_while_a_worker_looks_at_it_is_not_sent(box, workspace, ready, wire):
    confirm(ready)
    wire.before["/instructions"] = lambda: take_back(ready)
    assert drain(workspace) == {"taken back": 1}
    assert (state(ready), sent(box)) == (State.READY, 0)
    assert (ready.confirmed_at, ready.due_at) == (None, None)


def test_what_is_changed_and_confirmed_anew_while_a_worker_looks_at_it_is_sent_as_changed(
    box, workspace, ready, wire
):
    def change() -> None:
        take_back(ready)
        wanted = [one for one in ready.products if one["product"] == "FLOOR_PLAN"]
        changed = {"products": wanted, "revision": ready.revision + 1}
        Placement.objects.update(**changed)
        confirm(ready)

    confirm(ready)
    wire.before["/instructions"] = change
    assert drain(workspace) == {"taken back": 1, "sent": 1}
    assert (state(ready), sent(box)) == (State.PLACED, 1)
    body = next(body for _, path, body, _ in box.calls if path == "/v1/orders")
    assert body["products"] == [{"id": "13", "quantity": 1}]


# --- a worker that dies ---
def test_a_worker_that_dies_before_it_sends_leaves_it_to_another(box, workspace, ready, wire):
    confirm(ready)
    wire.before["/products"] = die
    drain_and_die(workspace)
    assert drain(workspace) == {"sent": 1}
    assert (state(ready), sent(box)) == (State.PLACED, 1)
    assert len(box.workspace.orders) == 1


@pytest.mark.rule("I9")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_that_dies_while_it_sends_leaves_it_uncertain(
    box, workspace, ready, wire, drain_all, when
):
    confirm(ready)
    getattr(wire, when)[ORDERS] = die
    drain_and_die(workspace)
    assert Placement.objects.get().state == State.SENDING
    assert drain(workspace) == {"uncertain": 1}
    ordered = 1 if when == "after" else 0
    assert (state(ready), sent(box)) == (State.UNCERTAIN, ordered)
    assert ready.problem.endswith("The process that sent it never came back.")
    drain_all()
    assert not confirm(ready)
    assert (state(ready), sent(box)) == (State.UNCERTAIN, ordered)
    assert len(box.workspace.orders) == ordered


def test_what_a_dead_worker_has_ordered_is_settled_when_the_order_is_heard_of(
    box, workspace, ready, wire, drain_all
):
    confirm(ready)
    wire.after[ORDERS] = die
    drain_and_die(workspace)
    drain(workspace)
    (there,) = box.workspace.orders.values()
    box.advance(there["assignments"][0])
    box.deliver()
    drain_all()
    assert (state(ready), sent(box)) == (State.PLACED, 1)
    assert ready.order.platform_id == there["id"]


@pytest.mark.rule("I9")
def test_an_order_that_a_proxy_has_sent_twice_is_uncertain_and_never_free_to_order_again(
    box, workspace, ready, drain_all
):
    def twice(environ, start_response):
        if (environ["REQUEST_METHOD"], environ["PATH_INFO"]) == POSTED:
            content = environ["wsgi.input"].read()
            b"".join(box({**environ, "wsgi.input": io.BytesIO(content)}, lambda *_: None))
            environ["wsgi.input"] = io.BytesIO(content)
        return box(environ, start_response)

    transport.MOUNTS[PLATFORM] = WsgiAdapter(twice)
    confirm(ready)
    assert drain(workspace) == {"sent": 1}
    assert state(ready) == State.UNCERTAIN
    assert "409" in ready.problem
    (there,) = box.workspace.orders.values()
    box.advance(there["assignments"][0])
    box.deliver()
    drain_all()
    assert (state(ready), ready.order.platform_id) == (State.PLACED, there["id"])


def test_a_worker_that_lost_its_lease_sends_nothing(box, workspace, ready, wire):
    def take_over() -> None:
        until = now() + timedelta(seconds=60)
        Placement.objects.update(lease_token=uuid.uuid4(), lease_until=until, due_at=until)

    confirm(ready)
    wire.before["/instructions"] = take_over
    assert drain(workspace) == {"lost to another worker": 1}
    assert Placement.objects.get().state == State.CONFIRMED
    assert sent(box) == 0


def test_no_order_is_begun_with_less_lease_than_its_call_may_take(box, workspace, ready, settings):
    confirm(ready)
    settings.CALL_DEADLINE = 61.0
    assert drain(workspace) == {"put off": 1}
    assert (state(ready), sent(box)) == (State.CONFIRMED, 0)
    assert ready.due_at > now()


@pytest.mark.rule("I11")
def test_no_order_is_begun_in_a_pause_that_began_while_its_session_was_read(
    box, workspace, ready, wire
):
    confirm(ready)
    until = now() + timedelta(minutes=1)
    wire.before["/instructions"] = lambda: Workspace.objects.update(paused_until=until, pauses=1)
    assert drain(workspace) == {"put off": 1}
    assert (state(ready), sent(box), drain(workspace)) == (State.CONFIRMED, 0, {})
    workspace.refresh_from_db()
    assert (workspace.paused_until, workspace.pauses) == (until, 1)
    with time_machine.travel(until + timedelta(seconds=10), tick=True):
        assert drain(workspace) == {"sent": 1}
    assert (state(ready), sent(box)) == (State.PLACED, 1)


# --- sessions, prices, refusals ---
def expire(box) -> None:
    for session in box.workspace.sessions.values():
        session["expiresAt"] = (now() - timedelta(seconds=1)).isoformat()


@pytest.mark.parametrize("how", ["404", "410", "409"])
def test_a_session_that_is_gone_is_opened_anew_with_the_same_choices(
    box, workspace, ready, wire, how
):
    confirm(ready)
    before = ready.session_id
    if how == "404":
        box.workspace.sessions.clear()
    elif how == "410":
        expire(box)
    else:
        wire.answers[f"{before}/products"] = ("409 Conflict", b'{"message": "it is used"}')
    assert drain(workspace) == {"sent": 1}
    assert (state(ready), sent(box)) == (State.PLACED, 1)
    assert ready.session_id != before
    body = next(body for _, path, body, _ in box.calls if path == "/v1/orders")
    assert body == {
        "sessionId": ready.session_id,
        "products": [{"id": "11", "quantity": 1}, {"id": "13", "quantity": 1}],
        "instructions": {"billing": "21", "organization": "31", "delivery": "41"},
    }


def test_a_session_that_ends_at_the_last_moment_is_opened_anew_since_nothing_was_ordered(
    box, workspace, ready, wire
):
    confirm(ready)
    wire.before[ORDERS] = lambda: expire(box)
    assert drain(workspace) == {"put off": 1, "sent": 1}
    assert (state(ready), sent(box)) == (State.PLACED, 2)
    assert len(box.workspace.orders) == 1


def test_an_order_that_is_answered_with_404_in_a_new_session_too_has_failed(workspace, ready, wire):
    confirm(ready)
    Placement.objects.update(session_id="")
    wire.answers["/v1/orders"] = ("404 Not Found", b'{"message": "no such thing"}')
    assert drain(workspace) == {"failed": 1}
    assert state(ready) == State.FAILED
    assert ready.problem == "POST /v1/orders: 404 no such thing"


def listed(**amounts: float) -> tuple[str, bytes]:
    """Answer with products under other ids: those named, at these prices."""
    products = [
        {
            "id": f"9{one.id}",
            "product": one.product,
            "price": {"amount": amounts[one.product], "currency": "EUR"},
        }
        for one in catalogue.PRODUCTS
        if one.product in amounts
    ]
    return "200 OK", json.dumps({"products": products}).encode()


# The options under other ids.
OTHER_IDS = (
    "200 OK",
    json.dumps(
        {
            part: [{"id": f"9{key}", "label": label} for key, label in options]
            for part, options in catalogue.INSTRUCTIONS.items()
        }
    ).encode(),
)


def test_a_price_that_has_changed_since_the_review_is_shown_and_nothing_is_sent(
    box, workspace, ready, wire
):
    confirm(ready)
    seen = ready.revision
    wire.answers["/products"] = listed(GROUND_PHOTO=259, FLOOR_PLAN=89)
    wire.answers["/instructions"] = OTHER_IDS
    assert drain(workspace) == {"to be reviewed again": 1}
    assert (state(ready), sent(box)) == (State.READY, 0)
    assert (ready.confirmed_at, ready.due_at) == (None, None)
    assert ready.problem == (
        "Nothing was ordered yet: the price has changed."
        " GROUND_PHOTO: 259.00 EUR instead of 249.00 EUR."
    )
    assert not placing.confirm(ready, revision=seen, account=account(), now=now())
    assert confirm(ready)
    wire.answers["/v1/orders"] = ("201 Created", b'{"id": "7000"}')
    assert drain(workspace) == {"sent": 1}
    assert state(ready) == State.PLACED
    assert Order.objects.get().platform_id == "7000"
    assert ready.instructions == {"billing": "921", "organization": "931", "delivery": "941"}


def test_a_product_that_is_not_offered_any_more_is_named_and_nothing_is_sent(
    box, workspace, ready, wire
):
    confirm(ready)
    wire.answers["/products"] = listed(GROUND_PHOTO=249)
    wire.answers["/instructions"] = OTHER_IDS
    assert drain(workspace) == {"not possible": 1}
    assert (state(ready), sent(box)) == (State.FAILED, 0)
    assert ready.problem == "Not offered: FLOOR_PLAN"


def test_a_busy_platform_is_asked_again_later_since_nothing_was_ordered(
    box, workspace, ready, wire
):
    confirm(ready)
    wire.answers["/v1/orders"] = ("429 Too Many Requests", b"")
    assert drain(workspace) == {"put off": 1}
    assert state(ready) == State.CONFIRMED
    assert ready.due_at > now()
    assert ready.confirmed_at is not None
    assert "429" in ready.problem
    Workspace.objects.update(paused_until=None)
    Placement.objects.update(due_at=now())
    wire.answers.clear()
    assert drain(workspace) == {"sent": 1}
    assert state(ready) == State.PLACED
    assert len(box.workspace.orders) == 1


def test_an_order_is_sent_while_a_long_push_holds_all_calls_that_it_may(box, workspace, ready):
    confirm(ready)
    with ExitStack() as held:
        while held.enter_context(slots.hold(workspace, leave=PROPERTIES.leave)):
            pass
        assert drain(workspace) == {"sent": 1}
    assert state(ready) == State.PLACED


@pytest.mark.django_db(transaction=True)
def test_several_threads_send_each_of_many_placements_once(box, workspace, home):
    rows = [prepared(workspace, "GROUND_PHOTO") for _ in range(12)]
    assert all(confirm(row) for row in rows)
    assert sum(one.get("sent", 0) for one in together(lambda: drain(workspace))) == 12
    assert [state(row) for row in rows] == [State.PLACED] * 12
    assert (sent(box), len(box.workspace.orders)) == (12, 12)
    assert len({row.order_id for row in rows}) == 12


@pytest.mark.django_db(transaction=True)
def test_of_many_confirmations_at_one_moment_one_counts(ready):
    from django.db import connection

    done, start = [], threading.Barrier(4)

    def click() -> None:
        try:
            start.wait()
            done.append(placing.confirm(ready, account=ready.created_by, now=now()))
        finally:
            connection.close()

    threads = [threading.Thread(target=click) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [0, 0, 0, 1]


def offer(*products: tuple[str, str, str, int]) -> tuple[str, bytes]:
    found = [
        {"id": key, "product": kind, "name": name, "price": {"amount": amount, "currency": "EUR"}}
        for key, kind, name, amount in products
    ]
    return "200 OK", json.dumps({"products": found}).encode()


def test_of_two_products_of_one_kind_one_that_is_gone_is_named(box, workspace, home, wire):
    small, large = ("11", "GROUND_PHOTO", "10 photos", 249), ("12", "GROUND_PHOTO", "20", 399)
    wire.answers["/products"] = offer(small, large)
    row = prepared(workspace, "11", "12")
    confirm(row)
    wire.answers["/products"] = offer(small)
    assert drain(workspace) == {"not possible": 1}
    assert (state(row), sent(box)) == (Placement.State.FAILED, 0)
    assert row.problem == "Not offered: GROUND_PHOTO"


def test_another_product_under_the_id_of_the_confirmed_one_is_not_ordered(workspace, home, wire):
    wire.answers["/products"] = offer(
        ("11", "GROUND_PHOTO", "P", 89), ("13", "FLOOR_PLAN", "F", 89)
    )
    row = prepared(workspace, "GROUND_PHOTO")
    confirm(row)
    wire.answers["/products"] = offer(
        ("11", "FLOOR_PLAN", "F", 89), ("13", "GROUND_PHOTO", "P", 89)
    )
    wire.answers["/v1/orders"] = ("201 Created", b'{"id": "7000"}')
    drain(workspace)
    row.refresh_from_db()
    assert [(one["id"], one["product"]) for one in row.products] == [("13", "GROUND_PHOTO")]


@pytest.mark.rule("I9")
def test_another_option_under_the_id_of_the_confirmed_one_is_not_ordered(
    box, workspace, ready, wire
):
    confirm(ready)  # 21 is the invoice to the workspace
    box.workspace.sessions.clear()
    wire.answers["/instructions"] = options(billing={"21": SELLER, "22": US})
    wire.answers["/v1/orders"] = ("201 Created", b'{"id": "7000"}')
    drain(workspace)
    assert (state(ready), ready.instructions["billing"]) == (State.PLACED, "22")


@pytest.mark.rule("I9")
def test_an_option_whose_id_means_something_else_now_is_named_and_nothing_is_sent(
    box, workspace, ready, wire
):
    confirm(ready)
    wire.answers["/instructions"] = options(billing={"21": SELLER})
    assert drain(workspace) == {"not possible": 1}
    assert (state(ready), sent(box)) == (State.FAILED, 0)
    assert ready.problem == f"Not offered: Billing: {US}"


US, SELLER = (label for _, label in catalogue.INSTRUCTIONS["billing"])


def options(**others: dict[str, str]) -> tuple[str, bytes]:
    """Answer with the options of the catalogue, and others in the named parts."""
    parts = {part: dict(there) for part, there in catalogue.INSTRUCTIONS.items()} | others
    listed = {
        part: [{"id": key, "label": label} for key, label in there.items()]
        for part, there in parts.items()
    }
    return "200 OK", json.dumps(listed).encode()
