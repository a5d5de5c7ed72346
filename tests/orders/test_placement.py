"""An order is placed at most once, and every ending is shown (I9)."""

import re
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command
from django.urls import reverse

from crm_sync import hooks
from crm_sync.platform.errors import AuthError, TransientError
from crm_sync.work import turn
from orders.models import Assignment, Order, Placement
from orders.placing import settlement
from orders.placing.dispatch import place_now
from orders.placing.failures import NoSuchChoice
from orders.placing.session_offer import PARTS
from tests.crm_sync.admin_pages import client_of
from tests.orders.conftest import calls, lost, now, tell, timeline
from tests.placing import place_at_once

State = Placement.State
POSTED = ("POST", "/v1/orders")


def order_one(workspace, **wishes) -> Placement:
    standard = {"reference": "SEED-1", "user": "AGENT-1", "products": ["GROUND_PHOTO"]}
    instructions = {part: wishes.pop(part) for part in PARTS if part in wishes}
    return place_at_once(workspace, now=now(), instructions=instructions, **(standard | wishes))


@pytest.mark.rule(
    "1 placing", "3.1 start", "3.2 photo start", "4.3 GET products; POST instructions; POST orders"
)
def test_an_order_is_placed_and_mirrored(box, workspace, home):
    done = order_one(workspace)
    there = next(iter(box.workspace.orders.values()))
    assert (done.state, done.problem) == (State.PLACED, "")
    assert done.sent_at is not None
    order = Order.objects.get()
    assert done.order == order
    assert (order.platform_id, order.status) == (there["id"], "PLACED")
    assert (order.user_platform_id, order.property_platform_id) == ("101", "201")
    assert (order.object_reference_id, order.real_estate_property) == ("SEED-1", home)
    assert order.due_at > now()
    assert Assignment.objects.get().status == "CREATED"
    assert calls(box) == [
        ("GET", "/v1/users"),
        ("POST", "/v1/sessions"),
        # Read by the wish, and once more by the worker's step.
        *(
            ("GET", f"/v1/sessions/{done.session_id}/products"),
            ("POST", f"/v1/sessions/{done.session_id}/instructions"),
        )
        * 2,
        POSTED,
    ]


@pytest.mark.rule("4.3 POST sessions; POST instructions; POST orders")
def test_the_bodies_are_those_of_the_interface(box, workspace, home):
    done = order_one(workspace, products=["GROUND_PHOTO", "13", "GROUND_PHOTO"], delivery="42")
    bodies = {path: body for _, path, body, _ in box.calls if body}
    assert bodies["/v1/sessions"] == {"userId": "101", "realEstatePropertyId": "201"}
    assert bodies["/v1/orders"] == {
        "sessionId": done.session_id,
        "products": [{"id": "11", "quantity": 2}, {"id": "13", "quantity": 1}],
        "instructions": {"billing": "21", "organization": "31", "delivery": "42"},
    }


@pytest.mark.parametrize("user", ["101", "AGENT-1"])
def test_a_user_is_named_by_id_or_by_our_reference(box, workspace, home, user):
    done = order_one(workspace, user=user)
    assert (done.user_platform_id, done.user_reference_id) == ("101", "AGENT-1")


