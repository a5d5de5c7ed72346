"""An order from the admin: chosen step by step, reviewed, confirmed, and placed by a worker."""

import dataclasses
import json

import pytest
from django.contrib.auth.models import Permission, User
from django.urls import reverse

from orders.models import Order, Placement, PlatformUser
from properties.domain.editing import create
from properties.models import Property
from sandbox.interface import catalogue
from tests.conftest import PLATFORM
from tests.crm_sync.admin_pages import client_of
from tests.orders.admin_rows import make_assignment, make_order
from tests.orders.conftest import calls, lost, now
from tests.orders.placing_agent import PHOTO_AND_PLAN, drain, only, sent
from tests.platforms import Between
from tests.problems import noted
from tests.properties.form_page import force

State = Placement.State


# --- the usual order ---
def test_an_order_is_chosen_reviewed_and_placed(box, workspace, home, agent):
    choose = agent.order(home)
    page = agent.text(choose)
    for part in ("Order for SEED-1", "Ground photos", "249.00 EUR", "Invoice to the workspace"):
        assert part in page
    review = agent.review(choose, **PHOTO_AND_PLAN, delivery="42")
    page = agent.text(review)
    for part in (
        *("Ground photos 249.00 EUR 2 498.00 EUR", "Floor plan 89.00 EUR 1 89.00 EUR"),
        *("Sum 587.00 EUR", "Place this order for 587.00 EUR", "Download and e-mail", "AGENT-1"),
    ):
        assert part in page
    assert sent(box) == 0
    done = agent.place(review)
    assert (only().state, sent(box)) == (State.CONFIRMED, 0)
    assert "A worker places it now" in agent.text(done)
    assert drain(workspace) == {"sent": 1}
    order = Order.objects.get()
    page = agent.text(reverse("admin:orders_order_change", args=[order.pk]))
    assert "Ground photos 249.00 EUR 2 498.00 EUR Floor plan 89.00 EUR 1 89.00 EUR" in page
    assert "Sum 587.00 EUR" in page
    assert "Price 587.00 EUR" in page
    page = agent.client.get(done).content.decode()
    assert f'href="{reverse("admin:orders_order_change", args=[order.pk])}"' in page
    assert (only().state, sent(box)) == (State.PLACED, 1)
    assert only().confirmed_by == only().created_by == User.objects.get()


def test_the_bodies_of_the_review_are_those_that_go_out(box, workspace, home, agent):
    review = agent.review(agent.order(home), **PHOTO_AND_PLAN)
    shown = {call: json.loads(body) for call, body in agent.client.get(review).context["calls"]}
    agent.place(review)
    drain(workspace)
    gone_out = {f"{method} {path}": body for method, path, body, _ in box.calls if body}
    assert shown == {call: gone_out[call] for call in shown}
    assert set(shown) == {"POST /v1/sessions", "POST /v1/orders"}


def test_the_form_begins_empty_and_takes_what_was_ordered_last_time_on_request(
    box, workspace, home, agent
):
    agent.place(agent.review(agent.order(home), **PHOTO_AND_PLAN, organization="32"))
    drain(workspace)
    other = Property.objects.create(
        workspace=workspace, object_reference_id="SEED-2", platform_id="202"
    )
    agent.clicks = 0
    choose = agent.order(other)
    form = agent.client.get(choose).context["form"]
    assert {form[name].value() for name in form.fields if name.startswith("quantity")} == {0}
    assert form["organization"].value() == "31"  # the platform's first option
    assert "As last time Ground photo (2), Floor plan" in agent.text(choose)
    assert agent.last_time(choose) == choose
    form = agent.client.get(choose).context["form"]
    assert [form[f"quantity-{n}"].value() for n in (11, 12, 13)] == [2, 0, 1]
    assert "Sum 587.00 EUR" in agent.text(choose)
    agent.place(agent.review(choose))
    assert agent.clicks == 4
    drain(workspace)
    first, second = Placement.objects.order_by("pk")
    assert second.state == State.PLACED
    same = ("user_platform_id", "products", "instructions")
    assert [getattr(second, name) for name in same] == [getattr(first, name) for name in same]
    assert second.session_id != first.session_id


