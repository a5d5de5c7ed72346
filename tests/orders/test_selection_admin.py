"""Orders for many properties at once: one set of choices, a review of all, a placement each."""

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.timezone import now

from crm_sync import hooks
from crm_sync.models import Workspace
from orders.models import Order, Placement, PlatformUser
from orders.placing import selection
from properties.models import Property
from tests.conftest import PLATFORM
from tests.crm_sync.admin_pages import client_of, make_workspace
from tests.orders.admin_rows import make_assignment, make_order
from tests.orders.conftest import calls, lost
from tests.orders.placing_agent import PROPERTIES, Agent, drain, sent
from tests.platforms import Between
from tests.properties.form_page import force, make
from tests.together import crossing

State = Placement.State
ONE_EACH = {"quantity-11": "1", "quantity-13": "1"}


@pytest.fixture
def homes(workspace, home, drain_all) -> list[Property]:
    """Return four properties; the last one is not on the platform yet."""
    rows = [home, *(make(workspace, f"H-{n}", title=f"Flat {n}") for n in range(2))]
    drain_all()
    return [*rows, force(make(workspace, "H-2", title="New"), due_at=None)]


def choose(agent: Agent, rows: list[Property]) -> str:
    """Choose *Order for these…* in the list; return where that leads."""
    chosen = {"action": "order", "_selected_action": [str(row.pk) for row in rows]}
    return agent.client.post(PROPERTIES, chosen)["Location"]


def group_page(agent: Agent, rows: list[Property]) -> str:
    return agent.review(choose(agent, rows), **ONE_EACH)


def place(agent: Agent, page: str, **more: str):
    return agent.client.post(page, agent.shown(page) | {"step": "place"} | more)


def states() -> dict[str, str]:
    return dict(Placement.objects.values_list("object_reference_id", "state"))


def test_each_chosen_property_gets_its_order_after_one_review(box, workspace, homes, agent):
    page = group_page(agent, homes[:3])
    assert states() == {"H-0": "READY", "H-1": "PREPARING", "SEED-1": "PREPARING"}
    text = agent.text(page)
    assert "A worker opens a session for each" in text
    assert "Place 1 order" not in text  # not while the number still grows under the mouse
    assert drain(workspace) == {"prepared": 2}
    assert set(states().values()) == {"READY"}
    text = agent.text(page)
    assert "Place 3 orders for 1,014.00 EUR" in text
    assert text.count("338.00 EUR") == 3
    assert sent(box) == 0
    assert place(agent, page)["Location"] == page
    assert drain(workspace) == {"sent": 3}
    assert set(states().values()) == {"PLACED"}
    there = {one["objectReferenceId"]: one for one in box.workspace.orders.values()}
    assert sorted(there) == ["H-0", "H-1", "SEED-1"]
    assert {one["userId"] for one in there.values()} == {"101"}
    text = agent.text(page)
    for order in Order.objects.all():
        assert f"Order {order.platform_id}" in text
    assert "This is what came of them." in text
    assert "Sum of what was ordered 1,014.00 EUR" in text


@pytest.mark.rule("I9")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_selection_first", [True, False])
def test_of_two_people_who_order_the_same_at_one_moment_the_later_one_is_warned(
    box, workspace, homes, agent, is_selection_first
):
    other = Agent(
        client_of(
            *("properties.view_property", "properties.change_property", "orders.view_order"),
            *("orders.view_placement", "orders.add_placement", "orders.change_placement"),
        )
    )
    PlatformUser.objects.filter(platform_id="102").update(account=User.objects.last())
    page = group_page(agent, homes[:2])
    drain(workspace)
    review = other.review(other.order(homes[0]), **ONE_EACH)
    shown = other.shown(review)
    meet = [lambda: place(agent, page), lambda: other.place_as(review, shown)]
    crossing(*(meet if is_selection_first else meet[::-1]), at='UPDATE "orders_placement"')
    confirmed = Placement.objects.filter(state=State.CONFIRMED, object_reference_id="SEED-1")
    assert [one.group is not None for one in confirmed] == [is_selection_first]
    warning = "SEED-1 has an order on its way with the same product"
    assert warning in (other.text(review) if is_selection_first else agent.text(page))


