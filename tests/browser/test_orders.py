"""An agent follows an order and changes it, in a real browser: no reload, nothing lost."""

import pytest
from django.urls import reverse
from django.utils.timezone import now

from orders.models import Assignment, ChangeRequest, Order
from properties.domain.editing import edit
from properties.models import Change, Property
from tests.browser.test_admin import stock

__all__ = ["stock"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SIZES = pytest.mark.parametrize(("width", "theme"), [(1400, "light"), (390, "dark")])


def open_order(page) -> Order:
    order = Order.objects.get()
    page.goto(reverse("admin:orders_order_change", args=[order.pk]))
    return order


def mark(page) -> None:
    """Leave something that a reload would take away."""
    page.evaluate("window.stays = true")


def step(box, drain_all) -> None:
    box.step()
    box.deliver()
    drain_all()


@SIZES
def test_the_page_follows_an_order_to_its_delivery_without_a_reload(
    visit, box, stock, drain_all, width, theme
):
    window = visit(width=width, theme=theme)
    page = window.log_in()
    open_order(page)
    page.wait_for_selector(".cs-assignment >> text=Date and time are set.")
    mark(page)
    link = page.locator(".cs-assignment a[href^=mailto] >> nth=0")
    link.focus()
    page.evaluate("window.scrollTo(0, 120)")
    top = page.evaluate("window.scrollY")
    for text in ("The material is being edited.", "It was delivered."):
        step(box, drain_all)
        page.wait_for_selector(f".cs-assignment >> text={text}")
    page.wait_for_selector(".cs-steps li[aria-current] >> nth=0", state="detached")
    page.wait_for_selector("[data-part=materials] .og-tile")
    assert page.inner_text(".cs-head h2").split("\n")[-1].strip().endswith("Completed")
    assert page.evaluate("window.stays") is True
    assert link.evaluate("link => link === document.activeElement")
    assert page.evaluate("window.scrollY") >= top > 0
    assert page.get_by_role("link", name="Cancel the order…").count() == 0
    assert (window.foreign, window.errors) == ([], [])


@SIZES
def test_an_agent_asks_for_another_appointment(visit, box, stock, drain_all, width, theme):
    window = visit(width=width, theme=theme)
    page = window.log_in()
    order = open_order(page)
    page.get_by_role("link", name="Reschedule…").click()
    page.select_option("[name=assignment]", label="Ground photo")
    page.fill("[name=proposed_at]", f"{now().year + 1}-07-01T10:30")
    page.select_option("[name=user]", label="Agent One (AGENT-1)")
    page.fill("[name=reason]", "The tenant moves out later.")
    page.get_by_role("button", name="Next").click()
    page.wait_for_selector(f"text=1 Jul {now().year + 1}, 10:30 UTC")
    assert not ChangeRequest.objects.exists()
    page.click("summary")
    assert '"reason": "The tenant moves out later."' in page.inner_text("pre")
    page.get_by_role("button", name="Ask for another appointment").dblclick()
    page.wait_for_selector(".cs-assignment >> text=Photographer and date are being arranged again.")
    assert (ChangeRequest.objects.get().outcome, order.pk) == ("DONE", Order.objects.get().pk)
    mark(page)
    photos = Assignment.objects.get(products=["GROUND_PHOTO"])
    for _ in range(2):
        box.advance(photos.platform_id)
    box.deliver()
    drain_all()
    page.wait_for_selector(f"article >> text=1 Jul {now().year + 1}, 10:30 UTC")
    assert page.evaluate("window.stays") is True
    assert (window.foreign, window.errors) == ([], [])


@SIZES
def test_an_agent_cancels_an_order(visit, box, stock, width, theme):
    window = visit(width=width, theme=theme)
    page = window.log_in()
    open_order(page)
    page.get_by_role("link", name="Cancel the order…").click()
    page.select_option("[name=user]", label="Agent One (AGENT-1)")
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Cancel the order").click()
    page.wait_for_selector("text=The order is cancelled.")
    page.wait_for_selector(".cs-timeline >> text=agent asked to cancel the order")
    assert box.workspace.orders[Order.objects.get().platform_id]["status"] == "CANCELLED"
    over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert (window.foreign, window.errors, over) == ([], [], 0)


@SIZES
def test_an_agent_looks_at_the_calendar_and_takes_it_along(visit, stock, width, theme):
    Assignment.objects.update(scheduled_at=now())
    window = visit(width=width, theme=theme)
    page = window.log_in()
    page.goto(reverse("admin:orders_order_calendar"))
    for view in ("Month", "Week", "List"):
        page.get_by_role("link", name=view, exact=True).click()
        page.wait_for_selector(f".oc-{view.lower()} .oc-entry >> nth=1")
        over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert (view, over) == (view, 0)
    page.get_by_role("link", name="After").click()
    page.wait_for_selector("text=Nobody comes in this time.")
    page.get_by_role("button", name="Make an address").click()
    page.wait_for_selector("text=It is shown only now")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    page.wait_for_selector("text=Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == page.inner_text("pre")
    assert page.get_by_role("img", name="The address above as a QR code").is_visible()
    over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert over == 0
    address = page.inner_text("pre").partition("/calendar.ics")
    fetched = page.request.get(f"/calendar.ics{address[2]}")
    assert (fetched.status, fetched.text().count("BEGIN:VEVENT")) == (200, 2)
    page.get_by_role("link", name="I have saved it").click()
    page.get_by_role("button", name="Revoke").click()
    page.wait_for_selector("text=The address leads nowhere any more.")
    assert page.request.get(f"/calendar.ics{address[2]}").status == 404
    assert (window.foreign, window.errors) == ([], [])


def test_the_state_of_a_property_moves_while_somebody_types(visit, stock, drain_all):
    row = Property.objects.get(object_reference_id="MH-1001")
    window = visit()
    page = window.log_in()
    page.goto(reverse("admin:properties_property_change", args=[row.pk]) + "#texts")
    page.fill("[name=title]", "Half a sen")
    mark(page)
    edit(row, {"numberOfRooms": 4}, origin=Change.Origin.FEED, now=now())
    page.wait_for_selector(".ps-head >> text=Pending")
    page.wait_for_selector("text=The fields were changed since you opened this page.")
    page.keyboard.type("tence")
    drain_all()
    page.wait_for_selector(".ps-head >> text=In sync")
    assert page.input_value("[name=title]") == "Half a sentence"
    assert page.evaluate("window.stays") is True
    assert (window.foreign, window.errors) == ([], [])