def test_no_look_at_a_page_asks_the_platform_or_changes_anything(box, workspace, home, agent):
    choose = agent.order(home)
    review = agent.review(choose, **PHOTO_AND_PLAN)
    row = only()
    pages = [
        *(choose, review),
        *(
            reverse(f"admin:orders_placement_{name}", args=[row.pk])
            for name in ("change", "progress", "take_back", "settle")
        ),
        reverse("admin:orders_placement_begin"),
    ]
    before = Placement.objects.values().get()
    box.calls.clear()
    for page in pages:
        agent.client.get(page)
        agent.client.get(f"{page}?step=place&revision={row.revision}&step=load")
    assert (list(box.calls), Placement.objects.values().get()) == ([], before)


# --- from the list of orders ---
def test_an_order_begins_in_the_list_of_orders_with_the_choice_of_a_property(home, agent):
    for name in ("order", "placement"):
        page = agent.client.get(reverse(f"admin:orders_{name}_changelist")).content.decode()
        assert "Order…" in page
    start = reverse("admin:orders_placement_start")
    assert "Order for which property?" in agent.text(start)
    assert "Choose a property." in agent.client.post(start, {}).content.decode()
    answer = agent.client.post(start, {"property": str(home.pk)})
    assert answer["Location"] == reverse("admin:orders_placement_choose", args=[only().pk])
    assert only().real_estate_property == home


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("flat 1", ["A-1, Flat 1, Bern, main"]),
        ("BERN", ["A-0, Flat 0, Bern, main", "A-1, Flat 1, Bern, main"]),
        ("seed", ["SEED-1, main"]),
        ("nothing", []),
        ("", ["A-0, Flat 0, Bern, main", "A-1, Flat 1, Bern, main", "SEED-1, main"]),
    ],
)
def test_properties_are_searched_by_reference_title_and_place(workspace, home, agent, term, found):
    for number in range(2):
        document = {"title": f"Flat {number}", "address": {"locality": "Bern"}}
        create(workspace, f"A-{number}", document, origin="ADMIN", now=now())
    answer = agent.client.get(reverse("admin:orders_placement_search"), {"term": term}).json()
    assert [one["text"] for one in answer["results"]] == found
    assert answer["pagination"] == {"more": False}


def test_a_search_that_finds_many_answers_page_by_page(workspace, home, agent):
    Property.objects.bulk_create(
        Property(workspace=workspace, object_reference_id=f"P-{n:03}") for n in range(45)
    )
    address = reverse("admin:orders_placement_search")
    pages = [agent.client.get(address, {"term": "P-", "page": n}).json() for n in (1, 2, 3)]
    assert [len(page["results"]) for page in pages] == [20, 20, 5]
    assert [page["pagination"]["more"] for page in pages] == [True, True, False]
    assert client_of("orders.add_placement").get(address).status_code == 403


# --- at most once ---
def test_two_clicks_on_place_order_once(box, workspace, home, agent):
    review = agent.review(agent.order(home), **PHOTO_AND_PLAN)
    posted = {"step": "place", "revision": str(only().revision)}
    answers = [agent.client.post(review, posted) for _ in range(2)]
    assert len({answer["Location"] for answer in answers}) == 1
    drain(workspace)
    agent.client.post(review, posted)
    assert drain(workspace) == {}
    assert (only().state, sent(box), len(box.workspace.orders)) == (State.PLACED, 1, 1)


def test_a_window_with_an_older_review_places_nothing(box, workspace, home, agent):
    choose = agent.order(home)
    review = agent.review(choose, **PHOTO_AND_PLAN)
    older = {"step": "place", "revision": str(only().revision)}
    agent.review(choose, **{"quantity-11": "0", "quantity-13": "1"})
    answer = agent.client.post(review, older, follow=True)
    assert "It is not as you have seen it any more: look at it again." in answer.content.decode()
    assert drain(workspace) == {}
    assert (only().state, only().confirmed_at, sent(box)) == (State.READY, None, 0)


HUGE = ["9" * 5_000, "9" * 18, "²", "-1", "1.0", ""]


