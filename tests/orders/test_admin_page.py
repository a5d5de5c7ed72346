"""The page of one order: how far it has come, its assignments, timeline and materials."""

from datetime import date

import pytest

from orders.models import Material, MaterialSet, Order, Placement
from tests.crm_sync.admin_pages import (
    client_of,
    make_received_event,
    queries_of,
)
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
        action_required="MISSING_DOCUMENT",
        products=["GROUND_PHOTO", "FLOOR_PLAN"],
        photographer={"id": "9", "name": "Ada", "phone": "+41", "email": "ada@example.org"},
        scheduled_at=NOW,
        estimated_delivery_date=date(2026, 3, 4),
    )
    (card,) = context_of(boss, Order.objects.get())["assignments"]
    assert (card["title"], card["needs_action"], card["reason"]) == (
        "Ground photo, Floor plan",
        True,
        "Missing document",
    )
    facts = dict(card["facts"])
    assert "2026-03-01 12:00:00 UTC" in facts.pop("Appointment")
    assert facts == {
        "Photographer": "Ada",
        "Reached at": "+41, ada@example.org",
        "Estimated delivery": "2026-03-04",
    }


def test_the_timeline_is_newest_first_and_flags_what_is_odd(main, boss):
    order = make_order(main)
    received_event = make_received_event(main)
    assignment = make_assignment(order)
    note(order, "PLACED", minutes=1)
    note(
        order,
        "COMPLETED",
        previous="PLACED",
        minutes=3,
        is_listed=False,
        received_event=received_event,
    )
    note(
        order, "ODD", minutes=2, fact=Fact.ASSIGNMENT_STATUS, assignment=assignment, was_stale=True
    )
    response = boss.get(page(order))
    keys = ("about", "before", "after", "is_listed", "was_stale")
    assert [tuple(line[key] for key in keys) for line in response.context["timeline"]] == [
        ("", "Placed", "Completed", False, False),
        ("a1", "", "Unknown (ODD)", True, True),
        ("", "", "Placed", True, False),
    ]
    text = response.content.decode()
    assert (text.count("Unlisted step"), text.count("Came late")) == (1, 1)
    assert f'href="/admin/crm_sync/receivedevent/{received_event.pk}/change/"' in text


def test_who_may_not_see_deliveries_gets_no_link_to_one(main):
    order = make_order(main)
    note(order, "PLACED", received_event=make_received_event(main))
    text = client_of("orders.view_order").get(page(order)).content.decode()
    assert "/admin/crm_sync/receivedevent/" not in text


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
    (shown,) = context_of(boss, order)["sets"]
    names = [str(material["name"]) for material in shown["materials"]]
    assert names == [
        '<a class="cs-link" href="https://cdn.test/a.jpg" rel="noopener noreferrer"'
        ' target="_blank">0.jpg</a>',
        "1.jpg",
        "2.jpg",
        "3.jpg",
        "4.jpg",
    ]
    assert shown["materials"][0]["size"] == "2 kB"


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
        "Uncertain: a person must look",
        "Look at the platform before you place it again.",
        "Ground photo, Floor plan (2)",
        "AGENT-1",
    ):
        assert shown in text
