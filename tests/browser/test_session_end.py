"""A session ends while somebody types: nothing is sent, and nothing of the page is lost (S17)."""

import pytest
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.urls import reverse
from playwright.sync_api import Page, expect

from properties.models import Property
from tests.browser.conftest import PASSWORD
from tests.browser.test_accessibility import violations
from tests.browser.test_lists import FAST
from tests.crm_sync.admin_pages import make_workspace
from tests.properties.form_page import make

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
FITS = "document.documentElement.scrollWidth <= window.innerWidth"
TYPED = "Typed for a long time"


def note(page: Page):
    return page.get_by_text("You are logged out, so nothing is saved. Log in in another tab")


def log_in_again(page: Page) -> None:
    with page.expect_popup() as opened:
        note(page).get_by_role("link").click()
    other = opened.value
    other.fill("[name=username]", "agent")
    other.fill("[name=password]", PASSWORD)
    other.click("button[type=submit]")
    other.wait_for_url("**/admin/")
    expect(note(page)).to_be_hidden(timeout=20_000)  # it asks again every five seconds


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_form_of_a_page_that_does_not_update_itself_is_held_and_saved_later(visit, width, theme):
    window = visit(width=width, theme=theme)
    page = window.log_in_by_form()
    page.goto(reverse("admin:auth_group_add"))
    page.fill("[name=name]", TYPED)
    Session.objects.all().delete()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(note(page)).to_be_visible()
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)  # the colour of a button that is pointed at fades
    assert (page.evaluate(FITS), violations(page)) == (True, [])
    assert not Group.objects.filter(name=TYPED).exists()
    log_in_again(page)
    assert page.input_value("[name=name]") == TYPED
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_selector("text=was added successfully")
    assert Group.objects.filter(name=TYPED).exists()
    assert (window.foreign, window.errors) == ([], [])


def test_a_page_that_updates_itself_says_it_before_anything_is_sent(visit):
    home = make(make_workspace(), "A-1", title="Flat")
    window = visit()
    page = window.log_in_by_form()
    page.goto(f"{reverse('admin:properties_property_change', args=[home.pk])}#texts")
    page.fill("[name=title]", TYPED)
    page.evaluate(FAST)
    Session.objects.all().delete()
    expect(note(page)).to_be_visible()
    log_in_again(page)
    assert page.input_value("[name=title]") == TYPED
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_selector("text=was changed successfully")
    assert (Property.objects.get().desired["title"], window.foreign) == (TYPED, [])


def test_without_an_answer_a_form_is_sent_as_always(visit):
    home = make(make_workspace(), "A-1", title="Flat")
    page = visit().log_in()
    page.goto(f"{reverse('admin:properties_property_change', args=[home.pk])}#texts")
    page.fill("[name=title]", TYPED)
    page.route("**/admin/session/", lambda route: route.abort())
    page.get_by_role("button", name="Save", exact=True).dblclick()
    page.wait_for_selector("text=was changed successfully")
    assert Property.objects.get().desired["title"] == TYPED


def test_a_double_click_sends_a_form_once(visit):
    home = make(make_workspace(), "A-1", title="Flat")
    page = visit().log_in()
    page.goto(f"{reverse('admin:properties_property_change', args=[home.pk])}#texts")
    page.fill("[name=title]", TYPED)
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.url) if one.method == "POST" else None)
    page.get_by_role("button", name="Save", exact=True).click(click_count=2, delay=60)
    page.wait_for_selector("text=was changed successfully")
    assert len(sent) == 1