def sums(agent: Agent, page: str) -> list[str]:
    return re.findall(r"Sum of what ([a-z ]+ [\d.,]+ EUR)", agent.text(page))


def test_only_what_was_placed_counts_as_ordered(workspace, homes, agent, wire):
    page = group_page(agent, homes[:3])
    drain(workspace)
    assert sums(agent, page) == ["is to be placed 1,014.00 EUR"]
    place(agent, page)
    assert sums(agent, page) == ["is being placed 1,014.00 EUR"]
    wire.after["POST /v1/orders"] = lost
    drain(workspace)
    assert sorted(states().values()) == ["PLACED", "PLACED", "UNCERTAIN"]
    assert sums(agent, page) == ["was ordered 676.00 EUR", "is uncertain 338.00 EUR"]
    Placement.objects.filter(state=State.UNCERTAIN).update(state=State.FAILED)
    assert sums(agent, page) == ["was ordered 676.00 EUR"]


def test_one_chosen_property_is_ordered_for_like_from_its_page(homes, agent):
    assert choose(agent, homes[:1]) == reverse(
        "admin:orders_placement_choose", args=[Placement.objects.get().pk]
    )
    assert Placement.objects.get().group is None


def test_nothing_is_sent_before_the_review_is_confirmed(box, workspace, homes, agent, drain_all):
    page = group_page(agent, homes[:3])
    agent.client.get(page)
    drain_all()
    assert agent.client.post(page, {"step": "place", "seen": "x"})["Location"] == page
    drain_all()
    assert (sent(box), set(states().values())) == (0, {"READY"})


def test_two_clicks_place_each_order_once(box, workspace, homes, agent):
    page = group_page(agent, homes[:3])
    drain(workspace)
    html = agent.client.get(page).content.decode()
    seen = re.search(r'name="seen" value="(\w+)"', html).group(1)
    for _ in range(2):
        agent.client.post(page, {"step": "place", "seen": seen})
    drain(workspace)
    agent.client.post(page, {"step": "place", "seen": seen})
    assert drain(workspace) == {}
    assert (sent(box), len(box.workspace.orders)) == (3, 3)


def test_a_window_with_an_older_review_places_nothing(box, workspace, homes, agent):
    page = group_page(agent, homes[:3])
    drain(workspace)
    html = agent.client.get(page).content.decode()
    seen = re.search(r'name="seen" value="(\w+)"', html).group(1)
    lead = Placement.objects.order_by("pk")[0]
    other = reverse("admin:orders_placement_choose", args=[lead.pk])
    agent.review(other, **{"quantity-11": "3"})
    drain(workspace)
    answer = agent.client.post(page, {"step": "place", "seen": seen}, follow=True)
    assert "It is not as you have seen it any more" in answer.content.decode()
    assert drain(workspace) == {}
    assert (sent(box), set(states().values())) == (0, {"READY"})
    quantities = [[one["quantity"] for one in row.products] for row in Placement.objects.all()]
    assert quantities == [[3, 1]] * 3


def test_a_property_that_is_new_is_pushed_first_and_joins_the_review(
    workspace, homes, agent, drain_all
):
    page = group_page(agent, [homes[1], homes[3]])
    assert drain(workspace) == {"waits for its push": 1}
    assert "It is not on the platform yet, and is sent there first." in agent.text(page)
    assert Property.objects.get(pk=homes[3].pk).due_at is not None
    drain_all()
    Placement.objects.filter(due_at__isnull=False).update(due_at=now())
    assert drain(workspace) == {"prepared": 1}
    assert "Place 2 orders for 676.00 EUR" in agent.text(page)


def test_a_property_that_cannot_be_ordered_for_says_why_and_holds_up_no_other(
    box, workspace, homes, agent
):
    refused = {"REFUSED": {"title": "is too long"}}
    force(homes[3], problem=refused)
    page = group_page(agent, [homes[1], homes[2], homes[3]])
    assert drain(workspace) == {"prepared": 1, "not possible": 1}
    text = agent.text(page)
    assert "H-2 is not on the platform: title: is too long" in text
    assert "Place 2 orders for 676.00 EUR" in text
    place(agent, page)
    drain(workspace)
    assert states() == {"H-0": "PLACED", "H-1": "PLACED", "H-2": "DRAFT"}


