"""The page of a property: its head, its six tabs, an error on a hidden tab, and its texts."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils.timezone import now
from playwright.sync_api import expect

from orders.models import Assignment, Order
from properties.domain.editing import edit
from properties.models import Change, Property
from tests.browser.test_accessibility import violations
from tests.browser.test_admin import stock
from tests.browser.test_gallery import delivered, folder
from tests.browser.test_orders import SIZES

__all__ = ["delivered", "folder", "stock"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TABS = ["overview", "data", "texts", "pictures", "orders", "history"]


@pytest.fixture
def home(stock) -> Property:
    return Property.objects.get(object_reference_id="MH-1001")


def page_of(row: Property, tab: str = "") -> str:
    return reverse("admin:properties_property_change", args=[row.pk]) + (tab and f"#{tab}")


def expect_open(page, *panels: str) -> None:
    """Wait for exactly these tabs and groups: the page opens one some time after its address."""
    seen = page.locator(".ps-panel:visible")
    expect(seen).to_have_count(len(panels))
    for index, panel in enumerate(panels):
        expect(seen.nth(index)).to_have_id(f"{panel}-group")


@SIZES
def test_the_head_says_what_it_is_and_what_comes_next_and_each_tab_can_be_read_by_all(
    visit, delivered, width, theme
):
    home = delivered.real_estate_property
    order = Order.objects.create(
        workspace=home.workspace,
        platform_id="2001",
        object_reference_id=home.object_reference_id,
        real_estate_property=home,
        status="PLACED",
    )
    Assignment.objects.create(
        workspace=home.workspace,
        order=order,
        platform_id="2002",
        products=["FLOOR_PLAN"],
        status="SCHEDULED",
        scheduled_at=now() + timedelta(days=2),
    )
    window = visit(width=width, theme=theme)
    page = window.log_in()
    page.goto(page_of(home))
    head = page.locator(".ps-head")
    for text in (
        "Helle 3.5-Zimmer-Wohnung mit Balkon",
        "Musterstrasse 12, 3012 Bern",
        "CHF 2,150 a month",
        "3½ rooms",
        "In sync",
        "Next appointment",
        "Floor plan",
        "Order 2001 Placed",
    ):
        expect(head).to_contain_text(text)
    assert head.locator("img").evaluate("picture => picture.naturalWidth") > 0
    page.wait_for_load_state("networkidle")
    found = []
    for tab in TABS:
        page.goto(page_of(home, tab))
        found += violations(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), tab
    assert found == []
    head.get_by_role("link", name="UTC").click()
    page.wait_for_url(f"**{reverse('admin:orders_order_change', args=[order.pk])}")
    assert (window.foreign, window.errors) == ([], [])


def test_the_address_names_the_open_tab_and_older_links_lead_to_theirs(visit, delivered):
    home = delivered.real_estate_property
    window = visit()
    page = window.log_in()
    page.goto(page_of(home))
    expect_open(page, "overview")
    page.get_by_role("link", name="Data", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#data$"))
    expect_open(page, "data", "general")
    page.get_by_role("link", name="Prices", exact=True).click()
    expect(page).to_have_url(re.compile("#prices$"))
    expect_open(page, "data", "prices")
    current = page.locator(".ps-form [aria-current]").all_inner_texts()
    assert current == ["Data", "Prices"]
    page.go_back()
    expect_open(page, "data", "general")
    for older, opened in (
        ("general", ["data", "general"]),
        ("listing", ["data", "listing"]),
        ("sync", ["history"]),
        ("materials", ["pictures"]),
        ("marketing", ["pictures"]),
        ("orders", ["orders"]),
        ("feed", ["data", "feed"]),
        ("nothing-of-ours", ["overview"]),
    ):
        page.goto("about:blank")
        page.goto(page_of(home, older))
        expect_open(page, *opened)
    assert (window.foreign, window.errors) == ([], [])


def test_without_a_script_all_tabs_are_open(visit, home):
    page = visit(has_script=False).log_in()
    page.goto(page_of(home))
    for panel in (*TABS, "general", "prices", "listing"):
        expect(page.locator(f"#{panel}-group")).to_be_visible()
    assert page.locator("[name='prices.rent.gross']").is_visible()
    assert page.locator("[name=title]").is_visible()


def test_only_a_tab_with_fields_is_saved_until_something_is_changed(visit, home):
    page = visit().log_in()
    page.goto(page_of(home))
    save = page.locator("button[name=_save]")

    def shown() -> list[str]:
        found = []
        for tab in TABS:
            page.evaluate("hash => { location.hash = hash }", tab)
            page.wait_for_selector(f"#{tab}-group[data-open]")
            found += [tab] if save.is_visible() else []
        return found

    assert shown() == ["data", "texts"]
    page.evaluate("location.hash = 'texts'")
    page.fill("[name=title]", "A new title")
    assert shown() == TABS


def test_an_error_on_a_hidden_tab_is_shown_and_one_on_the_open_tab_stays_there(visit, home):
    window = visit()
    page = window.log_in()
    page.goto(page_of(home, "areas-and-counts"))
    page.fill("[name=numberOfRooms]", "many")
    page.click(".ps-tabs >> text=Texts")
    page.fill("[name=title]", "A new title")
    page.click("button[name=_continue]")
    page.wait_for_selector(".ps-error")
    expect(page).to_have_url(re.compile("#areas-and-counts$"))
    expect_open(page, "data", "areas-and-counts")
    assert page.evaluate("document.activeElement.name") == "numberOfRooms"
    assert page.input_value("[name=title]") == "A new title"
    page.click(".ps-tabs >> text=Texts")
    page.fill("[name=title]", "x" * 256)
    with page.expect_navigation():
        page.click("button[name=_continue]")
    expect_open(page, "texts")
    page.fill("[name=title]", "A new title")
    page.click(".ps-tabs >> text=Data")
    page.click(".ps-groups >> text=Areas and counts")
    page.fill("[name=numberOfRooms]", "4.5")
    page.click("button[name=_continue]")
    page.wait_for_selector(".ps-head >> text=A new title")
    expect(page).to_have_url(re.compile("#areas-and-counts$"))
    home.refresh_from_db()
    assert (home.desired["title"], home.desired["numberOfRooms"]) == ("A new title", 4.5)
    assert (window.foreign, window.errors) == ([], [])


@SIZES
def test_a_text_is_edited_beside_its_preview_which_has_no_markup(visit, home, width, theme):
    window = visit(width=width, theme=theme)
    page = window.log_in()
    page.goto(page_of(home, "texts"))
    area = page.locator("[name='localizations[1].description']")
    before = area.bounding_box()["height"]
    text = "Two rooms.\nA balcony.\n\n<img src=x onerror=alert(1)> & more" + "\nline" * 12
    area.fill(text)
    assert area.bounding_box()["height"] > before + 100
    counter = page.locator("[name='localizations[1].description'] + .ps-counter")
    assert counter.inner_text() == f"{len(text)} characters"
    preview = page.get_by_role("region", name="Preview of French (fr)")
    shown = preview.locator("p").all_inner_texts()
    assert shown[-3:] == [
        "Two rooms.\nA balcony.",
        "<img src=x onerror=alert(1)> & more" + "\nline" * 12,
        "The platform has no markup: tags are shown as they are.",
    ]
    assert preview.locator("img").count() == 0
    assert violations(page) == []
    page.click("button[name=_continue]")
    page.wait_for_selector(".ps-head >> text=Pending")
    assert area.input_value() == text
    home.refresh_from_db()
    assert home.desired["localizations"][1]["description"] == text
    assert (window.foreign, window.errors) == ([], [])


def test_the_overview_leads_to_the_field_that_waits(visit, home):
    refused = {"REFUSED": {"heatingType": "is not known there"}}
    Property.objects.filter(pk=home.pk).update(problem=refused, due_at=None)
    window = visit()
    page = window.log_in()
    page.goto(page_of(home))
    expect(page.locator("#overview-group")).to_contain_text("The platform refused it: is not known")
    page.locator(".ps-waiting").get_by_role("link", name="Heating type").click()
    expect_open(page, "data", "heating-and-energy")
    assert page.locator(".ps-waits [name=heatingType]").is_visible()
    home.refresh_from_db()
    edit(home, {"title": "Another"}, origin=Change.Origin.FEED, now=now())
    page.click(".ps-tabs >> text=Overview")
    page.wait_for_selector("text=2 fields differ from what the platform confirmed")
    page.get_by_role("link", name="See both sides").click()
    expect_open(page, "history")
    assert (window.foreign, window.errors) == ([], [])