@pytest.mark.rule("4.3 POST sessions")
def test_a_property_that_is_not_pushed_yet_is_named_by_its_reference(box, workspace):
    done = order_one(workspace, reference="SEED-2")
    assert (done.real_estate_property, done.property_platform_id) == (None, "202")
    assert done.state == State.PLACED


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"user": "NOBODY"}, "no user 'NOBODY' on the platform; there is: AGENT-1, AGENT-2"),
        ({"user": ""}, "no user '' on the platform"),
        ({"reference": "NO-1"}, "no property 'NO-1' on the platform: import and push it first"),
        ({"products": ["NO_PHOTO"]}, "no product 'NO_PHOTO' in this session; there is: GROUND_P"),
        ({"products": []}, "name at least one product; there is: GROUND_PHOTO (11), DRONE_PHOT"),
        ({"billing": "99"}, "no billing instruction '99'; there is: 21 (Invoice to the worksp"),
        ({"organization": "21"}, "no organization instruction '21'; there is: 31 (Agent is on"),
        ({"delivery": ""}, "no delivery instruction ''; there is: 41 (Download), 42"),
    ],
)
def test_a_wrong_choice_is_named_and_orders_nothing(box, workspace, home, wishes, message):
    with pytest.raises(NoSuchChoice) as refusal:
        order_one(workspace, **wishes)
    assert str(refusal.value).startswith(message)
    assert POSTED not in calls(box)
    assert (box.workspace.orders, Placement.objects.count()) == ({}, 0)


def test_a_refused_order_failed_with_the_words_of_the_platform(box, workspace, home, wire):
    wire.answers["/v1/orders"] = ("422 Unprocessable Entity", b'{"message": "no more credit"}')
    done = order_one(workspace)
    assert (done.state, done.order) == (State.FAILED, None)
    assert done.problem == "POST /v1/orders: 422 no more credit"
    assert Order.objects.count() == 0


@pytest.mark.parametrize("status", ["429 Too Many Requests", "401 Unauthorized"])
def test_a_call_that_certainly_ordered_nothing_is_repeated_later(workspace, home, wire, status):
    wire.answers["/v1/orders"] = (status, b"")
    done = order_one(workspace)
    assert (done.state, done.sent_at, done.due_at > now()) == (State.CONFIRMED, None, True)
    workspace.refresh_from_db()
    assert workspace.is_paused(now())


@pytest.mark.rule("I9")
@pytest.mark.parametrize("fault", ["answer lost", "500", "no JSON", "no id"])
def test_an_unclear_outcome_is_uncertain_and_never_repeated(
    box, workspace, home, wire, drain_all, fault
):
    if fault == "answer lost":
        wire.after["POST /v1/orders"] = lost
    else:
        status = "500 Broken" if fault == "500" else "201 Created"
        wire.answers["/v1/orders"] = (status, b"<html>" if fault == "no JSON" else b"{}")
    done = order_one(workspace)
    assert (done.state, done.order) == (State.UNCERTAIN, None)
    assert done.problem.startswith("It is not known whether the order was placed.")
    place_now(done)
    drain_all()
    assert hooks.queue("placements").workspaces(now() + timedelta(hours=1)) == set()
    done.refresh_from_db()
    assert done.state == State.UNCERTAIN
    sent = [call for call in calls(box) if call == POSTED]
    assert len(sent) == (1 if fault == "answer lost" else 0)
    assert len(box.workspace.orders) == len(sent)


def test_an_uncertain_placement_is_settled_by_the_order_that_is_heard_of(
    box, workspace, home, wire, drain_all
):
    wire.after["POST /v1/orders"] = lost
    done = order_one(workspace)
    there = next(iter(box.workspace.orders.values()))
    box.advance(there["assignments"][0])
    box.deliver()
    drain_all()
    done.refresh_from_db()
    assert (done.state, done.problem) == (State.PLACED, "")
    assert done.order.platform_id == there["id"]


def lose_two(box, workspace, wire) -> list[Placement]:
    placements = []
    for _ in range(2):
        wire.after["POST /v1/orders"] = lost
        placements.append(order_one(workspace))
    return placements


def hear_of(workspace, *order_ids) -> None:
    for order_id in order_ids:
        tell(
            workspace,
            "ORDER_STATUS_UPDATED",
            occurredAt=now().isoformat(),
            orderId=order_id,
            previousStatus="PLACED",
            newStatus="PLACED",
        )
    turn.take(hooks.queue("orders"), workspace.pk, seconds=20.0)