def test_what_has_an_open_order_is_named_and_left_out_with_one_click(box, workspace, homes, agent):
    order = make_order(workspace, "5000", real_estate_property=homes[2])
    make_assignment(order, products=["FLOOR_PLAN"])
    page = group_page(agent, homes[:3])
    drain(workspace)
    text = agent.text(page)
    assert "1 of them has an open order with the same product." in text
    assert "H-1 has an open order with the same product: order 5000 (Floor plan)" in text
    agent.client.post(page, {"leave_out": "warned"})
    assert sorted(states()) == ["H-0", "SEED-1"]
    assert "open order" not in agent.text(page)


def test_what_somebody_else_orders_after_the_review_is_named_before_any_is_placed(
    box, workspace, homes, agent
):
    page = group_page(agent, homes[:3])
    drain(workspace)
    shown = agent.shown(page)
    order = make_order(workspace, "5000", real_estate_property=homes[2])
    make_assignment(order, products=["FLOOR_PLAN"])
    answer = agent.client.post(page, shown | {"step": "place"}, follow=True)
    assert "It is not as you have seen it any more" in answer.content.decode()
    assert set(states().values()) == {"READY"}
    assert "H-1 has an open order with the same product: order 5000" in agent.text(page)
    place(agent, page)
    assert drain(workspace) == {"sent": 3}


def test_one_property_is_left_out_and_the_others_stay(homes, agent, workspace):
    page = group_page(agent, homes[:3])
    drain(workspace)
    lead = Placement.objects.order_by("pk")[0]
    agent.client.post(page, {"leave_out": str(lead.pk)})
    assert len(states()) == 2
    assert "Place 2 orders" in agent.text(page)
    for row in Placement.objects.all():
        last = agent.client.post(page, {"leave_out": str(row.pk)})
    assert last["Location"] == PROPERTIES


def test_what_another_window_changes_while_one_is_left_out_stays(box, homes, agent):
    between = Between(box, PLATFORM)
    choose(agent, homes[:3])
    lead, following, _ = Placement.objects.order_by("pk")

    def change_it(environ):
        if environ["PATH_INFO"] == "/v1/sessions":
            Placement.objects.filter(pk=following.pk).update(revision=9, problem="changed")

    between.before = change_it
    page = reverse("admin:orders_placement_group", args=[lead.group])
    assert agent.client.post(page, {"leave_out": str(lead.pk)}).status_code == 302
    following.refresh_from_db()
    assert (following.revision, following.problem) == (9, "changed")


def test_a_window_whose_property_another_one_leaves_out_meanwhile_finds_it_gone(box, homes, agent):
    between = Between(box, PLATFORM)
    page = choose(agent, homes[:2])
    lead = Placement.objects.order_by("pk")[0]
    form = agent.client.get(page, follow=True).context["form"]
    typed = {name: form[name].value() or "" for name in form.fields} | ONE_EACH

    def leave_it_out(environ):
        selection.leave_out(lead.group, [lead.pk])

    between.before = leave_it_out
    choices = reverse("admin:orders_placement_choose", args=[lead.pk])
    assert agent.client.post(choices, typed | {"step": "choose"}).status_code == 404
    assert sent(box) == 0


def test_a_second_click_places_nothing_more_and_does_not_ask_for_another_look(
    box, workspace, homes, agent
):
    page = group_page(agent, homes[:3])
    drain(workspace)
    clicked = agent.shown(page) | {"step": "place"}
    for _ in range(2):
        agent.client.post(page, clicked)
    text = agent.text(page)
    assert ("Being placed 3" in text, "look at it again" in text) == (True, False)
    drain(workspace)
    assert sent(box) == 3


def test_what_waits_is_taken_back_together(box, workspace, homes, agent):
    page = group_page(agent, homes[:3])
    drain(workspace)
    place(agent, page)
    assert "Being placed 3" in agent.text(page)
    agent.client.post(page, {"step": "take_back"})
    assert drain(workspace) == {}
    assert (sent(box), set(states().values())) == (0, {"READY"})