@pytest.mark.parametrize("number", HUGE)
def test_a_number_that_no_row_has_places_nothing_and_breaks_no_page(workspace, home, agent, number):
    choose = agent.order(home)
    review = agent.review(choose, **PHOTO_AND_PLAN)
    agent.client.post(review, {"step": "place", "revision": number})
    assert (drain(workspace), only().confirmed_at) == ({}, None)
    chosen = {"step": "choose", "user": "101", "revision": number}
    assert agent.client.post(choose, chosen).status_code in (200, 302)
    begin, start = reverse("admin:orders_placement_begin"), reverse("admin:orders_placement_start")
    assert agent.client.post(begin, {"property": number}).status_code in (302, 404)
    assert agent.client.post(start, {"property": number}).status_code == 200
    search = reverse("admin:orders_placement_search")
    assert agent.client.get(search, {"term": "SEED", "page": number}).status_code == 200
    sent_messages = reverse("admin:crm_sync_outgoingmessage_changelist")
    address = f"{sent_messages}?subscription={number}"
    assert agent.client.get(address).status_code in (200, 302, 403)


def test_of_two_windows_with_choices_the_second_is_told(box, home, agent):
    choose = agent.order(home)
    parts = {"billing": "21", "organization": "31", "delivery": "41"}
    older = parts | {"step": "choose", "user": "101", "revision": str(only().revision)}
    agent.review(choose, **PHOTO_AND_PLAN)
    before = Placement.objects.values().get()
    answer = agent.client.post(choose, older | {"quantity-12": "1"}, follow=True)
    assert "changed in another window" in answer.content.decode()
    assert Placement.objects.values().get() == before


def test_a_double_click_on_order_is_one_draft(home, agent):
    assert agent.order(home) == agent.order(home)
    assert Placement.objects.count() == 1


def test_what_was_confirmed_can_be_taken_back_until_it_is_sent(box, workspace, home, agent):
    review = agent.review(agent.order(home), **PHOTO_AND_PLAN)
    page = agent.place(review)
    assert "Do not order it" in agent.text(page)
    take_back = reverse("admin:orders_placement_take_back", args=[only().pk])
    assert agent.client.post(take_back)["Location"] == review
    assert drain(workspace) == {}
    assert (only().state, sent(box)) == (State.READY, 0)
    agent.place(review)
    drain(workspace)
    answer = agent.client.post(take_back, follow=True)
    assert "It is too late: it was sent already." in answer.content.decode()
    assert only().state == State.PLACED
    told = noted()
    assert told == ["Confirmed: to be ordered.", "Taken back.", "Confirmed: to be ordered."]


def test_one_that_is_taken_back_leads_to_the_draft_that_was_begun_meanwhile(home, agent):
    review = agent.review(agent.order(home), **PHOTO_AND_PLAN)
    agent.place(review)
    first = only()
    agent.order(home)
    agent.client.post(reverse("admin:orders_placement_take_back", args=[first.pk]))
    choose = reverse("admin:orders_placement_choose", args=[first.pk])
    assert agent.review(choose) == review
    assert "You have begun another order for SEED-1: go on there." in agent.text(review)
    assert sorted(Placement.objects.values_list("state", flat=True)) == ["DRAFT", "READY"]


def test_an_uncertain_order_says_what_to_do_and_is_settled_by_its_number(
    box, workspace, home, agent, wire, drain_all
):
    page = agent.place(agent.review(agent.order(home), **PHOTO_AND_PLAN))
    wire.after["POST /v1/orders"] = lost
    drain(workspace)
    text = agent.text(page)
    for part in ("Uncertain", "It became this order", "It was not placed"):
        assert part in text
    assert "manage.py" not in text
    (there,) = box.workspace.orders
    settle = reverse("admin:orders_placement_settle", args=[only().pk])
    agent.client.post(settle, {"order": f" {there} "})
    assert (only().state, only().order.platform_id) == (State.PLACED, there)
    assert noted()[-1] == f"Settled: order {there}."
    drain_all()
    assert Order.objects.get().status == "PLACED"
    answer = agent.client.post(settle, {"order": "9"}, follow=True)
    assert "It is not uncertain any more" in answer.content.decode()


# --- each step is saved ---
def test_who_comes_back_goes_on_where_they_were(home, agent):
    choose = agent.order(home)
    assert agent.order(home) == choose
    review = agent.review(choose, **PHOTO_AND_PLAN)
    assert agent.order(home) == review
    page = agent.client.get(reverse("admin:orders_placement_change", args=[only().pk]))
    assert page.context["go_on"] == review
    form = agent.client.get(choose).context["form"]
    assert [form[f"quantity-{n}"].value() for n in (11, 12, 13)] == [2, 0, 1]


