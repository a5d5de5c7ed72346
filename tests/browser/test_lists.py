"""The lists of an agent in Chromium: filters, views, columns, and rows that move."""

import pytest
from django.urls import reverse
from django.utils.timezone import now
from playwright.sync_api import expect

from crm_sync.models import NamedView
from properties.domain.editing import create, edit
from properties.models import Change, Property
from tests.browser.test_admin import stock
from tests.browser.test_clicks import hand

__all__ = ["hand", "stock"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LIST = reverse("admin:properties_property_changelist")
SIZES = pytest.mark.parametrize(("width", "theme"), [(1400, "light"), (390, "dark")])
FAST = "for (const one of document.querySelectorAll('[data-follow]')) one.dataset.every = 200"


def references(page):
    """Return the references of the list, for an `expect`: a click may still load the page."""
    return page.locator("#result_list .field-reference .cs-first")


def more(workspace, number: int) -> None:
    for one in range(number):
        desired = {
            "title": f"Flat {one}",
            "offerType": "RENT" if one % 2 else "BUY",
            "numberOfRooms": one,
            "prices": {"rent": {"gross": 1000 + one}},
            "address": {"locality": "Zürich"},
        }
        Property.objects.create(
            workspace=workspace, object_reference_id=f"ZZ-{one:02}", desired=desired
        )


def test_properties_are_filtered_and_the_list_is_kept_in_five_clicks_each(hand, stock):
    page = hand.page
    more(stock, 5)
    with hand.task(clicks=3):  # price and rooms and place, typed
        hand.go("Properties")
        page.get_by_role("button", name="Filters").first.click()
        page.get_by_label("price from").fill("1001")
        page.get_by_label("price to").fill("1003")
        page.get_by_label("rooms from").fill("1")
        page.locator("[name=locality]").fill("zuri")
        page.get_by_role("button", name="Apply Filters").click()
        expect(references(page)).to_have_text(["ZZ-01", "ZZ-03"])
    with hand.task(clicks=5):  # for rent
        hand.go("Properties")
        page.get_by_role("button", name="Filters").first.click()
        page.locator("#changelist-filter .select2-selection").first.click()
        page.locator(".select2-results__option:has-text('Rent')").click()
        page.get_by_role("button", name="Apply Filters").click()
        expect(references(page).get_by_text("ZZ-00")).to_have_count(0)
        expect(references(page).get_by_text("ZZ-01")).to_have_count(1)
    page.goto(f"{LIST}?locality=zuri&asking_price_from=1001&asking_price_to=1001")
    page.evaluate("sessionStorage.clicks = 0")
    page.click("summary:has-text('Save as a view')")
    page.get_by_label("Name").fill("Cheap")
    hand.press_button("Save")
    hand.sees("Saved as “Cheap”.")
    assert int(page.evaluate("sessionStorage.clicks")) == 2
    with hand.task(clicks=2):  # open a view; its number is there soon
        hand.go("Properties")
        page.wait_for_selector("nav[aria-label='My views'] a:has-text('Cheap') .cs-number")
        assert page.locator(".cs-number").inner_text() == "1"
        page.get_by_role("link", name="Cheap 1").click()
        expect(references(page)).to_have_text(["ZZ-01"])


@SIZES
def test_columns_are_chosen_by_keyboard_on_each_screen(visit, stock, width, theme):
    window = visit(width=width, theme=theme)
    page = window.log_in()
    page.goto(LIST)
    page.focus("summary:has-text('Columns')")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    for _ in range(page.locator("[name=column]").count()):
        if page.evaluate("document.activeElement.value") != "price":
            page.keyboard.press("Space")
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#result_list tr >> nth=1").locator("td, th")).to_have_count(3)
    assert NamedView.objects.get().name == ""
    assert (window.foreign, window.errors) == ([], [])


@SIZES
@pytest.mark.parametrize("screen", ["properties_property", "orders_order"])
def test_the_last_row_is_above_the_buttons_for_the_chosen_ones(visit, stock, screen, width, theme):
    page = visit(width=width, theme=theme).log_in()
    more(stock, 40)
    page.goto(reverse(f"admin:{screen}_changelist"))
    page.locator("#result_list tbody input.action-select").last.check()
    page.mouse.wheel(0, 100_000)
    page.wait_for_timeout(300)
    row = page.locator("#result_list tbody").last.bounding_box()
    bar = page.locator("#changelist-actions").bounding_box()
    assert row
    assert bar
    assert row["y"] + row["height"] <= bar["y"]
    assert bar["y"] + bar["height"] <= 900
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@SIZES
def test_a_list_moves_by_itself_and_keeps_what_a_person_holds(visit, stock, width, theme):
    window = visit(width=width, theme=theme)
    page = window.log_in()
    page.goto(LIST)
    page.evaluate("window.stays = true")
    page.evaluate(FAST)
    row = Property.objects.get(object_reference_id="MH-1002")
    chosen = page.locator("#result_list tbody input.action-select").first
    chosen.check()
    edit(row, {"title": "Another title"}, origin=Change.Origin.FEED, now=now())
    create(stock, "AA-1", {"title": "New"}, origin="ADMIN", now=now())
    page.wait_for_timeout(11_000)  # the first time is asked after ten seconds
    expect(references(page).get_by_text("AA-1")).to_have_count(0)
    assert chosen.is_checked()
    chosen.uncheck()
    page.locator("body").click(position={"x": width - 5, "y": 880})
    page.wait_for_selector("#result_list >> text=AA-1", timeout=15_000)
    assert page.locator("#result_list >> text=Another title").count() == 1
    assert page.evaluate("window.stays") is True
    page.locator("#action-toggle").check()
    count = page.locator("#result_list tbody input.action-select").count()
    assert page.locator(".action-counter").inner_text() == f"{count} of {count} selected"
    assert (window.foreign, window.errors) == ([], [])
