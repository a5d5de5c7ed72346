"""What a page asks for while it is open: the same as a reload shows, and nothing else."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from orders.models import Order
from properties.domain.editing import edit
from properties.models import Change, Property
from tests.crm_sync.admin_pages import client_of, queries_of
from tests.orders.admin_rows import make_assignment, make_full_order, make_order, note, page
from tests.orders.conftest import now

pytestmark = pytest.mark.django_db


def live(row: Order | Property) -> str:
    return reverse(f"admin:{row._meta.label_lower.replace('.', '_')}_live", args=[row.pk])


def parts(text: str) -> set[str]:
    return set(re.findall(r'data-part="([\w-]+)"', text))


def buttons(text: str) -> list[str]:
    """The buttons in the head of a property."""
    head = re.search(r'data-part="head".*?"ps-buttons">(.*?</div>)', text, flags=re.DOTALL)
    return re.findall(r">([^<>]+)</(?:button|a)>", head[1])


def text_of(text: str) -> str:
    """What a person reads, without tokens."""
    text = re.sub(r"<form.*?</form>|<script.*?</script>", "", text, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


# --- an order ---
def test_it_says_what_the_page_says(main, boss):
    order = make_full_order(main, 1)
    whole, moving = (boss.get(address).content.decode() for address in (page(order), live(order)))
    assert parts(whole) == parts(moving) == {"state", "assignments", "materials", "timeline"}
    assert text_of(moving) in text_of(whole)
    assert f'data-follow="{live(order)}"' in whole


def test_it_follows_an_order_to_its_end(place, box, drain_all, boss):
    order = place("GROUND_PHOTO")
    seen = []
    while Order.objects.get().status != "COMPLETED":
        said = text_of(boss.get(live(order)).content.decode())
        seen.append(re.search(r"Ground photo (.+?) (Created|Photographer|Scheduled|In)", said)[1])
        box.step()
        box.deliver()
        drain_all()
    assert seen == [
        "Ordered. The work has not started yet.",
        "A photographer has taken it. The date is being set.",
        "Date and time are set.",
        "The shoot is done. The material is being edited.",
    ]
    said = text_of(boss.get(live(order)).content.decode())
    assert "Ground photo It was delivered. Delivered" in said
    assert "Nothing was delivered yet" not in said


def test_it_asks_nobody_changes_nothing_and_is_not_kept(place, box, boss):
    order = place()
    before = list(Order.objects.values())
    box.calls.clear()
    response = boss.get(live(order))
    assert (list(box.calls), list(Order.objects.values())) == ([], before)
    assert "no-store" in response["Cache-Control"]


def test_it_takes_fewer_queries_than_the_page_and_as_many_for_a_long_history(main, boss):
    order = make_full_order(main, 1)
    first = queries_of(boss, live(order))
    for number in range(30):
        assignment = make_assignment(order, f"more-{number}")
        note(order, "CREATED", fact="ASSIGNMENT_STATUS", assignment=assignment)
    assert queries_of(boss, live(order)) == first
    assert first < queries_of(boss, page(order))


def test_only_who_may_see_the_order_gets_it(main):
    order = make_order(main)
    assert client_of("properties.view_property").get(live(order)).status_code == 403
    assert Client().get(live(order)).status_code == 302
    viewer = client_of("orders.view_order").get(live(order))
    assert (viewer.status_code, b"Cancel the order" in viewer.content) == (200, False)
    assert b"Refresh from the platform" not in viewer.content
    agent = client_of("orders.view_order", "orders.change_order").get(live(order))
    quiet = '<button type="submit" class="cs-quiet">Refresh from the platform</button>'
    assert quiet in agent.content.decode()
    assert client_of("orders.view_order").get(live(Order(pk=0))).status_code == 404


# --- a property ---
def test_the_state_of_a_property_moves_and_no_input_does(workspace, home, boss, drain_all):
    whole = boss.get(reverse("admin:properties_property_change", args=[home.pk]))
    moving = {"head", "newer", "overview", "waiting-count", "sync", "sync-count"}
    moving |= {"count-orders", "section-orders", "count-pictures", "section-materials"}
    assert parts(whole.content.decode()) == moving
    same, there = boss.get(live(home)).content.decode(), ["Refresh from the platform", "Order…"]
    assert buttons(same) == buttons(whole.content.decode()) == there
    edit(home, {"title": "New"}, origin=Change.Origin.FEED, now=now())
    text = boss.get(live(home)).content.decode()
    assert parts(text) == moving
    assert "Pending" in text
    drain_all()
    text = boss.get(live(home)).content.decode()
    assert "In sync" in text
    assert re.findall(r"<(?:input|select|textarea)\b", text) == []


def test_a_page_that_was_opened_before_an_edit_says_so(main, boss):
    home = Property.objects.create(workspace=main, object_reference_id="R-1")
    text = "The fields were changed since you opened this page."
    address = f"{live(home)}?revision={home.revision}"
    assert text not in boss.get(address).content.decode()
    edit(home, {"title": "New"}, origin=Change.Origin.FEED, now=now())
    assert text in boss.get(address).content.decode()
    assert text not in boss.get(live(home)).content.decode()


def test_only_who_may_see_the_property_gets_its_state(main):
    home = Property.objects.create(workspace=main, object_reference_id="R-1")
    assert client_of("orders.view_order").get(live(home)).status_code == 403
    assert Client().get(live(home)).status_code == 302
