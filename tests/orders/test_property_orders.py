"""A property shows its orders, and an order its property."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from crm_sync.admin.ui.cells import page_of
from properties.models import Property
from tests.crm_sync.admin_pages import client_of, queries_of
from tests.orders.admin_rows import (
    LIST,
    make_assignment,
    make_full_order,
    make_order,
    make_placement,
    page,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def home(main) -> Property:
    return Property.objects.create(workspace=main, object_reference_id="R-1")


def section(client, home: Property):
    sections = client.get(page_of(home)).context["sections"]
    return next((one for one in sections if one.slug == "orders"), None)


def test_a_property_shows_its_orders_newest_first_and_each_leads_to_its_page(main, boss, home):
    now = timezone.now()
    first = make_order(main, "1", real_estate_property=home, created_at=now - timedelta(days=1))
    second = make_order(main, "2", real_estate_property=home, status="IN_PROGRESS")
    make_order(main, "3")
    make_assignment(second, "a", status="SCHEDULED", scheduled_at=now + timedelta(days=2))
    shown = section(boss, home)
    assert (shown.title, shown.count) == ("Orders", 2)
    text = shown.content
    assert text.index(f'href="{page(second)}"') < text.index(f'href="{page(first)}"')
    assert ("In progress" in text, "Scheduled" in text, "Order 3" in text) == (True, True, False)


def test_an_order_leads_to_its_property(main, boss, home):
    order = make_order(main, "1", real_estate_property=home)
    facts = dict(boss.get(page(order)).context["facts"])
    assert f'href="{page_of(home)}"' in facts["Property"]


def test_a_property_without_orders_says_so(boss, home):
    shown = section(boss, home)
    assert (shown.count, "Nothing was ordered for this property yet." in shown.content) == (0, True)


def test_a_property_shows_what_is_on_its_way_above_its_orders(main, boss, home):
    order = make_order(main, "1", real_estate_property=home)
    for state in ("DRAFT", "READY", "FAILED"):
        make_placement(home, state)
    waits, uncertain = make_placement(home, "CONFIRMED"), make_placement(home, "UNCERTAIN")
    uncertain.problem = "It is not known whether the order was placed."
    uncertain.save()
    shown = section(boss, home)
    assert (shown.count, shown.content.count("data-placement")) == (3, 2)
    parts = (page(uncertain), "Uncertain", uncertain.problem, page(waits), "Waits for a worker")
    places = [shown.content.index(part) for part in (*parts, page(order))]
    assert places == sorted(places)


def test_a_property_whose_only_order_is_uncertain_does_not_say_that_nothing_was_ordered(boss, home):
    make_placement(home, "UNCERTAIN")
    shown = section(boss, home)
    assert (shown.count, "Nothing was ordered" in shown.content) == (1, False)


def test_who_may_not_see_orders_sees_none_of_a_property(main, home):
    make_order(main, "secret-1", real_estate_property=home)
    client = client_of("properties.view_property")
    assert section(client, home) is None
    address = reverse("admin:properties_property_live", args=[home.pk])
    for response in (client.get(page_of(home)), client.get(address)):
        assert b"secret-1" not in response.content


def test_many_orders_of_a_property_cost_as_many_queries_as_some_and_are_all_in_the_list(
    main, boss, home
):
    for number in range(20):
        make_full_order(main, number + 10)
    home.order_set.model.objects.update(real_estate_property=home)
    some = queries_of(boss, page_of(home))
    for number in range(20, 25):
        make_order(main, f"{number + 100}", real_estate_property=home)
        make_placement(home, "CONFIRMED")
    assert queries_of(boss, page_of(home)) == some
    shown = section(boss, home)
    assert (shown.count, "and 5 more" in shown.content) == (30, True)
    every = f"{LIST}?real_estate_property__id__exact={home.pk}"
    assert f'href="{every}"' in shown.content
    assert boss.get(every).context["cl"].result_count == 25
