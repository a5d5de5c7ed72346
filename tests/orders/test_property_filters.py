"""The list of properties is narrowed by what the orders know: open orders and delivered photos."""

import pytest
from django.urls import reverse

from orders.models import Material, MaterialSet
from properties.models import Property
from tests.crm_sync.admin_pages import client_of, queries_of
from tests.orders.admin_rows import NOW, make_order, make_placement

pytestmark = pytest.mark.django_db
LIST = reverse("admin:properties_property_changelist")


@pytest.fixture
def homes(main):
    """Return properties, each named after its order and its materials."""
    for name, status, product, columns in (
        ("open", "IN_PROGRESS", "", {}),
        ("unknown", "ARCHIVED", "", {}),
        ("photos", "COMPLETED", "GROUND_PHOTO", {}),
        ("plan", "COMPLETED", "FLOOR_PLAN", {}),
        ("withdrawn", "CANCELLED", "DRONE_PHOTO", {"withdrawn_at": NOW}),
        ("both", "PLACED", "DRONE_PHOTO", {}),
    ):
        home = Property.objects.create(workspace=main, object_reference_id=name)
        order = make_order(main, name, real_estate_property=home, status=status)
        if product:
            ready = MaterialSet.objects.create(
                workspace=main, order=order, ready_at=NOW, fetched_at=NOW,
                property_platform_id=name, target_platform=name,
            )  # fmt: skip
            Material.objects.create(
                material_set=ready, platform_id=name, product=product, **columns
            )
    make_order(main, "again", real_estate_property=home, status="COMPLETED")
    make_order(main, "elsewhere", status="PLACED")  # of a property that is not ours
    Property.objects.create(workspace=main, object_reference_id="nothing")


def found(client, query: str) -> set[str]:
    rows = client.get(f"{LIST}?{query}").context["cl"].result_list
    return {row.object_reference_id for row in rows}


ALL = {"open", "unknown", "photos", "plan", "withdrawn", "both", "nothing"}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("order=none", {"photos", "plan", "withdrawn", "nothing"}),
        ("order=open", {"open", "unknown", "both"}),
        ("order=x", ALL),
        ("pictures=none", {"open", "unknown", "plan", "withdrawn", "nothing"}),
        ("pictures=some", {"photos", "both"}),
        ("order=none&pictures=none", {"plan", "withdrawn", "nothing"}),
    ],
)
def test_properties_without_an_open_order_or_pictures_are_found(boss, homes, query, names):
    assert found(boss, query) == names


@pytest.mark.parametrize(
    ("state", "list_"),
    [
        *(("CONFIRMED", "open"), ("SENDING", "open"), ("UNCERTAIN", "open")),
        *(("DRAFT", "none"), ("PREPARING", "none"), ("READY", "none"), ("FAILED", "none")),
    ],
)
def test_an_order_on_its_way_counts_as_an_open_one(main, boss, state, list_):
    home = Property.objects.create(workspace=main, object_reference_id="home")
    make_placement(home, state)
    lists = {"none": set(), "open": set()} | {list_: {"home"}}
    assert {name: found(boss, f"order={name}") for name in lists} == lists


@pytest.mark.rule("S17")
def test_who_may_not_see_orders_is_offered_no_filter_by_them(homes):
    client = client_of("properties.view_property")
    page = client.get(LIST)
    assert {spec.parameter_name for spec in page.context["cl"].filter_specs} >= {"offer", "state"}
    assert not {"order", "pictures"} & {s.parameter_name for s in page.context["cl"].filter_specs}
    assert client.get(f"{LIST}?order=none").status_code == 302  # as any unknown filter


def test_the_filters_take_no_more_queries_than_the_list(boss, homes):
    assert queries_of(boss, f"{LIST}?order=none&pictures=none") <= queries_of(boss, LIST)
