"""What an agent does where something is wrong, in a real browser."""

from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from django.utils.timezone import now
from playwright.sync_api import expect

from crm_sync.models import Heartbeat, ReceivedEvent, Workspace
from orders.models import Order
from properties.domain.editing import edit
from properties.models import Conflict, Property
from tests.browser.test_admin import remote, stock  # noqa: F401 - a fixture
from tests.problems import answered

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def disagree(box, drain_all) -> Property:
    """Let both sides change the title, the rent and the texts of one property."""
    Workspace.objects.update(conflict_policy="ask")
    row = Property.objects.get(object_reference_id="MH-1001")
    rent, texts = row.desired["prices"]["rent"], row.desired["localizations"]
    theirs = [texts[0] | {"title": "Theirs in German"}, *texts[1:]]
    there = {"title": "Theirs", "localizations": theirs}
    there["prices"] = {"rent": rent | {"gross": 2500, "extra": 99}}
    box.edit_property(remote(box, "MH-1001")["id"], there)
    texts = [texts[0] | {"title": "Ours in German", "excerpt": "Ours"}, *texts[1:]]
    ours = {"title": "Ours", "prices.rent": rent | {"gross": 2400}, "localizations": texts}
    edit(row, ours, origin="ADMIN", now=now())
    drain_all()
    row.refresh_from_db()
    return row


def test_an_agent_decides_member_by_member_and_sees_the_result_first(
    visit,
    box,
    stock,  # noqa: F811
    drain_all,
):
    row = disagree(box, drain_all)
    rent = row.desired["prices"]["rent"]
    window = visit()
    page = window.log_in()
    page.goto(reverse("admin:properties_conflict_decide", args=[row.pk]))
    page.get_by_role("radiogroup", name="Rent: Gross").get_by_text("2,400").click()
    page.wait_for_selector("text=Stays open: 1 of 2 not chosen yet")
    page.get_by_role("radiogroup", name="Rent: Additional costs").get_by_text("99").click()
    page.wait_for_selector("text=Taken over here and sent to the platform")
    assert Conflict.objects.filter(decision="").count() == 3
    page.click("text=Decide what is chosen")
    page.wait_for_selector("text=2 conflicts are still open.")
    drain_all()
    assert remote(box, "MH-1001")["prices"]["rent"] == rent | {"gross": 2400, "extra": 99}
    page.get_by_role("button", name="Choose theirs for all 2").click()
    page.wait_for_selector("text=Nothing stays open.")
    page.click("text=Decide what is chosen")
    page.wait_for_selector("text=2 conflicts are decided.")
    assert not Conflict.objects.filter(decision="").exists()
    assert (window.foreign, window.errors) == ([], [])


def test_an_agent_replays_a_failed_event_and_sees_what_it_would_do_before(
    visit,
    box,
    stock,  # noqa: F811
    drain_all,
):
    failed = ReceivedEvent.objects.exclude(kind="").earliest("pk")
    why = {"state": "FAILED", "effect": "OperationalError: the disk was full"}
    why |= {"attempts": 8, "canonical_digest": ""}
    ReceivedEvent.objects.filter(pk=failed.pk).update(**why)
    window = visit()
    page = window.log_in()
    page.get_by_role("row", name="the disk was full").get_by_role("link", name="Open").click()
    page.get_by_role("button", name="Replay…").click()
    page.wait_for_selector("text=This is a preview: nothing has changed yet.")
    assert ReceivedEvent.objects.get(pk=failed.pk).state == "FAILED"
    page.get_by_role("button", name="Replay 1").click()
    page.wait_for_selector("text=A worker replays 1 event now.")
    drain_all()
    page.goto(reverse("admin:crm_sync_receivedevent_change", args=[failed.pk]))
    page.wait_for_selector("text=Applied")
    assert "the disk was full" not in page.inner_text("main, #content")
    assert (window.foreign, window.errors) == ([], [])


