"""What was delivered is a gallery: one picture in two qualities is one picture (A52)."""

import re
from itertools import count

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import given, strategies as st

from crm_sync.admin.ui.cells import page_of
from crm_sync.models import Workspace
from orders.admin.materials import MOST, MOST_BESIDE_A_FORM
from orders.materials.gallery import groups
from orders.models import Material, MaterialSet, Order
from properties.models import Property
from tests.crm_sync.admin_pages import client_of, queries_of
from tests.orders.admin_rows import NOW, context_of, make_assignment, make_order, page

pytestmark = pytest.mark.django_db
numbers = count()


def deliver(order: Order, product: str = "GROUND_PHOTO", visual_type: str = "POST", **columns):
    """One set of an assignment for the product, with a picture of each of the names."""
    names = columns.pop("names", ["1.jpg"])
    assignment = order.assignments.filter(products=[product]).first() or make_assignment(
        order, f"a{next(numbers)}", products=[product]
    )
    ready = MaterialSet.objects.create(
        workspace=order.workspace,
        order=order,
        assignment=assignment,
        product=product,
        visual_type=visual_type,
        **({"ready_at": NOW, "fetched_at": NOW} | columns),
    )
    for name in names:
        picture(ready, name)
    return ready


def picture(ready: MaterialSet, name: str, **columns) -> Material:
    key = f"m{next(numbers)}"
    columns = {"visual_type": ready.visual_type, "product": ready.product} | columns
    columns = {"size": 2_000, "mime_type": "image/jpeg"} | columns
    url = f"https://cdn.test/{key}/{name}"
    return Material.objects.create(
        material_set=ready, platform_id=key, file_name=name, url=url, **columns
    )


def shown(client: Client, order: Order) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """The titles of the groups, and of each picture its name and its qualities."""
    return [
        (
            group["title"],
            [(item["name"], [one["label"] for one in item["versions"]]) for item in group["items"]],
        )
        for group in context_of(client, order)["groups"]
    ]


def test_a_photo_for_print_and_for_the_web_is_one_picture(main, boss):
    order = make_order(main)
    deliver(order, visual_type="POST_WEB", names=["1.jpg", "2.jpg"])
    deliver(order, visual_type="POST", names=["1.jpg", "3.jpg"])
    deliver(order, "FLOOR_PLAN", names=["plan.pdf"], ready_at=NOW.replace(day=2))
    assert shown(boss, order) == [
        ("Ground photo", [("1.jpg", ["HD", "WEB"]), ("2.jpg", ["WEB"]), ("3.jpg", ["HD"])]),
        ("Floor plan", [("plan.pdf", ["PDF"])]),
    ]
    sizes = {
        one["size"]
        for group in context_of(boss, order)["groups"]
        for item in group["items"]
        for one in item["versions"]
    }
    assert sizes == {"2.0\xa0KB"}  # as every page writes the size of a file


def test_raw_pictures_and_those_of_another_assignment_stand_for_themselves(main, boss):
    order = make_order(main)
    deliver(order, names=["1.jpg"])
    deliver(order, visual_type="RAW", names=["1.jpg"])
    make_assignment(order, "other", products=["GROUND_PHOTO", "DRONE_PHOTO"])
    other = MaterialSet.objects.create(
        workspace=main,
        order=order,
        assignment=order.assignments.get(platform_id="other"),
        product="GROUND_PHOTO",
        visual_type="POST_WEB",
        ready_at=NOW,
        fetched_at=NOW,
    )
    picture(other, "1.jpg")
    assert shown(boss, order) == [
        ("Ground photo", [("1.jpg", ["HD"])]),
        ("Ground photo, Raw", [("1.jpg", ["JPG"])]),
        ("Ground photo", [("1.jpg", ["WEB"])]),
    ]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["POST", "POST_WEB", "RAW", "DOCUMENT", "", "NEW"]),
            st.sampled_from(["1.jpg", "2.jpg", ""]),
        ),
        max_size=8,
    )
)
def test_every_material_is_shown_once_whatever_was_delivered(drawn):
    ready = MaterialSet(pk=1, product="GROUND_PHOTO", visual_type="POST", assignment_id=1)
    materials = [
        Material(pk=number, visual_type=visual_type, file_name=name)
        for number, (visual_type, name) in enumerate(drawn, 1)
    ]
    ready._prefetched_objects_cache = {"materials": materials}
    found = [v.pk for group in groups([ready]) for item in group.items for v in item.versions]
    assert sorted(found) == [one.pk for one in materials]
    for group in groups([ready]):
        for item in group.items:
            kinds = [version.visual_type for version in item.versions]
            assert len(set(kinds)) == len(kinds)
            assert len({version.file_name for version in item.versions}) == 1