def test_who_goes_on_later_finds_what_they_chose_also_after_a_fault(box, home, agent, wire):
    choose = agent.order(home)
    assert "Review and Go on later save what you chose." in agent.text(choose)
    wire.before["/instructions"] = lost
    there = agent.later(choose, **PHOTO_AND_PLAN, delivery="42")
    assert there == reverse("admin:properties_property_change", args=[home.pk])
    saved = "What you chose is saved, and nothing was ordered. Go on from Your drafts on the"
    assert saved in agent.text(there)
    form = agent.client.get(choose).context["form"]
    assert [form[f"quantity-{n}"].value() for n in (11, 12, 13)] == [2, 0, 1]
    assert (form["delivery"].value(), only().state, sent(box)) == ("42", State.DRAFT, 0)
    agent.later(choose)
    assert agent.order(home) == reverse("admin:orders_placement_review", args=[only().pk])


def test_who_chose_nothing_may_go_on_later_and_take_all_products_out(home, agent):
    choose = agent.order(home)
    agent.later(choose)
    assert (only().state, only().products) == (State.DRAFT, [])
    Placement.objects.update(products=[{"id": "11", "quantity": 2}])
    agent.later(choose, **{"quantity-11": "0"})
    assert (only().state, only().products) == (State.DRAFT, [])


def test_an_order_that_is_begun_in_two_windows_at_once_is_begun_once(box, home, agent):
    between = Between(box, PLATFORM)
    opened: list[str] = []

    def open_another(environ):
        if environ["PATH_INFO"] == "/v1/sessions" and not opened:
            opened.append("")  # the call of the second window comes as well
            opened[0] = agent.order(home)

    between.before = open_another
    assert agent.order(home) == opened[0]
    assert (only().state, only().problem) == (State.DRAFT, "")
    assert "Ground photos" in agent.text(opened[0])


def test_go_on_later_saves_nothing_that_is_wrong_or_was_changed_in_another_window(home, agent):
    choose = agent.order(home)
    form = agent.client.get(choose).context["form"]
    typed = {name: form[name].value() for name in form.fields} | {"step": "later"}
    page = agent.client.post(choose, typed | {"quantity-11": "101"}).content.decode()
    assert "less than or equal to 100" in page
    agent.text(agent.later(choose, **PHOTO_AND_PLAN))  # shows what was saved, once
    before = Placement.objects.values().get()
    page = agent.client.post(choose, typed | {"quantity-11": "1"}, follow=True).content.decode()
    assert ("changed in another window" in page, "What you chose is saved" in page) == (True, False)
    page = agent.client.post(choose, typed).content.decode()
    assert "Choose at least one product." in page  # by now it can be reviewed
    assert Placement.objects.values().get() == before


@pytest.mark.parametrize("path", ["/v1/sessions", "/products", "/instructions"])
def test_a_platform_that_does_not_answer_leaves_the_draft_and_says_so(home, agent, wire, path):
    wire.before[path] = lost
    choose = agent.order(home)
    text = agent.text(choose)
    assert "no whole answer within" in text
    assert "Try again in a moment." in text
    assert "by itself" not in text  # only the person who chooses loads the offer
    answer = agent.client.post(choose, {"step": "load"})
    assert answer["Location"] == choose
    assert "Ground photos" in agent.text(choose)
    assert (only().state, only().problem) == (State.DRAFT, "")


def test_choices_are_kept_when_the_review_cannot_be_prepared(home, agent, wire):
    choose = agent.order(home)
    wire.before["/instructions"] = lost
    assert agent.review(choose, **PHOTO_AND_PLAN) == choose
    assert (only().state, [one["quantity"] for one in only().products]) == (State.DRAFT, [2, 1])
    assert agent.review(choose) == reverse("admin:orders_placement_review", args=[only().pk])


def test_an_expired_session_is_opened_anew_with_the_same_choices(box, workspace, home, agent):
    choose = agent.order(home)
    before = only().session_id
    box.workspace.sessions.clear()
    review = agent.review(choose, **PHOTO_AND_PLAN)
    between = only().session_id
    box.workspace.sessions.clear()
    agent.place(review)
    drain(workspace)
    assert len({before, between, only().session_id}) == 3
    assert (only().state, [one["quantity"] for one in only().products]) == (State.PLACED, [2, 1])