def test_one_order_that_could_belong_to_two_placements_is_left_to_a_person(
    box, workspace, home, wire
):
    placements = lose_two(box, workspace, wire)
    hear_of(workspace, list(box.workspace.orders)[1])
    for done in placements:
        done.refresh_from_db()
    assert [done.state for done in placements] == [State.UNCERTAIN, State.UNCERTAIN]


def test_two_orders_that_could_be_the_one_are_left_to_a_person(box, workspace, home, wire):
    first, second = lose_two(box, workspace, wire)
    second.delete()
    hear_of(workspace, *box.workspace.orders)
    first.refresh_from_db()
    assert first.state == State.UNCERTAIN
    assert first.problem.endswith(f"It could be order {' or '.join(box.workspace.orders)}.")


@pytest.mark.parametrize("other", ["user", "property", "product", "earlier", "taken"])
def test_an_order_of_something_else_settles_nothing(box, workspace, home, wire, other):
    wire.after["POST /v1/orders"] = lost
    done = order_one(workspace)
    there = next(iter(box.workspace.orders.values()))
    if other == "user":
        there["userId"] = "102"
    elif other == "property":
        there["realEstatePropertyId"] = "202"
    elif other == "product":
        box.workspace.assignments[there["assignments"][0]]["products"] = ["FLOOR_PLAN"]
    elif other == "earlier":
        there["createdAt"] = (now() - timedelta(minutes=1)).isoformat()
    else:
        taken = Order.objects.create(workspace=workspace, platform_id=there["id"])
        Placement.objects.create(
            workspace=workspace,
            object_reference_id="SEED-1",
            user_platform_id="101",
            state=State.PLACED,
            order=taken,
        )
    hear_of(workspace, there["id"])
    done.refresh_from_db()
    assert (done.state, done.order) == (State.UNCERTAIN, None)


def test_a_callback_that_comes_before_the_answer_counts(box, workspace, home, wire, drain_all):
    def the_order_starts_at_once() -> None:
        box.step()
        box.deliver()
        turn.take(hooks.queue("received_events"), workspace.pk, seconds=20.0)
        # The answer to the POST shows the order as it was placed.
        next(iter(box.workspace.orders.values()))["status"] = "PLACED"

    wire.after["POST /v1/orders"] = the_order_starts_at_once
    done = order_one(workspace)
    assert done.state == State.PLACED
    assert done.order.status == "IN_PROGRESS"
    assert Assignment.objects.get().status == "PHOTOGRAPHER_ASSIGNED"
    assert ("ORDER_STATUS", "PLACED", "IN_PROGRESS") in timeline()


def test_a_session_that_cannot_be_prepared_orders_nothing(box, workspace, home, wire):
    wire.before["/instructions"] = lost
    with pytest.raises(TransientError):
        order_one(workspace)
    assert Placement.objects.count() == 0
    assert POSTED not in calls(box)


def test_a_workspace_without_credentials_says_so(workspace, home):
    type(workspace).objects.update(fixed_token="")
    workspace.refresh_from_db()
    with pytest.raises(AuthError, match="has no credentials"):
        order_one(workspace)
    assert Placement.objects.count() == 0


def test_an_order_that_belongs_to_another_placement_is_no_candidate(box, workspace, home, wire):
    wire.after["POST /v1/orders"] = lost
    first = order_one(workspace)
    second = order_one(workspace)  # the same again, and this time the answer came
    assert second.state == State.PLACED
    hear_of(workspace, *box.workspace.orders)
    first.refresh_from_db()
    assert first.state == State.PLACED
    assert [first.order.platform_id, second.order.platform_id] == list(box.workspace.orders)


@pytest.fixture
def uncertain(workspace, home, wire) -> Placement:
    """Return a placement whose answer was lost; the order is there, and nobody knows it."""
    wire.after["POST /v1/orders"] = lost
    return order_one(workspace)


