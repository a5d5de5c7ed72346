"""The search for everything in a real browser, by keyboard and by mouse."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from django.utils.timezone import now

from properties.domain.editing import create
from properties.models import Property
from tests.browser.test_admin import make_workspace

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def houses(transactional_db, box) -> list[Property]:
    workspace = make_workspace()
    rows = []
    for number, street in ((2010, "Seestrasse"), (2011, "Bahnhofstrasse")):
        place = {"street": street, "streetNumber": "12", "postalCode": "8001"}
        document = {"title": "Helle Wohnung", "address": place | {"locality": "Zürich"}}
        rows.append(create(workspace, f"ZH-{number}", document, origin="ADMIN", now=now()))
    return rows


def page_of(row: Property) -> str:
    return reverse("admin:properties_property_change", args=[row.pk])


def test_a_reference_and_enter_open_the_property(visit, houses):
    window = visit()
    page = window.log_in()
    page.keyboard.press("Control+k")
    page.keyboard.type("ZH-2010")
    page.keyboard.press("Enter")  # before any answer is there
    page.wait_for_url(f"**{page_of(houses[0])}")
    assert (window.foreign, window.errors) == ([], [])


def test_the_arrows_choose_and_enter_opens_and_escape_goes_back(visit, houses):
    window = visit()
    page = window.log_in()
    button = page.get_by_role("button", name="Search everything")
    button.click()
    page.keyboard.press("Enter")  # nothing is typed, and nothing breaks
    page.keyboard.type("zurich 8001")
    page.locator(".cs-hits a").nth(1).wait_for()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.matches('[data-palette]')")
    page.keyboard.press("Control+k")
    for key in ("ArrowUp", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{page_of(houses[1])}")
    assert (window.foreign, window.errors) == ([], [])


@pytest.mark.parametrize(("width", "theme"), [(1400, "light"), (1400, "dark"), (390, "dark")])
def test_axe_finds_nothing_and_nothing_is_too_wide(visit, houses, width, theme):
    window = visit(width=width, theme=theme)
    page = window.log_in()
    page.get_by_role("button", name="Search everything").click()
    page.keyboard.type("nirgends")
    page.get_by_text("Nothing has all of these words").wait_for()
    page.locator("dialog input").fill("helle")
    page.locator(".cs-hits a").nth(1).wait_for()
    found = Axe().run(page, context="dialog").response["violations"]
    assert [one["id"] for one in found] == []
    assert not page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    assert (window.foreign, window.errors) == ([], [])


def test_without_an_answer_it_says_so_and_enter_asks_again(visit, houses):
    window = visit()
    page = window.log_in()
    page.route("**/admin/search/**", lambda route: route.abort())
    page.keyboard.press("Control+k")
    page.keyboard.type("ZH-2011")
    page.get_by_text("Press Enter to ask again").wait_for()
    page.unroute("**/admin/search/**")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{page_of(houses[1])}")
    assert window.errors == []