def test_a_price_that_changed_leads_back_to_the_review(box, workspace, home, agent, monkeypatch):
    review = agent.review(agent.order(home), **PHOTO_AND_PLAN)
    page = agent.place(review)
    dearer = [
        catalogue.Product(one.id, one.product, one.name, one.kind, one.amount + 10)
        for one in catalogue.PRODUCTS
    ]
    monkeypatch.setattr(catalogue, "PRODUCTS", tuple(dearer))
    assert drain(workspace) == {"to be reviewed again": 1}
    assert "GROUND_PHOTO: 259.00 EUR instead of 249.00 EUR" in agent.text(page)
    text = agent.text(review)
    assert "the price has changed" in text
    assert "Place this order for 617.00 EUR" in text
    assert sent(box) == 0
    agent.place(review)
    assert drain(workspace) == {"sent": 1}


def test_after_another_price_try_again_reads_the_offer_and_needs_a_new_review(
    box, workspace, home, agent, monkeypatch
):
    review = agent.review(agent.order(home), **PHOTO_AND_PLAN)
    agent.place(review)
    dearer = [dataclasses.replace(one, amount=one.amount + 10) for one in catalogue.PRODUCTS]
    monkeypatch.setattr(catalogue, "PRODUCTS", tuple(dearer))
    drain(workspace)
    choose = reverse("admin:orders_placement_choose", args=[only().pk])
    assert "Try again" in agent.text(choose)
    assert agent.client.post(choose, {"step": "load"})["Location"] == choose
    assert (only().state, only().problem) == (State.DRAFT, "")
    assert agent.review(choose) == review
    assert "Place this order for 617.00 EUR" in agent.text(review)
    assert sent(box) == 0


def test_what_failed_can_be_ordered_again_with_the_same_choices(workspace, home, agent, wire):
    page = agent.place(agent.review(agent.order(home), **PHOTO_AND_PLAN))
    wire.answers["/v1/orders"] = ("422 Unprocessable Entity", b'{"message": "no more credit"}')
    drain(workspace)
    text = agent.text(page)
    assert "no more credit" in text
    assert "Order again…" in text
    assert f'name="again" value="{only().pk}"' in agent.client.get(page).content.decode()
    begin = reverse("admin:orders_placement_begin")
    posted = {"property": str(home.pk), "again": str(only().pk)}
    choose = agent.client.post(begin, posted)["Location"]
    form = agent.client.get(choose).context["form"]
    assert [form[f"quantity-{n}"].value() for n in (11, 12, 13)] == [2, 0, 1]


def test_what_the_platform_lists_is_shown_as_it_is(home, agent, wire):
    products = [
        {"id": 5, "product": "GROUND_PHOTO", "price": {"amount": "19.9", "currency": "CHF"}},
        {"id": "6", "name": "Something", "price": None},
        {"id": "7"},
        {"product": "NO_ID"},
    ]
    wire.answers["/products"] = ("200 OK", json.dumps({"products": products}).encode())
    wire.answers["/instructions"] = ("200 OK", b'{"billing": [{"id": 1}, {"label": "x"}, 3]}')
    choose = agent.order(home)
    text = agent.text(choose)
    for part in ("Ground photo", "19.90 CHF", "Something", "price unknown", "Billing"):
        assert part in text
    assert "No id" not in text
    review = agent.review(choose, **{"quantity-5": "3", "quantity-6": "1", "quantity-7": "1"})
    text = agent.text(review)
    assert "Place this order for 59.70 CHF + 2 without a price" in text
    assert only().instructions == {"billing": "1"}


def test_last_time_of_a_window_that_is_behind_changes_nothing(workspace, home, agent):
    agent.place(agent.review(agent.order(home), **PHOTO_AND_PLAN))
    drain(workspace)
    choose = agent.order(home)
    draft = Placement.objects.get(state=State.DRAFT)
    agent.client.post(choose, {"step": "load"})
    posted = {"step": "last_time", "revision": str(draft.revision)}
    answer = agent.client.post(choose, posted, follow=True)
    assert "changed in another window" in answer.content.decode()
    draft.refresh_from_db()
    assert draft.products == []


def test_nobody_is_offered_the_choices_of_somebody_else_or_of_a_draft(workspace, home, agent):
    agent.review(agent.order(home), **PHOTO_AND_PLAN)
    other = Property.objects.create(
        workspace=workspace, object_reference_id="SEED-2", platform_id="202"
    )
    assert "As last time" not in agent.text(agent.order(other))
    Placement.objects.all().delete()
    agent.place(agent.review(agent.order(home), **PHOTO_AND_PLAN))
    Placement.objects.update(created_by=User.objects.create_user("somebody"))
    choose = agent.order(other)
    assert "As last time" not in agent.text(choose)
    posted = {"step": "last_time", "revision": str(Placement.objects.latest("pk").revision)}
    agent.client.post(choose, posted)
    assert Placement.objects.latest("pk").products == []


