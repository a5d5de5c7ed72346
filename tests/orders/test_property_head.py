"""What orders tell in the head of a property: the next appointment and the open orders."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from orders.admin import property_orders
from properties.models import Property
from tests.crm_sync.admin_pages import client_of, queries_of
from tests.orders.admin_rows import make_assignment, make_order, make_placement

pytestmark = pytest.mark.django_db


@pytest.fixture
def home(main) -> Property:
    return Property.objects.create(workspace=main, object_reference_id="R-1")


def facts(row: Property) -> dict[str, list[str]]:
    """Return the lines of each fact, as text."""
    found = property_orders.facts(row, now())
    return {one.title: [as_text(line) for line in one.lines] for one in found}


def as_text(line: str) -> str:
    return "".join(part.rpartition(">")[2] for part in f">{line}".split("<"))


def page_of(row: Property) -> str:
    return f"/admin/properties/property/{row.pk}/change/"


def test_a_property_without_orders_has_none(home):
    assert facts(home) == {}


def test_the_next_appointment_is_the_first_one_that_is_still_to_come(home, main):
    order = make_order(main, "1", real_estate_property=home)
    for number, (days, columns) in enumerate(
        [
            (-1, {}),
            (1, {"status": "CANCELLED"}),
            (2, {"withdrawn_at": now()}),
            (3, {"status": "DELIVERED"}),
            (5, {"status": "SCHEDULED", "products": ["FLOOR_PLAN", "GROUND_PHOTO"]}),
            (6, {"status": "SCHEDULED"}),
        ]
    ):
        at = now().replace(hour=9, minute=30) + timedelta(days=days)
        make_assignment(order, f"a{number}", scheduled_at=at, **columns)
    make_assignment(make_order(main, "2"), "b", scheduled_at=now() + timedelta(hours=1))
    at, products = facts(home)["Next appointment"]
    assert at.endswith("09:30 UTC")
    assert products == "Floor plan, Ground photo"


def test_open_orders_are_the_newest_three_and_a_link_to_the_rest(home, main):
    make_order(main, "1", real_estate_property=home, status="COMPLETED")
    make_order(main, "2", real_estate_property=home, status="CANCELLED")
    make_order(main, "3")
    for number in range(4, 7):
        make_order(main, str(number), real_estate_property=home)
    three = ["Order 6 Placed", "Order 5 Placed", "Order 4 Placed"]
    assert facts(home) == {"Open orders": three}
    make_order(main, "7", real_estate_property=home, status="IN_PROGRESS")
    assert facts(home) == {"Open orders": ["Order 7 In progress", *three[:2], "and more"]}


def test_what_is_on_its_way_comes_before_the_open_orders(home, main):
    make_order(main, "1", real_estate_property=home)
    make_placement(home, "FAILED")
    make_placement(home, "CONFIRMED")
    uncertain = ["Ground photo Uncertain", "Ground photo Waits for a worker", "Order 1 Placed"]
    make_placement(home, "UNCERTAIN")
    assert facts(home) == {"Open orders": uncertain}
    make_placement(home, "SENDING")
    assert facts(home) == {"Open orders": ["Ground photo Sending", *uncertain[:2], "and more"]}


@pytest.mark.rule("S17")
def test_who_may_not_see_orders_reads_nothing_of_them(home, main):
    order = make_order(main, "4711", real_estate_property=home)
    make_assignment(order, scheduled_at=now() + timedelta(days=1))
    for permissions, is_shown in (
        (["properties.view_property"], False),
        (["properties.view_property", "orders.view_order"], True),
    ):
        page = client_of(*permissions).get(page_of(home)).content.decode()
        assert ("Next appointment</dt>" in page, "Order 4711" in page) == (is_shown, is_shown)


def test_it_takes_as_many_queries_for_many_orders(home, main, boss):
    first = make_order(main, "1", real_estate_property=home)
    make_assignment(first, "a", scheduled_at=now() + timedelta(days=1))
    few = queries_of(boss, page_of(home))
    for number in range(2, 15):
        order = make_order(main, str(number), real_estate_property=home)
        make_assignment(order, f"a{number}", scheduled_at=now() + timedelta(days=number))
        make_placement(home, "CONFIRMED")
    assert queries_of(boss, page_of(home)) == few
