"""Fields of many properties are set and taken back, by mouse, as a person does it."""

import pytest
from django.contrib.auth.models import User
from django.utils.timezone import now

from properties.domain import undo_steps
from properties.domain.editing import edit
from properties.models import Batch, Property, Undo
from tests.browser.conftest import picture
from tests.browser.test_accessibility import violations
from tests.browser.test_clicks import Hand
from tests.crm_sync.admin_pages import make_workspace
from tests.properties.form_page import make

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def states() -> list[str]:
    found = [row.desired.get("availabilityState") for row in Property.objects.order_by("pk")]
    return [str(state) for state in found]


def forty() -> list[Property]:
    workspace = make_workspace()
    return [
        make(workspace, f"A-{n:02}", title=f"Flat {n}", availabilityState="ACTIVE")
        for n in range(40)
    ]


def test_the_availability_of_forty_is_set_in_five_clicks_and_undone_in_four(visit):
    forty()
    window = visit()
    hand = Hand(window.log_in())
    page = hand.page
    with hand.task(clicks=5):
        hand.go("Properties")
        page.click("#action-toggle")
        page.click(".actions .question a")  # all 40: a page of the list shows fewer
        hand.press_button("Set…")
        page.locator("#find:focus").press_sequentially("availability state")
        page.select_option("[name=availabilityState]", "RESERVED")
        page.locator("[name=availabilityState]").press("Enter")
        hand.press_button("Set them now")
        hand.sees("Undo for all takes back what nobody has changed since")
    assert states() == ["RESERVED"] * 40
    with hand.task(clicks=4):
        hand.go("What changed")
        page.click("a:has-text('batch') >> nth=0")
        page.click("a:has-text('Undo these')")
        hand.press_button("Undo them now")
        hand.sees("A worker does it")
    undo_steps.finish(Undo.objects.get())
    assert states() == ["ACTIVE"] * 40
    assert (window.foreign, window.errors) == ([], [])


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_pages_of_an_edit_fit_and_break_no_rule(visit, width, theme):
    rows = forty()
    window = visit(width=width, theme=theme)
    page = window.log_in()
    batch = Batch.objects.create(kind=Batch.Kind.SET)
    batch.properties.set(rows)
    found, fits = [], "document.documentElement.scrollWidth <= window.innerWidth"

    def look(name: str) -> None:
        found.extend(violations(page))
        assert page.evaluate(fits)
        picture(page, f"set-{name}-{width}-{theme}")

    page.goto(f"/admin/properties/property/batch/{batch.pk}/")
    look("empty")
    page.fill("#find", "rent net")
    assert page.locator(".ps-field:visible").count() == 3  # the search, the net rent, the clearing
    page.fill("[name='prices.rent.net']", "many")
    page.click("text=Show the plan")
    page.wait_for_selector(".ps-error")
    look("wrong")
    page.fill("[name='prices.rent.net']", "1250")
    page.fill("#find", "latitude")
    page.fill("[name='address.geo.latitude']", "46.5")
    page.fill("#find", "availability state")
    page.select_option("[name=availabilityState]", "RESERVED")
    page.click("text=Show the plan")
    page.wait_for_selector("text=Set them now")
    look("plan")
    anna = User.objects.create_user("anna")
    edit(rows[3], {"availabilityState": "TAKEN"}, origin="ADMIN", actor=anna, now=now())
    page.click("text=Set them now")
    page.wait_for_selector("text=Undo for all")
    look("result")
    page.click("a:has-text('Undo for all')")
    page.wait_for_selector("text=Undo them now")
    look("undo")
    assert (found, window.errors, window.foreign) == ([], [], [])


def test_an_edit_that_was_interrupted_goes_on_when_its_page_is_opened(visit, monkeypatch):
    rows = forty()
    monkeypatch.setattr("properties.admin.property.bulk_edit_page.SECONDS", 0.1)
    window = visit()
    page = window.log_in()
    batch = Batch.objects.create(kind=Batch.Kind.SET)
    batch.properties.set(rows)
    page.goto(f"/admin/properties/property/batch/{batch.pk}/")
    page.fill("#find", "availability state")
    page.select_option("[name=availabilityState]", "RESERVED")
    page.click("text=Show the plan")
    page.click("text=Set them now")
    page.wait_for_selector("text=Undo for all takes back")
    page.wait_for_selector("text=still to be set", state="detached")
    assert states() == ["RESERVED"] * 40
    assert (window.foreign, window.errors) == ([], [])
