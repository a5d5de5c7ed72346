"""What an agent does where something is wrong, in a real browser."""

import os

import pytest
from django.urls import reverse
from django.utils.timezone import now

from crm_sync.models import Workspace
from properties.editing import edit
from properties.models import Conflict, Property
from tests.browser.test_admin import remote, stock  # noqa: F401 - a fixture

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


def test_an_agent_decides_member_by_member_and_sees_what_stands_then(
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
    page.get_by_role("radiogroup", name="Rent: Gross").get_by_text("2400").click()
    page.wait_for_selector("text=Stays open: 1 of 2 not chosen yet")
    page.get_by_role("radiogroup", name="Rent: Extra").get_by_text("99").click()
    page.wait_for_selector("text=Taken over here and sent to the platform")
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/decide.png", full_page=True)
    assert Conflict.objects.filter(decision="").count() == 3
    page.click("text=Decide what is chosen")
    page.wait_for_selector("text=Still open: 2.")
    drain_all()
    assert remote(box, "MH-1001")["prices"]["rent"] == rent | {"gross": 2400, "extra": 99}
    page.get_by_role("button", name="Take theirs for all 2").click()
    page.wait_for_selector("text=Decided: 2.")
    assert not Conflict.objects.filter(decision="").exists()
    assert (window.foreign, window.errors) == ([], [])
