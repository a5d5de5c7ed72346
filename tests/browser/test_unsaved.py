"""Forms of our own ask before a person leaves with something that is not saved, as Django's do."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from properties.models import Batch, Property
from tests.browser.test_admin import stock
from tests.browser.test_attention import disagree
from tests.properties.feeds.test_imports_columns import FOREIGN
from tests.properties.uploaded import upload, work

__all__ = ["stock"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def window(visit):
    """A window that records each question of the browser, and stays on its page."""
    window = visit()
    window.log_in()
    window.asked = []
    window.page.on("dialog", lambda one: (window.asked.append(one.type), one.dismiss()))
    return window


def leaves(window) -> list[str]:
    """Press a link, and return what the browser asked."""
    window.asked.clear()
    window.page.locator("#nav-sidebar-apps a:has(span:text-is('Orders'))").click()
    window.page.wait_for_timeout(500)
    return window.asked


def test_set_asks_about_what_was_entered_and_not_about_a_search(window, stock):
    batch = Batch.objects.create(kind=Batch.Kind.SET)
    batch.properties.set(Property.objects.all())
    address = f"/admin/properties/property/batch/{batch.pk}/"
    window.page.goto(address)
    window.page.locator("#find").press_sequentially("availability state")
    assert leaves(window) == []
    window.page.wait_for_url("**/admin/orders/order/")
    window.page.goto(address)
    window.page.locator("#find").press_sequentially("availability state")
    window.page.select_option("[name=availabilityState]", "RESERVED")
    assert leaves(window) == ["beforeunload"]
    window.page.get_by_role("button", name="Show the plan").click()
    window.page.wait_for_selector("text=Set them now")
    assert window.asked == ["beforeunload"]


def test_decide_asks_about_what_was_chosen(window, box, stock, drain_all):
    row = disagree(box, drain_all)
    window.page.goto(reverse("admin:properties_conflict_decide", args=[row.pk]))
    window.page.get_by_role("radiogroup", name="Rent: Gross").get_by_text("2,400").click()
    window.page.wait_for_selector("text=Stays open: 1 of 2 not chosen yet")
    assert leaves(window) == ["beforeunload"]


def test_the_columns_of_an_import_ask_about_what_was_entered(window, stock, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    row = upload(stock, User.objects.get(username="agent"), FOREIGN)
    work(row)
    window.page.goto(reverse("admin:properties_import_change", args=[row.pk]))
    window.page.fill("[name=column-0]", "objectReferenceId")
    assert leaves(window) == ["beforeunload"]