def test_a_person_who_finds_no_order_settles_it_as_not_placed(uncertain):
    assert settlement.decide(uncertain, order_id=None, now=now())
    uncertain.refresh_from_db()
    assert (uncertain.state, uncertain.order) == (State.FAILED, None)
    assert not settlement.decide(uncertain, order_id=None, now=now())
    assert not settlement.decide(uncertain, order_id="late", now=now())
    assert not Order.objects.filter(platform_id="late").exists()


def test_a_person_who_finds_the_order_ties_it_and_it_is_read(box, uncertain, drain_all):
    (order_id,) = box.workspace.orders
    assert settlement.decide(uncertain, order_id=order_id, now=now())
    assert drain_all() == {"orders": {"read": 1}}
    uncertain.refresh_from_db()
    assert (uncertain.state, uncertain.problem) == (State.PLACED, "")
    assert (uncertain.order.platform_id, uncertain.order.status) == (order_id, "PLACED")


def test_an_order_that_has_a_placement_is_not_given_to_another(box, workspace, home, wire):
    first = order_one(workspace)
    wire.after["POST /v1/orders"] = lost
    second = order_one(workspace)
    assert not settlement.decide(second, order_id=first.order.platform_id, now=now())
    second.refresh_from_db()
    assert (second.state, second.order) == (State.UNCERTAIN, None)


def settle(order_id: str) -> list[str]:
    """Enter an order on the page of the one uncertain placement; return what the page says."""
    address = reverse("admin:orders_placement_settle", args=[Placement.objects.get().pk])
    answer = client_of(superuser=True).post(address, {"order": order_id}, follow=True)
    return [str(message) for message in answer.context["messages"]]


def left(placement: Placement) -> tuple[str, int]:
    """Return the state of a placement, and how many orders there are."""
    placement.refresh_from_db()
    return placement.state, Order.objects.count()


@pytest.mark.rule("I9")
def test_an_order_that_the_platform_does_not_have_settles_nothing(uncertain):
    for typed in ("abc", "a/b"):
        why = f"the platform has no order '{typed}': look up its id there, or say that it was not"
        assert settle(typed) == [f"Nothing was settled: {why} placed."]
        assert left(uncertain) == (State.UNCERTAIN, 0)


@pytest.mark.rule("I9")
@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({"realEstatePropertyId": "202", "objectReferenceId": "SEED-2"}, "SEED-2"),
        ({"realEstatePropertyId": "202", "objectReferenceId": None}, "202"),
        ({"realEstatePropertyId": None, "objectReferenceId": "SEED-2"}, "SEED-2"),
    ],
)
def test_an_order_of_another_property_settles_nothing_and_is_named(box, uncertain, columns, name):
    (there,) = box.workspace.orders.values()
    there.update(columns)
    (said,) = settle(there["id"])
    what = f"order {there['id']} is one of property {name}, not of SEED-1"
    assert said.startswith(f"Nothing was settled: {what}: look on the platform")
    assert left(uncertain) == (State.UNCERTAIN, 0)


@pytest.mark.rule("I9")
def test_an_order_settles_nothing_while_the_platform_does_not_answer(box, uncertain, wire):
    (order_id,) = box.workspace.orders
    wire.before[f"GET /v1/orders/{order_id}"] = lost
    why = "The platform did not answer in time. Try again in a moment."
    text = f"Order {order_id} could not be looked up, so nothing was settled. {why}"
    assert settle(order_id) == [text]
    assert left(uncertain) == (State.UNCERTAIN, 0)
    assert settle(order_id) == [f"Settled: it became order {order_id}."]


def test_an_order_that_names_no_property_becomes_one_of_the_placement(box, uncertain, home):
    (there,) = box.workspace.orders.values()
    there.update({"realEstatePropertyId": None, "objectReferenceId": None})
    assert settle(there["id"]) == [f"Settled: it became order {there['id']}."]
    assert Order.objects.get().real_estate_property == home


