"""The admin for people with a keyboard or a screen reader: axe and the keyboard on every page."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.test_admin import every_page, stock  # noqa: F401 - a fixture

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(visit, stock, width, theme):  # noqa: F811
    window = visit(width=width, theme=theme)
    window.page.goto("/admin/login/")
    found = violations(window.page)
    page = window.log_in()
    for address in every_page():
        page.goto(address, wait_until="load")
        found += violations(page)
    print("\n".join(found))
    assert not found
    assert (window.foreign, window.errors) == ([], [])


def violations(page) -> list[str]:
    return [
        f"{page.url}: {one['id']} ({one['impact']}): {one['nodes'][0]['html'][:200]}"
        for one in Axe().run(page).response["violations"]
    ]


def test_the_first_tab_of_each_page_leads_past_the_sidebar(visit, stock):  # noqa: F811
    page = visit().log_in()
    page.goto(reverse("admin:properties_property_changelist"))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#content') !== null")


@pytest.mark.parametrize("key", ["Enter", " "])
def test_the_filters_of_a_list_open_by_keyboard(visit, stock, key):  # noqa: F811
    page = visit(width=390).log_in()
    page.goto(reverse("admin:properties_property_changelist"))
    filters = page.get_by_role("button", name="Filters").first
    filters.focus()
    page.keyboard.press(key)
    page.get_by_text("By state").first.wait_for()