def test_a_set_whose_list_is_not_read_yet_says_so(main, boss):
    order = make_order(main)
    deliver(order, names=[], fetched_at=None, due_at=NOW)
    deliver(order, "FLOOR_PLAN", names=[], fetched_at=None, problem="not there")
    states = [(g["state"], g["problems"]) for g in context_of(boss, order)["groups"]]
    assert states == [("the list is read soon", []), ("the list was not read", ["not there"])]


def test_a_page_shows_a_bounded_number_and_the_pages_of_the_order_show_all(main, boss):
    order = make_order(main)
    names = [f"{number:03}.jpg" for number in range(MOST)]
    deliver(order, names=names)
    few = queries_of(boss, page(order))
    deliver(order, "FLOOR_PLAN", names=names * 9)
    assert queries_of(boss, page(order)) == few
    text = boss.get(page(order)).content.decode()
    assert (text.count('class="og-tile"'), f">{9 * MOST} more<" in text) == (MOST, True)
    assert len(text) < 250_000
    address = reverse("admin:orders_order_materials", args=[order.pk])
    found = []
    for number in range(1, 11):
        tiles = boss.get(f"{address}?page={number}").content.decode()
        assert len(tiles) < 250_000
        found += re.findall(r'og-name">([^<]*)<', tiles)
    assert sorted(found) == sorted(names * 10)
    assert boss.get(f"{address}?page=11").context["groups"] == []
    assert boss.get(f"{address}?page=x").context["number"] == 1


def test_a_property_shows_what_was_delivered_of_all_its_orders_the_newest_first(main, boss):
    home = Property.objects.create(workspace=main, object_reference_id="R-1")
    empty = "Nothing was delivered for this property yet."
    assert empty in boss.get(page_of(home)).content.decode()
    first = make_order(main, "1", real_estate_property=home)
    second = make_order(main, "2", real_estate_property=home)
    deliver(first, names=["old.jpg"])
    deliver(second, names=["new.jpg"], ready_at=NOW.replace(day=2))
    deliver(make_order(main, "3"), names=["other.jpg"])
    few = queries_of(boss, page_of(home))
    text = boss.get(page_of(home)).content.decode()
    assert 0 < text.index("new.jpg") < text.index("old.jpg")
    assert ("other.jpg" in text, "orders/gallery.css" in text) == (False, True)
    assert f'<a class="cs-link" href="{page(first)}">Order 1</a>' in text
    deliver(second, "FLOOR_PLAN", names=[f"{number}.jpg" for number in range(600)])
    assert queries_of(boss, page_of(home)) == few
    text = boss.get(page_of(home)).content.decode()
    assert text.count('class="og-tile"') == MOST_BESIDE_A_FORM
    assert len(text.encode()) < 235_000  # leaves room for its values, and for what is generated


def test_who_may_not_see_orders_sees_no_materials(main: Workspace):
    order = make_order(main)
    deliver(order, names=["secret.jpg"])
    address = reverse("admin:orders_order_materials", args=[order.pk])
    assert client_of("properties.view_property").get(address).status_code == 403
