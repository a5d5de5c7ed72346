"""An order in a real browser: three clicks from the property, and a page that moves by itself."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.timezone import now

from crm_sync import hooks
from crm_sync.models import Workspace
from crm_sync.work import turn
from orders.models import Placement, PlatformUser
from orders.platform_users import user_list
from properties.domain.editing import create
from properties.models import Property
from tests.browser.test_admin import make_workspace

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def homes(transactional_db, box, drain_all) -> list[Property]:
    """Return two properties that are on the platform, and know its users."""
    workspace = make_workspace()
    user_list.ask(workspace.pk, now())
    rows = [create(workspace, f"R-{n}", {"title": "Flat"}, origin="ADMIN", now=now()) for n in "12"]
    drain_all()
    return rows


def act_as(page, platform_id: str) -> None:
    account = User.objects.get(username="agent")
    PlatformUser.objects.filter(platform_id=platform_id).update(account=account)


def go_to(page, property_: Property) -> None:
    page.goto(reverse("admin:properties_property_change", args=[property_.pk]))


def drain() -> None:
    turn.take(hooks.queue("placements"), Workspace.objects.get().pk, seconds=20.0)


def is_too_wide(page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth > window.innerWidth")


@pytest.mark.parametrize(("width", "theme"), [(1400, "light"), (390, "dark")])
def test_an_order_takes_three_clicks_from_an_empty_form_and_the_page_follows_it(
    visit, box, homes, width, theme
):
    window = visit(width=width, theme=theme)
    page = window.log_in()
    act_as(page, "101")
    go_to(page, homes[0])
    page.click("text=Order…")
    page.wait_for_selector("[data-products]")
    page.fill("[name=quantity-11]", "2")
    page.fill("[name=quantity-13]", "1")
    page.wait_for_selector("[data-sum]:text-is('587.00 EUR')")
    assert not is_too_wide(page)
    page.click("button:text-is('Review')")
    page.click("text=The calls as they go out")
    assert '"realEstatePropertyId"' in page.inner_text("pre >> nth=0")
    assert not is_too_wide(page)
    page.click("text=Place this order for 587.00 EUR")
    page.wait_for_selector("text=A worker places it now")
    assert not is_too_wide(page)
    drain()
    page.wait_for_selector("text=Open order")  # without a reload
    assert page.inner_text(".op-sum strong") == "587.00 EUR"

    go_to(page, homes[1])
    page.click("text=Order…")
    page.wait_for_selector("[data-sum]:text-is('nothing chosen yet')")
    page.click("button:text-is('As last time')")
    page.wait_for_selector("[data-sum]:text-is('587.00 EUR')")
    page.click("button:text-is('Review')")
    page.click("text=Place this order for 587.00 EUR")
    page.wait_for_selector("text=A worker places it now")
    drain()
    page.wait_for_selector("text=Open order")
    placed = Placement.objects.order_by("pk").values_list("state", "order__platform_id")
    assert list(placed) == [("PLACED", key) for key in box.workspace.orders]
    assert (window.foreign, window.errors) == ([], [])


def test_a_property_that_is_new_is_pushed_and_the_page_goes_on_by_itself(visit, homes, drain_all):
    new = create(Workspace.objects.get(), "NEW-1", {"title": "New"}, origin="ADMIN", now=now())
    window = visit()
    page = window.log_in()
    act_as(page, "101")
    go_to(page, new)
    page.click("text=Order…")
    page.wait_for_selector("text=It is sent there first, and this page goes on by itself.")
    drain_all()
    page.wait_for_selector("[data-products]")
    assert Placement.objects.get().session_id != ""
    assert window.errors == []


def test_the_sum_runs_along_with_the_quantities(visit, homes):
    page = visit().log_in()
    act_as(page, "101")
    go_to(page, homes[0])
    page.click("text=Order…")
    for quantities, shown in (
        ({}, "nothing chosen yet"),
        ({"11": "1"}, "249.00 EUR"),
        ({"11": "100", "14": "3"}, "26,247.00 EUR"),
        ({"11": "", "14": "0", "18": "1"}, "49.00 EUR"),
    ):
        for key, quantity in quantities.items():
            page.fill(f"[name=quantity-{key}]", quantity)
        page.wait_for_selector(f"[data-sum]:text-is('{shown}')")  # once the script runs


def test_an_order_begins_in_the_list_of_orders(visit, homes):
    window = visit(width=390)
    page = window.log_in()
    act_as(page, "101")
    page.goto(reverse("admin:orders_placement_start"))
    page.click(".select2-selection")
    page.fill(".select2-search__field", "R-2")
    page.click(".select2-results__option:has-text('R-2, Flat')")
    assert not is_too_wide(page)
    page.click("button:text-is('Next')")
    page.wait_for_selector("text=Order for R-2")
    assert (window.foreign, window.errors) == ([], [])


@pytest.mark.parametrize(("width", "theme"), [(1400, "dark"), (390, "light")])
def test_a_selection_is_reviewed_and_placed_and_the_page_follows_it(
    visit, box, homes, width, theme
):
    window = visit(width=width, theme=theme)
    page = window.log_in()
    act_as(page, "101")
    page.goto(reverse("admin:properties_property_changelist"))
    page.check("#action-toggle")
    page.get_by_role("button", name="Order for these…").click()
    page.wait_for_selector("text=is ordered for all 2 properties")
    page.fill("[name=quantity-11]", "1")
    page.wait_for_selector("[data-sum]:text-is('249.00 EUR each, about 498.00 EUR for 2')")
    page.click("button:text-is('Review')")
    page.wait_for_selector("text=A worker opens a session for each")
    drain()
    page.wait_for_selector("text=Place 2 orders for 498.00 EUR")  # without a reload
    assert not is_too_wide(page)
    page.click("text=Place 2 orders for 498.00 EUR")
    page.wait_for_selector("text=Workers place them one after the other")
    drain()
    page.wait_for_selector("text=This is what came of them.")
    assert not is_too_wide(page)
    text = page.inner_text("[data-part=rows]")
    assert all(f"Order {key}" in " ".join(text.split()) for key in box.workspace.orders)
    assert len(box.workspace.orders) == 2
    assert (window.foreign, window.errors) == ([], [])