@pytest.mark.parametrize(("width", "theme"), [(1400, "light"), (390, "dark")])
def test_each_page_says_that_the_worker_is_stopped_and_when_a_read_comes(
    visit,
    box,
    stock,  # noqa: F811
    drain_all,
    width,
    theme,
):
    call = "GET http://sandbox.test/v1/orders/1"
    why = answered(call, 503, "try later; Service Unavailable")
    long_ago = now() - timedelta(minutes=20)
    Heartbeat.objects.create(kind="worker", name="w", started_at=long_ago, seen_at=long_ago)
    until = now() + timedelta(minutes=12)
    Workspace.objects.update(paused_until=until, problem=why)
    Property.objects.update(last_answer=why)
    Order.objects.update(problem=why)
    window = visit(width=width, theme=theme)
    page = window.log_in()
    row = Property.objects.get(object_reference_id="MH-1001")
    for address in (
        reverse("admin:properties_property_change", args=[row.pk]),
        reverse("admin:orders_order_change", args=[Order.objects.get().pk]),
    ):
        page.goto(address)
        text = page.inner_text("body")
        assert "No worker for 20 min. Nothing is pushed, read or applied; nothing is lost." in text
        assert "The platform is out of order at the moment." in text
        assert "when the platform accepts calls again." in text
        assert "503" not in text
        found = Axe().run(page).response["violations"]
        assert [one["id"] for one in found if one["id"] != "landmark-unique"] == []
    page.get_by_role("button", name="Refresh from the platform").click()
    page.wait_for_selector("text=main: Will be read after")
    page.goto(reverse("admin:index"))
    page.get_by_text("Details").first.click()
    page.wait_for_selector("text=503 try later")
    assert (window.foreign, window.errors) == ([], [])


def test_the_figures_of_the_overview_move_by_themselves(visit, stock):  # noqa: F811
    window = visit()
    page = window.log_in()
    before = ReceivedEvent.objects.filter(state="QUARANTINED").count()
    page.wait_for_function(f"{FIGURE} === '{before}'")
    ReceivedEvent.objects.filter(state="QUARANTINED").delete()
    page.wait_for_function(f"{FIGURE} === '0'")
    assert (window.foreign, window.errors) == ([], [])


def test_the_charts_and_what_needs_attention_are_asked_for_once_a_minute(visit, stock):  # noqa: F811
    ReceivedEvent.objects.filter(state="QUARANTINED").delete()
    window = visit()
    window.page.clock.install()
    page = window.log_in()
    chart = page.get_by_role("region", name="Received events")
    expect(chart.get_by_role("listitem").last).to_have_text("0 failed or not understood")
    chart.get_by_text("As a table").click()
    failed = ReceivedEvent.objects.earliest("pk")
    why = {"state": "FAILED", "effect": "the disk was full", "canonical_digest": ""}
    ReceivedEvent.objects.filter(pk=failed.pk).update(**why)
    page.clock.run_for(61_000)
    expect(chart.get_by_role("listitem").last).to_have_text("1 failed or not understood")
    expect(chart.get_by_role("row")).to_have_count(25)  # what was unfolded stays so
    expect(page.get_by_role("region", name="Needs attention")).to_contain_text("disk was full")
    assert (window.foreign, window.errors) == ([], [])


def test_the_tiles_move_with_the_page_and_keep_what_is_unfolded_and_focused(visit, stock):  # noqa: F811
    ReceivedEvent.objects.filter(state="QUARANTINED").delete()
    window = visit()
    window.page.clock.install()
    page = window.log_in()
    platform = page.get_by_role("region", name="Platform", exact=True)
    today = platform.get_by_role("link", name="Received today")
    before = int(today.locator("strong").inner_text())
    folded = platform.locator("details")
    folded.locator("summary").click()
    expect(folded.locator(".cs-tile", has_text="Failed")).to_have_count(2)  # and its attempts
    today.focus()
    one = ReceivedEvent.objects.earliest("pk")
    why = {"state": "FAILED", "effect": "the disk was full", "canonical_digest": ""}
    ReceivedEvent.objects.filter(pk=one.pk).update(**why)
    workspace = Workspace.objects.get()
    Workspace.objects.update(paused_until=now() + timedelta(hours=1))
    page.clock.run_for(61_000)
    counted = platform.locator(".cs-tiles").first
    expect(counted.locator(".cs-tile", has_text="Failed")).to_have_count(1)
    expect(counted.locator(".cs-tile", has_text="Failed").locator("strong")).to_have_text("1")
    expect(folded.locator(".cs-tile", has_text="Failed")).to_have_count(1)
    expect(folded).to_have_attribute("open", "")
    assert page.evaluate("document.activeElement.textContent").split()[:2] == ["Received", "today"]
    assert int(today.locator("strong").inner_text()) == before
    row = page.locator("[data-part=connections] tr", has_text=workspace.slug)
    expect(row).to_contain_text("Paused")
    assert (window.foreign, window.errors) == ([], [])


FIGURE = "document.querySelector('[data-part=inbox] dl div:last-child dd').textContent"
