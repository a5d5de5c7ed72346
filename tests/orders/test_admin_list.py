"""The list of orders: what a row tells, finding one, and asking for a read."""

from datetime import timedelta

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from crm_sync.translated import day_in_words
from orders.models import Assignment, MaterialSet, Order, Placement
from properties.models import Property
from tests.crm_sync.admin_pages import (
    make_workspace,
)
from tests.orders.admin_rows import (
    LIST,
    NOW,
    PLACEMENTS,
    make_assignment,
    make_full_order,
    make_order,
    page,
)

pytestmark = pytest.mark.django_db


def found(client: Client, query: str) -> list[str]:
    rows = client.get(f"{LIST}?{query}").context["cl"].result_list
    return sorted(row.platform_id for row in rows)


def read_again(client: Client, *orders: Order):
    pks = [order.pk for order in orders]
    return client.post(LIST, {"action": "read_again", "_selected_action": pks})


def test_a_row_tells_order_reference_property_status_work_and_appointment(main, boss):
    order = make_full_order(main, 7)
    Order.objects.update(status="IN_PROGRESS")
    Assignment.objects.update(scheduled_at=timezone.now() + timedelta(hours=3, minutes=1))
    Assignment.objects.filter(platform_id="7-0").update(status="DELIVERED")
    text = boss.get(LIST).content.decode()
    for shown in (
        page(order),
        "R-7",
        "Flat 7",
        '<span class="cs-badge cs-warning">In progress</span>',
        '<span class="cs-badge cs-good"><span class="cs-light">Ground photo (1 of 3):</span>'
        " Delivered</span>",
        '<span class="cs-badge cs-info"><span class="cs-light">Ground photo (2 of 3):</span>'
        " Created</span>",
        "in 3 h",
        "Sun 1 Mar 2026, 12:02:00 UTC",
    ):
        assert shown in text


def test_an_appointment_that_the_platform_withdrew_is_not_in_the_list(main, boss):
    order, soon = make_order(main), timezone.now() + timedelta(hours=3, minutes=1)
    make_assignment(order, "gone", scheduled_at=soon, withdrawn_at=NOW)
    make_assignment(order, "stays", scheduled_at=soon + timedelta(hours=2))
    text = boss.get(LIST).content.decode()
    assert ("in 3 h" in text, "in 5 h" in text) == (False, True)


def test_an_appointment_has_its_time_and_one_that_is_over_is_marked(main, boss):
    order = make_order(main)
    for name, hours in (("soon", 3), ("later", 30)):
        at = timezone.now() + timedelta(hours=hours, minutes=1)
        make_assignment(order, name, scheduled_at=at)
    soon = Assignment.objects.get(platform_id="soon")
    there = timezone.localtime(soon.scheduled_at)
    text = boss.get(LIST).text
    assert f"{day_in_words(there)}, {there:%H:%M}" in text
    assert ("in 3 h" in text, "Past, not done" in text) == (True, False)
    Assignment.objects.filter(pk=soon.pk).update(scheduled_at=timezone.now() - timedelta(hours=1))
    assert "Past, not done" in boss.get(LIST).text
    Assignment.objects.filter(pk=soon.pk).update(status="DELIVERED")
    assert "Past, not done" not in boss.get(LIST).text


@pytest.mark.rule("3.1 values")
@pytest.mark.parametrize(
    ("status", "badge"),
    [
        ("PLACED", '<span class="cs-badge cs-info">Placed</span>'),
        ("IN_PROGRESS", '<span class="cs-badge cs-warning">In progress</span>'),
        ("COMPLETED", '<span class="cs-badge cs-good">Completed</span>'),
        ("CANCELLED", '<span class="cs-badge cs-danger">Cancelled</span>'),
        ("UNKNOWN", '<span class="cs-badge cs-muted">Unknown</span>'),
        ("ON_HOLD", '<span class="cs-badge cs-muted">Unknown (ON_HOLD)</span>'),
        ("", '<span class="cs-badge cs-muted">Not known yet</span>'),
    ],
)
def test_every_status_has_its_colour_and_its_text(main, boss, status, badge):
    order = make_order(main, status=status)
    for address in (LIST, page(order)):
        assert badge in boss.get(address).content.decode()


@pytest.mark.parametrize(
    ("query", "orders"),
    [
        ("what=open", ["odd", "open"]),
        ("what=action", ["open"]),
        ("what=problem", ["done"]),
        ("what=delivered", ["done"]),
        ("status=COMPLETED", ["done"]),
        ("status=other", ["odd"]),
        ("workspace=other", ["odd"]),
        ("q=lake", ["open"]),
        ("q=R-1", ["open"]),
        ("q=done", ["done"]),
        ("q=zurich+seestr", ["open"]),
        ("q=seestr+bern", []),
    ],
)
def test_the_list_is_filtered_and_searched(main, boss, query, orders):
    home = Property.objects.create(
        workspace=main,
        object_reference_id="R-1",
        desired={
            "title": "By the lake",
            "address": {"street": "Seestrasse", "locality": "Zürich"},
        },
    )
    is_open = make_order(main, "open", object_reference_id="R-1", real_estate_property=home)
    make_assignment(is_open, status="ACTION_REQUIRED")
    done = make_order(main, "done", status="COMPLETED", problem="404")
    make_assignment(done, "a2", status="ACTION_REQUIRED")
    MaterialSet.objects.create(workspace=main, order=done, ready_at=NOW, fetched_at=NOW)
    make_order(make_workspace("other"), "odd", status="ON_HOLD")
    assert found(boss, query) == orders


