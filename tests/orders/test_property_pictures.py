"""The list of properties shows the newest photo of each that we keep."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from orders.admin.file_view import file_address
from orders.models import MaterialFile, MaterialSet
from properties.models import Property
from tests.crm_sync.admin_pages import client_of, queries_of
from tests.orders.admin_rows import NOW, make_order
from tests.orders.test_file_view import store
from tests.orders.test_gallery import deliver, picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]
LIST = reverse("admin:properties_property_changelist")


def make_home(main, reference: str) -> Property:
    return Property.objects.create(workspace=main, object_reference_id=reference)


def photo(ready: MaterialSet, day: int, **columns) -> MaterialFile:
    taken = picture(ready, f"{day}.png", modified_at=NOW + timedelta(days=day))
    return store(taken, role="THUMBNAIL", **columns)


def photographed(main, reference: str) -> MaterialSet:
    home = make_home(main, reference)
    return deliver(make_order(main, f"o-{reference}", real_estate_property=home), names=[])


def pictures(client) -> dict[str, str]:
    rows = client.get(LIST).context["cl"].result_list
    return {row.object_reference_id: row.picture for row in rows}


def test_a_property_shows_its_newest_photo_and_no_plan(main, boss):
    ready = photographed(main, "A")
    newest = photo(ready, 5)
    photo(ready, 2)
    plans = deliver(ready.order, "FLOOR_PLAN", names=[])
    store(picture(plans, "plan.png", modified_at=NOW + timedelta(days=9)), role="THUMBNAIL")
    heavy = picture(ready, "heavy.png", modified_at=NOW + timedelta(days=8))
    store(heavy, b"x" * 300_000)
    not_yet = picture(ready, "later.png", modified_at=NOW + timedelta(days=7))
    MaterialFile.objects.create(
        workspace=main, material=not_yet, role="THUMBNAIL", due_at=timezone.now()
    )
    make_home(main, "B")
    photo(photographed(main, "C"), 1)
    found = pictures(boss)
    assert found.pop("A") == file_address(newest)
    assert found.pop("B") == ""
    assert found.keys() == {"C"}
    text = boss.get(LIST).content.decode()
    assert f'<img src="{file_address(newest)}" alt="" loading="lazy">' in text


def test_a_photo_without_a_thumbnail_is_its_own_if_it_is_small(main, boss):
    ready = photographed(main, "A")
    row = store(picture(ready, "web.png"))
    assert pictures(boss) == {"A": file_address(row)}


def test_who_may_not_see_orders_sees_no_pictures(main):
    photo(photographed(main, "A"), 1)
    assert pictures(client_of("properties.view_property")) == {"A": ""}


def test_the_pictures_of_many_properties_cost_as_many_queries_as_of_one(main, boss):
    photo(photographed(main, "A"), 1)
    one = queries_of(boss, LIST)
    for number in range(9):
        ready = photographed(main, f"B-{number}")
        for day in range(5):
            photo(ready, day)
    assert queries_of(boss, LIST) == one
    assert "" not in pictures(boss).values()
