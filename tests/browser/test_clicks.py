"""What an agent and an operator do every day, from the overview: five clicks or fewer each.

The browser counts each press of the mouse. Typing does not count, nor does the dialog of the system
that a file is chosen in. All of it is done in English at a desk, and in German on a phone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils.formats import number_format
from django.utils.timezone import now
from django.utils.translation import gettext, ngettext, override, pgettext
from playwright.sync_api import Page

from crm_sync.models import Hold
from orders.models import Assignment, ChangeRequest, Placement, PlatformUser
from orders.platform_users import user_list
from properties.catalog import label
from properties.domain.editing import create, edit
from properties.models import Batch, Change, Property
from tests.browser.test_admin import stock
from tests.browser.test_attention import disagree
from tests.browser.test_gallery import delivered, folder
from tests.browser.test_languages import speak
from tests.properties.uploaded import table

__all__ = ["delivered", "folder", "stock"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.parametrize("reads", [("en", 1400), ("de", 390)], ids=["desk", "phone"]),
]
MOST = 5
RESUMED = "Resumed: %(work)s."
IMPORTS = "A worker imports the file. This page follows by itself, and may be closed."
PLACES = "A worker places it now. This page follows by itself, and may be closed."
OPENS = "A worker opens a session for each and finds in it what you chose. Then you can place them."
PLACE_ALL = (
    "Workers place them one after the other. This page follows by itself, and may be closed."
)
REPLAYED = ("A worker replays %(count)s event now.", "A worker replays %(count)s events now.")
STILL_OPEN = ("%(count)s conflict is still open.", "%(count)s conflicts are still open.")
PLACE = ("Place %(count)s order for %(cost)s", "Place %(count)s orders for %(cost)s")
ORDERED_FOR = (
    "What you choose here is ordered for %(count)s property. The review shows it with its own"
    " prices.",
    "What you choose here is ordered for all %(count)s properties. The review shows each of them"
    " with its own prices.",
)
COUNT = "addEventListener('mousedown', () => sessionStorage.clicks++, true)"


class Hand:
    """A person with a mouse, on one page, who reads a language."""

    def __init__(self, page: Page, language: str = "en"):
        self.page, self.language = page, language
        self.is_on_phone = page.viewport_size["width"] < 1000
        page.add_init_script(COUNT)

    @contextmanager
    def task(self, clicks: int) -> Iterator[None]:
        """Begin on the overview; the clicks until the end are as many as said."""
        self.page.goto("/admin/")
        self.page.evaluate("sessionStorage.clicks = 0")
        yield
        assert int(self.page.evaluate("sessionStorage.clicks")) == clicks <= MOST

    def words(self, text: str, context: str = "", **values: object) -> str:
        """Return a text of the pages in the language of the person."""
        with override(self.language):
            said = pgettext(context, text) if context else gettext(text)
        return said % values if values else said

    def field(self, path: str) -> str:
        with override(self.language):
            return label(path)

    def counted(self, texts: tuple[str, str], count: int, **values: object) -> str:
        with override(self.language):
            return ngettext(*texts, count) % {"count": count, **values}

    def euros(self, amount: int) -> str:
        with override(self.language):
            return f"{number_format(amount, 2, force_grouping=True)} EUR"

    def go(self, name: str) -> None:
        """Press a line of the sidebar; on a phone, find the screen."""
        if not self.is_on_phone:
            self.page.click(f"#nav-sidebar-apps a:has(span:text-is('{self.words(name)}'))")
            return
        self.press_button("Search everything")
        self.page.keyboard.type(self.words(name))
        self.page.locator(".cs-hits a").first.wait_for()
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")

    def find(self, words: str) -> None:
        """Search the list of properties for MH-1002, and open it: two presses."""
        self.go("Properties")
        self.page.fill("[name=q]", words)
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector("text=MH-1001", state="detached")
        self.page.click("#result_list a:has-text('MH-1002')")
        self.page.wait_for_selector(".ps-head")

    def open_tab(self, name: str) -> None:
        """Open a tab of the workspace."""
        tabs = self.page.get_by_role("navigation", name=self.words("Workspace"), exact=True)
        tabs.get_by_role("link", name=self.words(name)).click()

    def open_menu(self) -> None:
        """On a phone, open the menu with the links at the top of a page: one press more."""
        if self.is_on_phone:
            self.page.locator("#header-inner :text('more_horiz'):visible").click()

    def press(self, text: str, role: str = "link", **values: object) -> None:
        """Press a link or a button by its whole name."""
        self.page.get_by_role(role, name=self.words(text, **values), exact=True).first.click()

    def press_button(self, text: str, **values: object) -> None:
        self.press(text, "button", **values)

    def sees(self, text: str, **values: object) -> None:
        self.page.get_by_text(self.words(text, **values)).first.wait_for()

    def sees_counted(self, texts: tuple[str, str], count: int) -> None:
        self.page.get_by_text(self.counted(texts, count)).first.wait_for()


@pytest.fixture
def hand(reads, visit, box, stock, drain_all) -> Iterator[Hand]:
    """Return the hand of somebody who is a user of the platform as well."""
    user_list.ask(stock.pk, now())
    drain_all()
    language, width = reads
    window = visit(width=width)
    hand = Hand(window.log_in(), language)
    speak(language)
    account = User.objects.get(username="agent")
    PlatformUser.objects.filter(platform_id="101").update(account=account)
    yield hand
    assert (window.foreign, window.errors) == ([], [])


def test_properties_are_found_edited_undone_pushed_and_exported(hand, drain_all):
    page, title = hand.page, hand.field("title")
    with hand.task(clicks=2):  # find
        hand.find("MH-1002")
    row = Property.objects.get(object_reference_id="MH-1002")
    before = row.desired["title"]
    with hand.task(clicks=4):  # edit
        hand.go("Properties")
        page.click("#result_list a:has-text('MH-1002')")
        page.click(f".ps-tabs >> text={hand.words('Texts')}")
        page.fill("[name=title]", "House with a large garden")
        with page.expect_navigation():
            hand.press_button("Save")
    with hand.task(clicks=4 + hand.is_on_phone):  # undo
        hand.go("Properties")
        page.click("#result_list a:has-text('MH-1002')")
        hand.open_menu()
        page.click("a[href$='/history/']:visible")
        hand.press_button("Undo")
        hand.sees("%(field)s is what it was before; a worker sends it.", field=title)
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
        hand.open_tab("Pause")
        page.get_by_label(hand.words("Reason")).fill("The feed has wrong prices")
        hand.press_button("Pause", context="button")
        page.get_by_role("button", name=hand.words("Resume")).first.wait_for()
    assert Hold.objects.active(now()).exists()
    with hand.task(clicks=2):  # the banner leads there
        hand.press("Resume it on the tab Pause.")
        page.get_by_role("button", name=hand.words("Resume")).first.click()
        page.wait_for_selector(f"text={hand.words(RESUMED).partition('%')[0]}")
    assert not Hold.objects.active(now()).exists()


def test_a_feed_is_imported(hand, drain_all, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    feed = tmp_path / "stock.csv"
    feed.write_bytes(table(["A1", "A2"]))
    with hand.task(clicks=4 + hand.is_on_phone):
        hand.go("Imports")
        hand.open_menu()
        hand.press("Import a feed")
        hand.page.set_input_files("[name=file]", feed)
        hand.press_button("Upload")
        hand.sees("A worker looks at the file. Nothing is imported before you say so.")
        drain_all()
        hand.sees("This is what the import would do. Nothing was imported yet.")
        hand.press_button("Import", context="button")
        hand.sees(IMPORTS)
        drain_all()
        hand.sees("All records were imported.")
    assert Property.objects.filter(object_reference_id__in=["A1", "A2"]).count() == 2


def test_orders_are_placed_rescheduled_and_cancelled(hand, drain_all):
    page, cost, all_five = hand.page, hand.euros(249), hand.euros(1245)
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
        page.get_by_text(hand.words("Order…"), exact=True).first.click()
        page.fill("[name=quantity-11]", "1")
        hand.press_button("Review")
        hand.press_button("Place this order for %(cost)s", cost=cost)
        hand.sees(PLACES)
    drain_all()
    with hand.task(clicks=5):  # place as last time; Enter reviews it
        hand.go("Properties")
        page.click("#result_list a:has-text('MH-1001')")
        page.get_by_text(hand.words("Order…"), exact=True).first.click()
        hand.press_button("As last time")
        page.wait_for_selector(f"[data-sum]:text-is('{cost}')")
        page.focus("[name=quantity-11]")
        page.keyboard.press("Enter")
        hand.press_button("Place this order for %(cost)s", cost=cost)
        hand.sees(PLACES)
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
        page.get_by_text(hand.counted(ORDERED_FOR, 5)).wait_for()
        page.fill("[name=quantity-11]", "1")
        each = {"one": cost, "all": all_five, "count": "5"}
        hand.sees("%(one)s each, about %(all)s for %(count)s", **each)
        hand.press_button("Review")
        hand.sees(OPENS)
        drain_all()
        page.get_by_role("button", name=hand.counted(PLACE, 5, cost=all_five)).click()
        hand.sees(PLACE_ALL)
    drain_all()
    assert set(Placement.objects.values_list("state", flat=True)) == {"PLACED"}


def test_events_are_replayed_secrets_rotated_and_dead_workers_seen(hand, box):
    page = hand.page
    with hand.task(clicks=0):  # see that no worker runs
        hand.sees("No worker ever ran here")
    with hand.task(clicks=4):  # replay
        hand.go("Received events")
        row = page.locator("#result_list tbody tr:has-text('ORDER_STATUS_UPDATED')").first
        row.locator("input[type=checkbox]").click()
        hand.press_button("Replay…")
        hand.press_button("Replay %(playable)s", playable=1)
        hand.sees_counted(REPLAYED, 1)
    with hand.task(clicks=4):  # rotate the secret
        before = box.workspace.webhook["authSecret"]
        hand.go("Workspaces")
        page.click("#result_list tbody a >> nth=0")
        hand.open_tab("Webhook")
        hand.press_button("Rotate the secret")
        hand.sees("The platform has a new secret; the old one is taken for ten more minutes.")
    assert box.workspace.webhook["authSecret"] != before


def test_a_conflict_is_decided(hand, box, drain_all):
    page, title = hand.page, hand.field("title")
    row = disagree(box, drain_all)
    with hand.task(clicks=4):
        hand.go("Conflicts")
        page.click(f"#result_list tbody tr:has-text('{title}') a >> nth=0")
        page.get_by_role("radiogroup", name=title, exact=True).get_by_text("Theirs").last.click()
        hand.press_button("Decide what is chosen")
        hand.sees_counted(STILL_OPEN, 2)
    row.refresh_from_db()
    assert row.desired["title"] == "Theirs"


def test_pictures_are_looked_at_and_saved(hand, delivered):
    page = hand.page
    with hand.task(clicks=4):  # one
        hand.go("Orders")
        page.click("#result_list tbody a >> nth=0")
        page.locator("a[data-view]").nth(0).click()
        viewer = page.get_by_role("dialog", name=hand.words("Pictures"))
        with page.expect_download() as saving:
            viewer.get_by_role("link", name="ground-photo-1.png, HD").click()
    assert saving.value.suggested_filename == "ground-photo-1.png"
    with hand.task(clicks=3):  # all
        hand.go("Orders")
        page.click("#result_list tbody a >> nth=0")
        with page.expect_download() as saving:
            hand.press("Save all as ZIP")
    assert saving.value.suggested_filename.endswith(".zip")
