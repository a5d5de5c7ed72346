"""A second factor in Chromium: set up, asked for and shown, in each width and theme."""

import pytest
from django.contrib.auth.models import User

from tests.browser.conftest import PASSWORD
from tests.browser.test_accessibility import violations
from tests.crm_sync.test_second_factor import LISTED, LOGIN, MINE, code

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_person_sets_it_up_and_logs_in_with_it(visit, settings, width, theme):
    settings.ADMIN_SECOND_FACTOR = "required"
    window = visit(width=width, theme=theme)
    page, wide, found = window.page, [], []

    def look() -> None:
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            wide.append(page.url)
        found.extend(violations(page))

    def log_in(shown: str = "") -> None:
        page.goto(LOGIN)
        page.fill("[name=username]", "agent")
        page.fill("[name=password]", PASSWORD)
        page.fill("[name=code]", shown)
        look()
        page.click("button[type=submit]")

    User.objects.create_superuser("agent", "", PASSWORD)
    log_in()
    page.wait_for_url(f"**{MINE}")
    look()
    page.get_by_role("button", name="Set it up").click()
    secret = page.inner_text("pre").replace(" ", "")
    look()
    page.fill("[name=code]", "000000")
    page.get_by_role("button", name="Set it up").click()
    page.get_by_text("This code is wrong").wait_for()
    look()
    page.wait_for_timeout(1100)  # of the pause after it
    page.fill("[name=code]", code(secret))
    page.get_by_role("button", name="Set it up").click()
    page.locator("#content").get_by_role("heading", name="Your recovery codes").wait_for()
    codes = page.inner_text("pre").split()
    look()
    for address in (MINE, LISTED):
        page.goto(address)
        look()
    page.context.clear_cookies()
    log_in()
    page.get_by_text("Enter the code that your app shows").wait_for()
    look()
    log_in(codes[0])
    page.wait_for_url("**/admin/")
    assert (window.foreign, window.errors, wide, found) == ([], [], [], [])
