"""The list of properties is narrowed by offer, price, rooms and locality, on both databases."""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse
from hypothesis import HealthCheck, given, settings, strategies as st

from crm_sync.models import Workspace
from properties.domain.headline import price
from properties.models import Property
from tests.crm_sync.admin_pages import make_workspace

pytestmark = pytest.mark.django_db
LIST = reverse("admin:properties_property_changelist")
HOMES: dict[str, dict[str, Any]] = {
    "rent-2450": {
        "offerType": "RENT",
        "numberOfRooms": 3.5,
        "prices": {"currency": "CHF", "rent": {"gross": 2450, "net": 2200}},
        "address": {"locality": "Zürich"},
    },
    "rent-1200": {
        "offerType": "RENT",
        "numberOfRooms": 2,
        "prices": {"rent": {"net": 1200.5}, "buy": {"price": 9}},
        "address": {"locality": "Zuzwil"},
    },
    "buy-950000": {
        "offerType": "BUY",
        "numberOfRooms": 5.5,
        "prices": {"buy": {"price": 950000}},
        "address": {"locality": "Genève"},
    },
    "no-offer": {"prices": {"rent": {"gross": 300}}, "address": {"locality": "zürich"}},
    "odd": {
        "offerType": ["RENT"],
        "numberOfRooms": "4",
        "prices": {"rent": {"gross": True, "net": "1300"}, "buy": {"price": 10**400}},
        "address": {"locality": 8001},
    },
    "empty": {},
}


@pytest.fixture
def homes(db) -> Workspace:
    main = make_workspace()
    for name, document in HOMES.items():
        Property.objects.create(workspace=main, object_reference_id=name, desired=document)
    return main


def found(client, query: str) -> set[str]:
    rows = client.get(f"{LIST}?{query}").context["cl"].result_list
    return {row.object_reference_id for row in rows}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("offer=RENT", {"rent-2450", "rent-1200"}),
        ("offer=BUY", {"buy-950000"}),
        ("offer=LEASE", set()),
        ("asking_price_from=1200.5&asking_price_to=2450", {"rent-2450", "rent-1200"}),
        ("asking_price_from=1200.6", {"rent-2450", "buy-950000"}),
        ("asking_price_to=300", {"no-offer"}),
        ("asking_price_from=abc&asking_price_to=nan", HOMES.keys()),
        ("asking_price_from=1e999", HOMES.keys()),
        ("number_of_rooms_from=3.5&number_of_rooms_to=3.5", {"rent-2450"}),
        ("number_of_rooms_from=2&number_of_rooms_to=4", {"rent-2450", "rent-1200"}),
        ("locality=zuri", {"rent-2450", "no-offer"}),
        ("locality=ZÜRICH", {"rent-2450", "no-offer"}),
        ("locality=zu", {"rent-2450", "rent-1200", "no-offer"}),
        ("locality=geneve, Zuzw", {"buy-950000", "rent-1200"}),
        ("locality=8001", {"odd"}),
        ("locality=rich", set()),
        ("locality=%2C ", HOMES.keys()),
        ("offer=RENT&asking_price_to=2000&locality=zu&number_of_rooms_to=2", {"rent-1200"}),
    ],
)
def test_the_list_is_narrowed_by_offer_price_rooms_and_locality(admin_client, homes, query, names):
    assert found(admin_client, query) == set(names)


def test_an_edit_of_the_document_changes_what_the_filters_find(admin_client, homes):
    rows = Property.objects.filter(object_reference_id="empty")
    rows.update(desired={"offerType": "BUY", "prices": {"buy": {"price": 7}}})
    assert found(admin_client, "offer=BUY&asking_price_to=7") == {"empty"}


def test_a_person_is_not_told_of_localities_of_others(client, django_user_model, homes):
    agent = django_user_model.objects.create(username="agent", is_staff=True)
    agent.groups.add(Group.objects.get(name="Agents"))
    agent.workspaces.add(make_workspace("other"))
    client.force_login(agent)
    assert found(client, "locality=zu") == set()


@pytest.mark.parametrize("query", ["", "offer=RENT", "locality=zu", "asking_price_from=1", "q=zu"])
def test_the_list_says_how_many_it_has(admin_client, homes, query):
    listed = admin_client.get(f"{LIST}?{query}").context["cl"]
    assert listed.result_count == len(found(admin_client, query))


def test_the_count_of_several_pages_is_exact(admin_client, homes):
    for number in range(70):
        Property.objects.create(
            workspace=homes, object_reference_id=f"x-{number}", desired={"offerType": "RENT"}
        )
    for query, count in (("offer=RENT", 72), ("", 76), ("offer=RENT&asking_price_from=1", 2)):
        assert admin_client.get(f"{LIST}?{query}").context["cl"].result_count == count


NUMBERS = st.none() | st.booleans() | st.text(max_size=3) | st.just([1])
NUMBERS |= st.integers(-(10**14), 10**14) | st.floats(-1e14, 1e14).map(lambda one: round(one, 2))
PRICES = st.fixed_dictionaries(
    {},
    optional={
        "rent": st.none() | st.dictionaries(st.sampled_from(["gross", "net"]), NUMBERS),
        "buy": st.just("x") | st.dictionaries(st.just("price"), NUMBERS),
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PRICES | NUMBERS, st.sampled_from(["RENT", "BUY", "LEASE", None]), NUMBERS)
def test_the_number_of_the_filter_is_the_one_that_the_list_shows(homes, prices, offer, rooms):
    row = Property.objects.create(
        workspace=homes, desired={"prices": prices, "offerType": offer, "numberOfRooms": rooms}
    )
    row.refresh_from_db()
    amount = price(prices, offer)[0].replace(",", "")
    assert row.asking_price == (float(amount) if amount else None)
    is_number = isinstance(rooms, int | float) and not isinstance(rooms, bool)
    assert row.number_of_rooms == (rooms if is_number else None)
    row.delete()
