"""The page of one order: how far it has come, its assignments, timeline and materials."""

from datetime import date

import pytest
from django.urls import reverse

from orders.models import Material, MaterialSet, Order, Placement
from orders.models.statuses import AssignmentStatus
from properties.models import Property
from tests.crm_sync.admin_pages import queries_of
from tests.orders.admin_rows import (
    NOW,
    Fact,
    context_of,
    make_assignment,
    make_full_order,
    make_order,
    note,
    page,
)

pytestmark = pytest.mark.django_db


def test_the_page_takes_as_many_queries_for_a_long_history_as_for_a_short_one(main, boss):
    order = make_full_order(main, 1)
    one = queries_of(boss, page(order))
    ready = MaterialSet.objects.order_by("pk")[0]
    for number in range(100):
        assignment = make_assignment(order, f"more-{number}")
        note(order, "CREATED", fact=Fact.ASSIGNMENT_STATUS, assignment=assignment)
        Material.objects.create(material_set=ready, platform_id=f"more-{number}")
    assert queries_of(boss, page(order)) == one


def test_an_order_is_shown_under_the_reference_that_its_property_has_now(main, boss):
    home = Property.objects.create(workspace=main, object_reference_id="NEW-1")
    order = make_order(main, real_estate_property=home, object_reference_id="OLD-1")
    for address in (page(order), reverse("admin:orders_order_changelist")):
        shown = boss.get(address).content.decode()
        assert "NEW-1" in shown
        assert "OLD-1" not in shown


@pytest.mark.parametrize(
    ("status", "statuses", "states"),
    [
        ("PLACED", ["PLACED"], ["now", "ahead", "ahead"]),
        ("IN_PROGRESS", ["PLACED", "IN_PROGRESS"], ["done", "now", "ahead"]),
        ("COMPLETED", ["COMPLETED"], ["done", "done", "done"]),
        ("CANCELLED", ["PLACED", "CANCELLED"], ["done", "left out", "ended"]),
        ("CANCELLED", ["IN_PROGRESS", "CANCELLED"], ["done", "done", "ended"]),
        ("ON_HOLD", ["PLACED", "ON_HOLD"], ["done", "ahead", "ahead"]),
        ("", [], ["ahead", "ahead", "ahead"]),
    ],
)
def test_the_steps_show_how_far_an_order_has_come(main, boss, status, statuses, states):
    order = make_order(main, status=status)
    for minutes, new in enumerate(statuses):
        note(order, new, minutes=minutes)
    steps = context_of(boss, order)["steps"]
    last = "Cancelled" if status == "CANCELLED" else "Completed"
    assert [step.name for step in steps] == ["Placed", "In progress", last]
    assert [step.state for step in steps] == states


def test_an_assignment_shows_its_photographer_dates_and_what_is_required(main, boss):
    make_assignment(
        make_order(main),
        status="ACTION_REQUIRED",
        action_required="DOCUMENT_UPLOAD_REQUIRED",
        products=["GROUND_PHOTO", "FLOOR_PLAN"],
        photographer={"id": "9", "name": "Ada", "phone": "+41 44 1", "email": "ada@example.org"},
        scheduled_at=NOW,
        estimated_delivery_date=date(2199, 3, 4),
    )
    (card,) = context_of(boss, Order.objects.get())["assignments"]
    assert (card["title"], card["meaning"], card["need"]) == (
        "Ground photo, Floor plan",
        "The platform cannot go on without something from you.",
        "documents that you upload",
    )
    assert "on the platform's own pages, at order 5000" in card["bring"]
    facts = dict(card["facts"])
    assert facts.pop("Appointment").startswith("Sun 1 Mar 2026, 12:00 UTC <span")
    assert facts == {
        "Estimated delivery": "Mon 4 Mar 2199",
        "Photographer": "Ada",
        "Phone": '<a class="cs-link" href="tel:+41441">+41 44 1</a>',
        "Mail": '<a class="cs-link" href="mailto:ada@example.org">ada@example.org</a>',
    }


