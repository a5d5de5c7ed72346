"""An operator decides who owns the prices, by mouse, and an agent sees it (docs/ownership.md)."""

from datetime import timedelta

import pytest
import time_machine
from django.utils.timezone import now

from properties.domain.editing import create
from properties.domain.owner_change import set_owner
from properties.merge import Owner
from properties.models import Change, Property
from tests.browser.conftest import picture
from tests.browser.test_accessibility import violations
from tests.browser.test_clicks import Hand
from tests.crm_sync.admin_pages import make_workspace
from tests.properties.form_page import make

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
REASON = "The platform owns this, by a rule of workspace main. Change it on the platform."


def test_who_owns_the_prices_is_decided_in_five_clicks_and_the_platform_s_price_is_adopted(
    visit, box, workspace, drain_all
):
    values = {"title": "Flat", "prices.rent": {"gross": 1500}}
    row = create(workspace, "A-1", values, origin=Change.Origin.ADMIN, now=now())
    drain_all()
    row.refresh_from_db()
    window = visit()
    hand = Hand(window.log_in())
    page = hand.page
    with hand.task(clicks=5):
        hand.go("Workspaces")
        page.click("#result_list a:has-text('main')")
        hand.press("Fields")
        page.get_by_label("Owner of Prices").click()
        page.get_by_label("Owner of Prices").select_option("The platform owns it")
        page.click("form[data-save]:has([aria-label='Owner of Prices']) button")
        hand.sees("Prices: The platform owns it. It was: By the conflict policy.")
    # The browser sets the focus only after it has drawn the page.
    page.wait_for_selector("[aria-label='Owner of Prices']:focus")
    box.edit_property(row.platform_id, {"prices": {"rent": {"gross": 1700}}})
    Property.objects.update(due_at=now())
    with time_machine.travel(now() + timedelta(seconds=2), tick=True):
        drain_all()
    page.goto(f"/admin/properties/property/{row.pk}/change/#prices")
    rent = page.locator("[name='prices.rent.gross']")
    assert (rent.input_value(), rent.is_disabled()) == ("1700", True)
    assert page.get_by_text(REASON).first.is_visible()
    assert (window.foreign, window.errors) == ([], [])


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_tab_and_the_form_fit_and_break_no_rule(visit, width, theme):
    main = make_workspace()
    row = make(main, title="Flat", prices__rent={"gross": 1500})
    for key, owner in {
        "group:Prices": Owner.THEIRS,
        "prices.rent": Owner.OURS,
        "commissions": Owner.NEVER,
        "title": Owner.NEVER,
        "characteristics": Owner.THEIRS,
        "energyCertificate": Owner.FILL,
    }.items():
        set_owner(main.pk, key, owner, now=now())
    window = visit(width=width, theme=theme)
    page = window.log_in()
    found, fits = [], "document.documentElement.scrollWidth <= window.innerWidth"

    def look(name: str) -> None:
        found.extend(violations(page))
        assert page.evaluate(fits)
        picture(page, f"owners-{name}-{width}-{theme}")

    page.goto(f"/admin/properties/property/owners/{main.pk}/")
    look("closed")
    page.get_by_role("link", name="Show its 12 fields of Prices").click()
    page.get_by_label("Owner of Rent", exact=True).wait_for()
    look("open")
    page.goto(f"/admin/properties/property/{row.pk}/change/")
    page.click(".ps-tabs a[href='#data']")
    for tab in ("general", "prices", "amenities"):
        page.click(f".ps-groups a[href='#{tab}']")
        page.locator(f"#{tab}-group").wait_for()
        look(f"form-{tab}")
    assert (found, window.errors, window.foreign) == ([], [], [])
