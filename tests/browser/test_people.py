"""People in a real browser: an invitation, a forgotten password, and the zone of the browser."""

import pytest
from django.contrib.auth.models import User
from django.core import mail

from crm_sync.security import password_links
from orders.models import PersonSettings, PlatformUser
from tests.browser.test_accessibility import violations
from tests.browser.test_admin import stock
from tests.browser.test_clicks import Hand, hand
from tests.crm_sync.test_password_links import (
    NEW,
    link_in,
    mails,  # noqa: F401 - each test uses it
)

__all__ = ["hand", "stock"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SIZES = pytest.mark.parametrize(("width", "theme"), [(1400, "light"), (390, "dark")])


def check(page) -> None:
    """The page is not too wide, and axe finds nothing on it."""
    assert not page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    assert violations(page) == []


def set_password(page, link: str) -> None:
    page.goto(link)
    assert "link=" not in page.url
    check(page)
    page.fill("[name=new_password1]", NEW)
    page.fill("[name=new_password2]", NEW)
    page.get_by_role("button", name="Set the password").click()
    page.wait_for_url("**/admin/login/")


def log_in(page, name: str) -> None:
    page.fill("[name=username]", name)
    page.fill("[name=password]", NEW)
    page.click("button[type=submit]")
    page.wait_for_url("**/admin/")


def test_a_person_is_invited_in_five_clicks_and_logs_in(hand: Hand, visit):
    page = hand.page
    PlatformUser.objects.filter(platform_id="102").update(account=None)
    with hand.task(clicks=4):  # Settings, Users, Invite…, Invite; the choices are by keyboard
        page.click("#nav-sidebar-apps >> text=Settings")
        hand.go("Users")
        page.get_by_role("link", name="Invite…").click()
        check(page)
        page.fill("[name=name]", "Ada Lovelace")
        page.fill("[name=email]", "ada@example.com")
        page.select_option("[name=group]", label="Agents")
        assert page.is_checked("[name=workspaces]")  # the only one is chosen
        page.select_option("[name=platform_user]", index=1)
        hand.press_button("Invite")
        hand.sees("A link to set the password went to ada@example.com.")
    ada = User.objects.get(username="ada@example.com")
    assert ada.platform_users.count() == 1
    other = visit(width=390, theme="dark")
    set_password(other.page, link_in(mail.outbox[0].body))
    log_in(other.page, "ada@example.com")
    assert (other.foreign, other.errors) == ([], [])


@SIZES
def test_a_forgotten_password_is_replaced(visit, stock, width, theme):
    User.objects.create_user("ada", email="ada@example.com", password="x", is_staff=True)
    window = visit(width=width, theme=theme)
    page = window.page
    page.goto("/admin/login/")
    page.get_by_role("link", name="Forgotten your password?").click()
    check(page)
    page.fill("[name=email]", "ada@example.com")
    page.get_by_role("button", name="Mail me a link").click()
    page.wait_for_selector("text=a link is on its way")
    password_links.outbox.submit(int).result()
    set_password(page, link_in(mail.outbox[0].body))
    log_in(page, "ada")
    assert (window.foreign, window.errors) == ([], [])


@SIZES
def test_the_zone_of_the_browser_is_proposed_once(browser, visit, stock, width, theme):
    window = visit(width=width, theme=theme, zone="Europe/Zurich")
    page = window.log_in()
    page.wait_for_selector("text=your browser is in Europe/Zurich")
    check(page)
    page.get_by_role("button", name="Use Europe/Zurich").click()
    page.wait_for_selector("text=All times are shown in Europe/Zurich now.")
    assert PersonSettings.objects.get().time_zone == "Europe/Zurich"
    assert page.locator("[data-zone]").count() == 0
    assert (window.foreign, window.errors) == ([], [])


def test_a_browser_with_the_clock_of_the_page_is_asked_nothing(visit, stock):
    page = visit(zone="Africa/Abidjan").log_in()  # another name for the same clock
    page.wait_for_load_state("networkidle")
    assert page.locator("[data-zone]").is_hidden()