@pytest.mark.parametrize("status", AssignmentStatus.values)
def test_every_status_of_an_assignment_is_said_in_a_sentence(main, boss, status):
    make_assignment(make_order(main), status=status)
    (card,) = context_of(boss, Order.objects.get())["assignments"]
    assert (card["meaning"].endswith("."), status) != (status == "UNKNOWN", status)


@pytest.mark.parametrize(
    ("code", "need"),
    [
        ("POWER_OF_ATTORNEY_REQUIRED", "a signed power of attorney"),
        ("SOMETHING_NEW", "something new"),
        ("", "an answer, but it does not say to what"),
    ],
)
def test_what_the_platform_needs_is_said_also_where_we_do_not_know_it(main, boss, code, need):
    make_assignment(make_order(main), status="ACTION_REQUIRED", action_required=code)
    (card,) = context_of(boss, Order.objects.get())["assignments"]
    assert card["need"] == need


@pytest.mark.parametrize(
    ("order_status", "status", "is_overdue"),
    [
        ("IN_PROGRESS", "IN_PRODUCTION", True),
        ("IN_PROGRESS", "DELIVERED", False),
        ("CANCELLED", "IN_PRODUCTION", False),
    ],
)
def test_an_estimate_that_is_over_is_marked(main, boss, order_status, status, is_overdue):
    order = make_order(main, status=order_status)
    make_assignment(order, status=status, estimated_delivery_date=date(2026, 3, 4))
    (card,) = context_of(boss, order)["assignments"]
    assert ("Overdue" in dict(card["facts"])["Estimated delivery"]) is is_overdue


@pytest.mark.parametrize("number", ["javascript:alert(1)", "call me", "1\n2", "+4144%0d"])
def test_only_a_number_of_a_phone_can_be_called(main, boss, number):
    make_assignment(make_order(main), photographer={"phone": number, "email": f"{number}@x"})
    (card,) = context_of(boss, Order.objects.get())["assignments"]
    assert dict(card["facts"])["Phone"] == number
    assert dict(card["facts"])["Mail"] == f"{number}@x"


@pytest.mark.rule("S18")
def test_only_web_addresses_of_materials_are_linked(main, boss):
    order = make_order(main)
    ready = MaterialSet.objects.create(
        workspace=main, order=order, product="GROUND_PHOTO", ready_at=NOW, fetched_at=NOW
    )
    for number, url in enumerate(
        ["https://cdn.test/a.jpg", "javascript:alert(1)", "data:text/html,x", "//evil.test/x", ""]
    ):
        Material.objects.create(
            material_set=ready,
            platform_id=f"{number}",
            file_name=f"{number}.jpg",
            url=url,
            size=2048,
        )
    (group,) = context_of(boss, order)["groups"]
    assert [(item["name"], item["address"]) for item in group["items"]] == [
        ("0.jpg", "https://cdn.test/a.jpg"),
        ("1.jpg", ""),
        ("2.jpg", ""),
        ("3.jpg", ""),
        ("4.jpg", ""),
    ]
    assert "javascript:" not in boss.get(page(order)).content.decode().partition("og-grid")[2]


def test_the_page_of_an_uncertain_placement_says_what_to_do(main, boss):
    placement = Placement.objects.create(
        workspace=main,
        object_reference_id="R-1",
        user_platform_id="1",
        user_reference_id="AGENT-1",
        products=[
            {"id": "p1", "product": "GROUND_PHOTO", "quantity": 1},
            {"id": "p2", "product": "FLOOR_PLAN", "quantity": 2},
        ],
        state="UNCERTAIN",
        problem="Look at the platform before you place it again.",
    )
    text = boss.get(page(placement)).content.decode()
    for shown in (
        "It is never sent a second time by itself.",
        "Look at the platform before you place it again.",
        "It became this order",
        "It was not placed",
        "Ground photo",
        "Floor plan",
        "AGENT-1",
    ):
        assert shown in text
