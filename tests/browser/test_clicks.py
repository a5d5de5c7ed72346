"""What an agent and an operator do every day, from the overview: five clicks or fewer each.

The browser counts each press of the mouse. Typing does not count, nor does the dialog of the system
that a file is chosen in.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils.timezone import now
from playwright.sync_api import Page

from crm_sync.models import Hold
from orders.models import Assignment, ChangeRequest, Placement, PlatformUser
from orders.platform_users import user_list
from properties.domain.editing import create, edit
from properties.models import Batch, Change, Property
from tests.browser.test_admin import stock
from tests.browser.test_attention import disagree
from tests.browser.test_gallery import delivered, folder
from tests.properties.uploaded import table

__all__ = ["delivered", "folder", "stock"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
MOST = 5
COUNT = "addEventListener('mousedown', () => sessionStorage.clicks++, true)"


class Hand:
    """A person with a mouse, on one page."""

    def __init__(self, page: Page):
        self.page = page
        page.add_init_script(COUNT)

    @contextmanager
    def task(self, clicks: int) -> Iterator[None]:
        """Begin on the overview; the clicks until the end are as many as said."""
        self.page.goto("/admin/")
        self.page.evaluate("sessionStorage.clicks = 0")
        yield
        assert int(self.page.evaluate("sessionStorage.clicks")) == clicks <= MOST

    def go(self, name: str) -> None:
        """Press a line of the sidebar."""
        self.page.click(f"#nav-sidebar-apps a:has(span:text-is('{name}'))")

    def find(self, words: str) -> None:
        """Search the list of properties for MH-1002, and open it: two presses."""
        self.go("Properties")
        self.page.fill("[name=q]", words)
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector("text=MH-1001", state="detached")
        self.page.click("#result_list a:has-text('MH-1002')")
        self.page.wait_for_selector(".ps-head")

    def press(self, name: str, role: str = "link") -> None:
        self.page.get_by_role(role, name=name, exact=True).first.click()

    def press_button(self, name: str) -> None:
        self.press(name, "button")

    def sees(self, text: str) -> None:
        self.page.wait_for_selector(f"text={text}")


@pytest.fixture
def hand(visit, box, stock, drain_all) -> Iterator[Hand]:
    """Return the hand of somebody who is a user of the platform as well."""
    user_list.ask(stock.pk, now())
    drain_all()
    window = visit()
    hand = Hand(window.log_in())
    account = User.objects.get(username="agent")
    PlatformUser.objects.filter(platform_id="101").update(account=account)
    yield hand
    assert (window.foreign, window.errors) == ([], [])


def test_properties_are_found_edited_undone_pushed_and_exported(hand, drain_all):
    page = hand.page
    with hand.task(clicks=2):  # find
        hand.find("MH-1002")
    row = Property.objects.get(object_reference_id="MH-1002")
    before = row.desired["title"]
    with hand.task(clicks=4):  # edit
        hand.go("Properties")
        page.click("#result_list a:has-text('MH-1002')")
        page.click(".ps-tabs >> text=Texts")
        page.fill("[name=title]", "House with a large garden")
        hand.press_button("Save")
        hand.sees("was changed successfully")
    with hand.task(clicks=4):  # undo
        hand.go("Properties")
        page.click("#result_list a:has-text('MH-1002')")
        page.click("a[href$='/history/']")
        hand.press_button("Undo")
        hand.sees("Title is what it was before")
    row.refresh_from_db()
    assert row.desired["title"] == before
    drain_all()
    for one in Property.objects.all():
        edit(one, {"title": "Another"}, origin=Change.Origin.FEED, now=now())
    with hand.task(clicks=4):  # push many
        hand.go("Properties")
        page.click("#action-toggle")
        hand.press_button("Send to the platform…")
        hand.press_button("Send them now")
        hand.sees("Workers do it whether this page is open or not.")
    assert Batch.objects.get().kind == Batch.Kind.PUSH
    with hand.task(clicks=3):  # export
        hand.go("Properties")
        page.click("#action-toggle")
        with page.expect_download() as download:
            hand.press_button("Export as CSV")
        assert "MH-1002" in download.value.path().read_text()


def test_a_street_a_phone_number_and_the_day_are_found(hand):
    page, row = hand.page, Property.objects.get(object_reference_id="MH-1002")
    owner = {"seller": {"contactPerson": {"phone": "+41 44 123 45 67"}}}
    street = {"address": {"street": "Seestrasse", "streetNumber": "12", "locality": "Zürich"}}
    edit(row, owner | street, origin=Change.Origin.FEED, now=now())
    Assignment.objects.update(status="SCHEDULED", scheduled_at=now() + timedelta(minutes=5))
    with hand.task(clicks=2):  # by its street, as people type it
        hand.find("zurich seestrasse 12")
    with hand.task(clicks=2):  # by a phone number, in the search for everything
        hand.press_button("Search everything")
        page.keyboard.type("044 123 45 67")
        page.click(".cs-hits a:has-text('MH-1002')")
        page.wait_for_selector(".ps-head")
    with hand.task(clicks=1):  # today's appointments stand on the first page
        page.click("[data-part=today] tbody a >> nth=0")
        page.wait_for_url("**/orders/order/*/change/")


def test_sending_is_paused_and_resumed(hand):
    page = hand.page
    with hand.task(clicks=4):
        hand.go("Workspaces")
        page.click("#result_list tbody a >> nth=0")
        page.get_by_role("navigation", name="Workspace").get_by_role("link", name="Pause").click()
        page.get_by_label("Reason").fill("The feed has wrong prices")
        hand.press_button("Pause")
        page.get_by_role("button", name="Resume").first.wait_for()
    assert Hold.objects.active(now()).exists()
    with hand.task(clicks=2):  # the banner leads there
        hand.press("Resume it on the tab Pause.")
        page.get_by_role("button", name="Resume").first.click()
        page.wait_for_selector("text=Resumed:")
    assert not Hold.objects.active(now()).exists()


def test_a_feed_is_imported(hand, drain_all, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    feed = tmp_path / "stock.csv"
    feed.write_bytes(table(["A1", "A2"]))
    with hand.task(clicks=4):
        hand.go("Imports")
        hand.press("Import a feed")
        hand.page.set_input_files("[name=file]", feed)
        hand.press_button("Upload")
        hand.sees("A worker looks at the file")
        drain_all()
        hand.sees("This is what the import would do")
        hand.press_button("Import")
        hand.sees("A worker imports the file")
        drain_all()
        hand.sees("All records were imported.")
    assert Property.objects.filter(object_reference_id__in=["A1", "A2"]).count() == 2


def test_orders_are_placed_rescheduled_and_cancelled(hand, drain_all):
    page = hand.page
    with hand.task(clicks=5):  # reschedule
        hand.go("Orders")
        page.click("#result_list tbody a >> nth=0")
        hand.press("Reschedule…")
        page.fill("[name=proposed_at]", f"{now().year + 1}-07-01T10:30")
        hand.press_button("Next")
        hand.press_button("Ask for another appointment")
        hand.sees("Photographer and date are being arranged again.")
    with hand.task(clicks=5):  # cancel
        hand.go("Orders")
        page.click("#result_list tbody a >> nth=0")
        hand.press("Cancel the order…")
        hand.press_button("Next")
        hand.press_button("Cancel the order")
        hand.sees("The order is cancelled.")
    assert ChangeRequest.objects.filter(outcome="DONE").count() == 2
    with hand.task(clicks=5):  # place from an empty form
        hand.go("Properties")
        page.click("#result_list a:has-text('MH-1002')")
        page.click("text=Order…")
        page.fill("[name=quantity-11]", "1")
        hand.press_button("Review")
        page.get_by_role("button", name="Place this order for 249.00 EUR").click()
        hand.sees("A worker places it now")
    drain_all()
    with hand.task(clicks=5):  # place as last time; Enter reviews it
        hand.go("Properties")
        page.click("#result_list a:has-text('MH-1001')")
        page.click("text=Order…")
        hand.press_button("As last time")
        page.wait_for_selector("[data-sum]:text-is('249.00 EUR')")
        page.focus("[name=quantity-11]")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Place this order for 249.00 EUR").click()
        hand.sees("A worker places it now")
    drain_all()
    workspace = Property.objects.all()[0].workspace
    for number in range(5):
        create(workspace, f"FIVE-{number}", {"title": "Flat"}, origin="ADMIN", now=now())
    drain_all()
    with hand.task(clicks=5):  # place for five from an empty form
        hand.go("Properties")
        page.fill("[name=q]", "FIVE-")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=MH-1001", state="detached")
        page.click("#action-toggle")
        hand.press_button("Order for these…")
        hand.sees("is ordered for all 5 properties")
        page.fill("[name=quantity-11]", "1")
        page.wait_for_selector("[data-sum]:text-is('249.00 EUR each, about 1,245.00 EUR for 5')")
        hand.press_button("Review")
        hand.sees("A worker opens a session for each")
        drain_all()
        page.get_by_role("button", name="Place 5 orders for 1,245.00 EUR").click()
        hand.sees("Workers place them one after the other")
    drain_all()
    assert set(Placement.objects.values_list("state", flat=True)) == {"PLACED"}


def test_events_are_replayed_secrets_rotated_and_dead_workers_seen(hand, box):
    page = hand.page
    with hand.task(clicks=0):  # see that no worker runs
        hand.sees("No worker")
    with hand.task(clicks=4):  # replay
        hand.go("Received events")
        row = page.locator("#result_list tbody tr:has-text('ORDER_STATUS_UPDATED')").first
        row.locator("input[type=checkbox]").click()
        hand.press_button("Replay…")
        page.get_by_role("button", name="Replay 1").click()
        hand.sees("A worker plays them now")
    with hand.task(clicks=4):  # rotate the secret
        before = box.workspace.webhook["authSecret"]
        hand.go("Workspaces")
        page.click("#result_list tbody a >> nth=0")
        page.get_by_role("navigation", name="Workspace").get_by_role("link", name="Webhook").click()
        hand.press_button("Rotate the secret")
        hand.sees("The platform has a new secret")
    assert box.workspace.webhook["authSecret"] != before


def test_a_conflict_is_decided(hand, box, drain_all):
    page = hand.page
    row = disagree(box, drain_all)
    with hand.task(clicks=4):
        hand.go("Conflicts")
        page.click("#result_list tbody tr:has-text('Title') a >> nth=0")
        page.get_by_role("radiogroup", name="Title", exact=True).get_by_text("Theirs").last.click()
        hand.press_button("Decide what is chosen")
        hand.sees("Still open: 2.")
    row.refresh_from_db()
    assert row.desired["title"] == "Theirs"


def test_pictures_are_looked_at_and_saved(hand, delivered):
    page = hand.page
    with hand.task(clicks=4):  # one
        hand.go("Orders")
        page.click("#result_list tbody a >> nth=0")
        page.locator("a[data-view]").nth(0).click()
        viewer = page.get_by_role("dialog", name="Pictures")
        with page.expect_download() as saving:
            viewer.get_by_role("link", name="ground-photo-1.png, HD, save").click()
    assert saving.value.suggested_filename == "ground-photo-1.png"
    with hand.task(clicks=3):  # all
        hand.go("Orders")
        page.click("#result_list tbody a >> nth=0")
        with page.expect_download() as saving:
            page.get_by_role("link", name="Save all as ZIP").click()
    assert saving.value.suggested_filename.endswith(".zip")