def test_who_reads_an_order_again_on_its_page_stays_there(main, boss):
    order = make_full_order(main, 7)
    assert 'name="stays"' in boss.get(page(order)).content.decode()
    pressed = {"action": "read_again", "_selected_action": [order.pk]}
    assert boss.post(LIST, pressed | {"stays": "1"})["Location"] == page(order)
    assert boss.post(LIST, pressed)["Location"] == LIST


def test_read_again_makes_the_chosen_orders_due_and_rings_once_for_each_workspace(
    main, boss, rings, django_capture_on_commit_callbacks
):
    other = make_workspace("other")
    chosen = [make_order(main, "1"), make_order(main, "2"), make_order(other, "3")]
    left = make_order(main, "4")
    before = timezone.now()
    with django_capture_on_commit_callbacks(execute=True):
        assert read_again(boss, *chosen).status_code == 302
    due = dict(Order.objects.values_list("platform_id", "due_at"))
    assert due.pop(left.platform_id) is None
    assert sorted(due) == ["1", "2", "3"]
    assert all(before <= at <= timezone.now() for at in due.values())
    assert rings == [("orders", main.pk), ("orders", other.pk)]
    assert sorted(LogEntry.objects.values_list("object_repr", flat=True)) == [
        "order 1",
        "order 2",
        "order 3",
    ]


def test_the_dashboard_counts_what_is_under_way_and_what_waits(main, boss):
    acting = make_order(main, "1")
    make_assignment(acting, "a1", status="ACTION_REQUIRED")
    make_assignment(acting, "a2", status="ACTION_REQUIRED")
    ended = make_order(main, "2", status="CANCELLED", problem="404")
    make_assignment(ended, "a3", status="ACTION_REQUIRED")
    MaterialSet.objects.create(workspace=main, order=ended, ready_at=NOW, fetched_at=NOW)
    MaterialSet.objects.create(
        workspace=main, target_platform="x", order=ended, ready_at=NOW, due_at=NOW
    )
    Placement.objects.create(
        workspace=main, object_reference_id="R", user_platform_id="1", state="UNCERTAIN"
    )
    tiles = dict(boss.get("/admin/").context["groups"])["Orders"]
    assert tiles.zero == []
    assert {tile.title: tile.value for tile in tiles.counted} == {
        "Open orders": 1,
        "Action required": 1,
        "Uncertain placements": 1,
        "Orders with a problem": 1,
        "With materials": 1,
    }
    for tile in tiles.counted:
        cl = boss.get(tile.link).context["cl"]
        assert (tile.title, cl.result_count) == (tile.title, 1)


def test_an_uncertain_placement_has_one_colour_everywhere(main, boss):
    row = Placement.objects.create(
        workspace=main, object_reference_id="R", user_platform_id="1", state="UNCERTAIN"
    )
    badge = '<span class="cs-badge cs-warning">Uncertain</span>'
    for address in ("/admin/", PLACEMENTS, page(row)):
        assert badge in boss.get(address).content.decode()
    tiles = dict(boss.get("/admin/").context["groups"])["Orders"].counted
    assert [(one.title, one.tone) for one in tiles] == [("Uncertain placements", "warning")]


def test_what_waits_since_a_moment_of_a_clock_that_is_ahead_waits_since_now(main, boss):
    ahead = timezone.now() + timedelta(hours=4)
    make_assignment(make_order(main, "1"), "a1", status="ACTION_REQUIRED", status_at=ahead)
    [line] = [one for one in boss.get("/admin/").context["attention"] if one.act == "Show it"]
    assert ">just now<" in line.since


@pytest.mark.parametrize(
    ("products", "shown"),
    [
        (
            [
                {"product": "GROUND_PHOTO", "price": {"amount": 249, "currency": "EUR"}},
                {
                    "product": "FLOOR_PLAN",
                    "quantity": 2,
                    "price": {"amount": 89.5, "currency": "EUR"},
                },
            ],
            '<span class="cs-sum">428.00 EUR</span>',
        ),
        (
            [{"product": "A", "price": {"amount": 1, "currency": "CHF"}}, {}],
            '<span class="cs-sum">1.00 CHF + 1 without a price</span>',
        ),
        ([{"product": "GROUND_PHOTO"}], ""),
        ([], ""),
    ],
)
def test_an_order_that_was_placed_here_has_the_sum_of_its_known_prices(main, boss, products, shown):
    make_full_order(main, 7)
    Placement.objects.update(products=products)
    row = boss.get(LIST).context["cl"].result_list[0]
    chips, _, money = str(admin.site._registry[Order].work(row)).partition(' <span class="cs-sum">')
    assert "Ground photo" in chips
    assert f'<span class="cs-sum">{money}' == (
        f"{shown}</span>" if shown else '<span class="cs-sum">'
    )


def test_an_order_that_others_placed_has_no_sum(main, boss):
    make_order(main)
    row = boss.get(LIST).context["cl"].result_list[0]
    assert admin.site._registry[Order].work(row) == "—"