def test_last_time_leaves_out_what_is_not_offered_any_more(workspace, home, agent, wire):
    agent.place(agent.review(agent.order(home), **PHOTO_AND_PLAN))
    drain(workspace)
    choose = agent.order(home)
    left = {"id": "13", "product": "FLOOR_PLAN", "price": {"amount": "89", "currency": "EUR"}}
    wire.answers["/products"] = ("200 OK", json.dumps({"products": [left]}).encode())
    agent.last_time(choose)
    assert "Not offered, and left out: GROUND_PHOTO. Choose again." in agent.text(choose)
    assert "Sum 89.00 EUR" in agent.text(choose)


# --- who acts ---
def test_an_account_without_a_user_is_told_so_and_who_can_change_it(workspace, home, agent):
    text = "Your account does not belong to a user of the platform yet"
    choose = agent.order(home)
    assert text not in agent.text(choose)
    PlatformUser.objects.update(account=None)
    whoever = "Whoever runs this installation can tie it to one."
    assert f"{text}, so say who orders. {whoever}" in agent.text(choose)
    User.objects.create_superuser("olga", first_name="Olga", last_name="Operator")
    able = Permission.objects.get(codename="change_platformuser")
    for name, workspaces in (("inside", [workspace]), ("outside", [])):
        person = User.objects.create_user(name, is_staff=True)
        person.user_permissions.add(able)
        person.workspaces.set(workspaces)
    assert "inside or Olga Operator can tie it to one." in agent.text(choose)
    User.objects.get(username=agent.username).user_permissions.add(able)
    assert "You can tie it to one" in agent.text(choose)


def test_without_a_user_of_their_own_an_agent_chooses_one_first(box, workspace, home, agent):
    PlatformUser.objects.update(account=None)
    choose = agent.order(home)
    assert "Show the products" in agent.text(choose)
    assert calls(box) == []
    assert agent.review(choose, user="102") == choose
    assert "Ground photos" in agent.text(choose)
    agent.place(agent.review(choose, **PHOTO_AND_PLAN))
    drain(workspace)
    assert (only().state, Order.objects.get().user_platform_id) == (State.PLACED, "102")
    other = Property.objects.create(
        workspace=workspace, object_reference_id="SEED-2", platform_id="202"
    )
    agent.order(other)
    assert Placement.objects.get(real_estate_property=other).user_platform_id == "102"


def test_another_user_gets_a_session_of_their_own(box, workspace, home, agent):
    choose = agent.order(home)
    before = only().session_id
    agent.review(choose, **PHOTO_AND_PLAN, user="102")
    assert only().session_id != before
    assert box.workspace.sessions[only().session_id]["userId"] == "102"


def test_a_user_is_typed_where_none_is_known_yet(home, agent):
    PlatformUser.objects.all().delete()
    choose = agent.order(home)
    assert "in the name of this user: an id or a reference." in agent.text(choose)
    answer = agent.client.post(choose, {"step": "choose", "user": "NOBODY", "revision": "1"})
    assert "No user &#x27;NOBODY&#x27; on the platform" in answer.content.decode()
    PlatformUser.objects.all().delete()
    agent.review(choose, user="AGENT-2")
    assert only().user_platform_id == "102"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({}, "Choose at least one product."),
        ({"quantity-11": "-1"}, "greater than or equal to 0"),
        ({"quantity-11": "101"}, "less than or equal to 100"),
        ({"quantity-11": "many"}, "Enter a whole number."),
        ({"quantity-11": "1.000"}, "Enter a whole number."),
        ({"quantity-11": "1", "billing": "99"}, "Select a valid choice. 99 is not one"),
        ({"quantity-11": "1", "user": "999"}, "Select a valid choice. 999 is not one"),
    ],
)
def test_a_wrong_input_is_named_and_nothing_is_saved(home, agent, typed, said):
    choose = agent.order(home)
    before = Placement.objects.values().get()
    usual = {"step": "choose", "user": "101", "revision": f"{before['revision']}"}
    parts = {"billing": "21", "organization": "31", "delivery": "41"}
    answer = agent.client.post(choose, usual | parts | typed)
    assert said in answer.content.decode()
    assert Placement.objects.values().get() == before