def test_the_command_reads_the_order_before_it_settles(box, uncertain, wire):
    (order_id,) = box.workspace.orders
    words = ("main", str(uncertain.pk), "--order")
    for more in ((), ("--dry-run",)):
        with pytest.raises(CommandError, match="the platform has no order 'abc'") as caught:
            call_command("settle_placement", *words, "abc", *more)
        assert caught.value.returncode == 2
    wire.before[f"GET /v1/orders/{order_id}"] = lost
    with pytest.raises(CommandError, match="did not answer in time") as caught:
        call_command("settle_placement", *words, order_id)
    assert caught.value.returncode == 1
    assert left(uncertain) == (State.UNCERTAIN, 0)
    call_command("settle_placement", *words, order_id)
    assert left(uncertain) == (State.PLACED, 1)


def test_the_command_settles_and_says_why_it_cannot(uncertain, capsys):
    number = str(uncertain.pk)
    call_command("settle_placement", "main", number, "--not-placed", "--dry-run")
    uncertain.refresh_from_db()
    assert uncertain.state == State.UNCERTAIN
    call_command("settle_placement", "main", number, "--not-placed")
    assert capsys.readouterr().out.splitlines()[-1].endswith("settled: not placed")
    with pytest.raises(CommandError) as caught:
        call_command("settle_placement", "main", number, "--not-placed")
    assert caught.value.returncode == 1
    with pytest.raises(CommandError) as caught:
        call_command("settle_placement", "main", "999", "--not-placed")
    assert caught.value.returncode == 2


@pytest.mark.rule("I9")
def test_not_placed_settles_only_what_the_page_has_named(admin_client, workspace, home, wire):
    wire.after["POST /v1/orders"] = lost
    looked_for = order_one(workspace)
    wire.after["POST /v1/orders"] = lost
    being_sent = order_one(workspace)
    rows = Placement.objects.filter(pk=being_sent.pk)
    rows.update(state=State.SENDING, due_at=now())  # a worker is at it while the page is read
    address = reverse("admin:orders_placement_changelist")
    chosen = {"action": "not_placed", "_selected_action": [looked_for.pk, being_sent.pk]}
    page = admin_client.post(address, chosen | {"select_across": "1"})
    assert page.context["text"].count("SEED-1") == 1
    posted = re.findall(r'<input type="hidden" name="(\w+)" value="(\w+)">', page.text)
    rows.update(state=State.UNCERTAIN, due_at=None)  # its answer was lost meanwhile
    admin_client.post(address, dict(posted) | {"confirmed": "1"})
    looked_for.refresh_from_db()
    being_sent.refresh_from_db()
    assert (looked_for.state, being_sent.state) == (State.FAILED, State.UNCERTAIN)


def test_the_admin_settles_by_post_and_not_for_viewers(admin_client, client, uncertain):
    address = reverse("admin:orders_placement_changelist")
    chosen = {"action": "not_placed", "_selected_action": str(uncertain.pk)}
    admin_client.get(address, chosen)
    uncertain.refresh_from_db()
    assert uncertain.state == State.UNCERTAIN
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_placement"))
    uncertain.workspace.people.add(viewer)
    client.force_login(viewer)
    client.post(address, chosen)
    uncertain.refresh_from_db()
    assert uncertain.state == State.UNCERTAIN
    page = admin_client.post(address, chosen)
    assert page.context["title"] == "It was not placed"
    assert "You found no order on the platform for: SEED-1." in page.text
    assert 'name="password"' not in page.text
    uncertain.refresh_from_db()
    assert (uncertain.state, LogEntry.objects.count()) == (State.UNCERTAIN, 0)
    posted = dict(re.findall(r'<input type="hidden" name="(\w+)" value="(\w+)">', page.text))
    assert posted.items() >= chosen.items()
    admin_client.post(address, posted | {"confirmed": "1"})
    uncertain.refresh_from_db()
    assert uncertain.state == State.FAILED
    answer = admin_client.post(address, chosen, follow=True)
    assert "Nothing here is uncertain." in answer.text