def test_who_comes_back_goes_on_with_the_choices_or_the_review(workspace, homes, agent):
    first = choose(agent, homes[:3])
    lead = Placement.objects.order_by("pk")[0]
    page = reverse("admin:orders_placement_group", args=[lead.group])
    assert agent.client.get(page)["Location"] == first
    agent.review(first, **ONE_EACH)
    assert agent.client.get(page).status_code == 200
    for row in Placement.objects.all():
        shown = agent.client.get(reverse("admin:orders_placement_change", args=[row.pk]))
        assert shown.context["go_on"] == page
        choice = reverse("admin:orders_placement_choose", args=[row.pk])
        is_lead = row.pk == lead.pk
        assert (agent.client.get(choice).status_code == 200) == is_lead


def test_properties_of_two_workspaces_and_too_many_are_refused(
    homes, agent, monkeypatch, workspace
):
    other = make(make_workspace("other"), "X-1")
    for rows, limit, said in (
        ([homes[0], other], 1000, "Choose properties of one workspace"),
        (homes[:3], 2, "Choose at most 2 properties at once, not 3."),
    ):
        monkeypatch.setattr(selection, "MOST", limit)
        chosen = {"action": "order", "_selected_action": [str(row.pk) for row in rows]}
        answer = agent.client.post(PROPERTIES, chosen, follow=True)
        assert said in answer.content.decode()
    assert Placement.objects.count() == 0


def test_others_look_and_do_not_touch(box, workspace, homes, agent):
    page = group_page(agent, homes[:3])
    drain(workspace)
    before = list(Placement.objects.order_by("pk").values())
    other = client_of("orders.view_placement", "orders.add_placement")
    assert "Place 3 orders" not in other.get(page).content.decode()
    for posted in ({"step": "place"}, {"step": "take_back"}, {"leave_out": "warned"}):
        assert other.post(page, posted).status_code == 403
    box.calls.clear()
    agent.client.get(page, {"step": "place"})
    agent.client.get(f"{page}live/")
    assert (calls(box), list(Placement.objects.order_by("pk").values())) == ([], before)


def many(workspace: Workspace, agent: Agent, count: int, prefix: str) -> str:
    """Return the page of a review of many placements; a worker has prepared them all."""
    Property.objects.bulk_create(
        Property(
            workspace=workspace, object_reference_id=f"{prefix}{n:03}", platform_id=f"{prefix}{n}"
        )
        for n in range(count)
    )
    rows = Property.objects.filter(object_reference_id__startswith=prefix)
    account = User.objects.get(username=agent.username)
    with CaptureQueriesContext(connection) as captured:
        lead = selection.begin(rows, account=account, now=now())
    assert len(captured) < 30
    for row in rows.order_by("object_reference_id")[::50]:
        order = make_order(workspace, f"o{row.platform_id}", real_estate_property=row)
        make_assignment(order, platform_id=f"a{row.platform_id}")
    photo = [{"id": "11", "product": "GROUND_PHOTO", "quantity": 1}]
    Placement.objects.filter(group=lead.group).update(state=State.READY, products=photo)
    return reverse("admin:orders_placement_group", args=[lead.group])


def test_five_hundred_placements_take_as_many_queries_as_fifty(workspace, homes, agent):
    def queries(page: str) -> int:
        agent.client.get(page)
        with CaptureQueriesContext(connection) as captured:
            agent.client.get(page)
        return len(captured)

    page = many(workspace, agent, 500, "M-")
    assert queries(page) == queries(many(workspace, agent, 51, "F-"))
    html = agent.client.get(page).content.decode()
    assert html.count("<tr data-key=") == 50
    assert "10 of them have an open order with the same product." in html
    assert "Place 500 orders" in html
    last = agent.client.get(f"{page}?page=10").content.decode()
    assert "M-499" in last
    with CaptureQueriesContext(connection) as captured:
        place(agent, page)
    assert len(captured) < 60
    confirmed = Placement.objects.filter(confirmed_at__isnull=False, due_at__isnull=False)
    assert confirmed.count() == 500
    assert hooks.queue("placements").workspaces(now()) == {workspace.pk}