# --- the property is not on the platform yet ---
@pytest.fixture
def new_home(workspace, agent) -> Property:
    row = create(workspace, "NEW-1", {"title": "New"}, origin="ADMIN", now=now())
    return force(row, due_at=None)


def test_a_property_that_is_new_is_pushed_first_and_the_page_goes_on(
    box, workspace, agent, new_home, drain_all
):
    choose = agent.order(new_home)
    page = agent.client.get(choose).content.decode()
    assert "This property is not on the platform yet. It is sent there first" in page
    assert Property.objects.get(pk=new_home.pk).due_at is not None
    progress = reverse("admin:orders_placement_progress", args=[only().pk])
    assert f'data-follow="{progress}"' in page
    assert b"data-next" not in agent.client.get(progress).content
    drain_all()
    assert b"data-next" in agent.client.get(progress).content
    agent.client.post(choose, {"step": "load"})
    agent.place(agent.review(choose, **PHOTO_AND_PLAN))
    drain(workspace)
    assert (only().state, Order.objects.get().object_reference_id) == (State.PLACED, "NEW-1")


def test_a_property_that_the_platform_refuses_is_shown_with_its_problem(agent, new_home):
    force(new_home, problem={"REFUSED": {"title": "is too long"}})
    choose = agent.order(new_home)
    page = agent.client.get(choose).content.decode()
    assert "NEW-1 is not on the platform: title: is too long" in page
    assert f'href="{reverse("admin:properties_property_change", args=[new_home.pk])}"' in page
    progress = reverse("admin:orders_placement_progress", args=[only().pk])
    assert b"data-next" in agent.client.get(progress).content
    assert "data-follow" not in page


# --- warnings ---
def test_an_open_order_with_the_same_product_is_named_in_the_review(workspace, home, agent):
    order = make_order(workspace, "5000", real_estate_property=home)
    make_assignment(order, products=["FLOOR_PLAN"])
    review = agent.review(agent.order(home), **PHOTO_AND_PLAN)
    page = agent.client.get(review).content.decode()
    text = "SEED-1 has an open order with the same product: order 5000 (Floor plan)"
    assert text in page
    assert f'href="{reverse("admin:orders_order_change", args=[order.pk])}"' in page
    Order.objects.update(status="CANCELLED")
    assert text not in agent.text(review)


def test_an_order_that_somebody_else_places_after_the_review_is_named_first(
    box, workspace, home, agent
):
    review = agent.review(agent.order(home), **PHOTO_AND_PLAN)
    shown = agent.shown(review)
    theirs = Placement.objects.create(
        workspace=workspace,
        real_estate_property=home,
        object_reference_id="SEED-1",
        products=[{"id": "13", "product": "FLOOR_PLAN", "quantity": 1}],
        state=State.UNCERTAIN,
    )
    assert agent.place_as(review, shown) == review
    text = agent.text(review)
    assert "It is not as you have seen it any more: look at it again." in text
    assert "SEED-1 has an order on its way with the same product" in text
    assert (drain(workspace), sent(box)) == ({}, 0)
    theirs.delete()
    order = make_order(workspace, "5000", real_estate_property=home)
    shown = agent.shown(review)
    make_assignment(order, products=["DRONE_PHOTO"])  # another product is no matter
    agent.place_as(review, shown)
    assert (drain(workspace), sent(box)) == ({"sent": 1}, 1)


# --- who may ---
def test_the_draft_of_somebody_else_is_looked_at_and_never_changed(workspace, home, agent):
    choose = agent.order(home)
    review = agent.review(choose, **PHOTO_AND_PLAN)
    row, before = only(), Placement.objects.values().get()
    other = client_of("orders.view_placement", "orders.add_placement", "orders.change_placement")
    page = reverse("admin:orders_placement_change", args=[row.pk])
    step = {"revision": str(row.revision), "step": "place", "user": "102", "quantity-11": "9"}
    assert {other.post(address, step)["Location"] for address in (choose, review)} <= {
        page,
        review,
    }
    assert "Go on" not in other.get(page).content.decode()
    assert Placement.objects.values().get() == before
    assert drain(workspace) == {}


def test_agents_may_place_orders(db):
    may = Permission.objects.filter(group__name="Agents").values_list("codename", flat=True)
    assert "add_placement" in may
