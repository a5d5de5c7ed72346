"""What a person is warned of before the same product is ordered once more for a property."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orders.models import Order, Placement
from orders.placing.duplicates import already_ordered
from properties.models import Property
from tests.orders.admin_rows import make_assignment, make_order

pytestmark = pytest.mark.django_db
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
PHOTO = {"id": "11", "product": "GROUND_PHOTO", "quantity": 1}
PLAN = {"id": "13", "product": "FLOOR_PLAN", "quantity": 1}


@pytest.fixture
def home(main) -> Property:
    return Property.objects.create(workspace=main, object_reference_id="R-1", platform_id="201")


def wish(home: Property, *products: dict, **columns) -> Placement:
    return Placement(
        workspace=home.workspace,
        real_estate_property=home,
        object_reference_id="R-1",
        property_platform_id="201",
        products=list(products),
        **columns,
    )


def said(*placements: Placement) -> list[list[str]]:
    return [[str(one) for one in found] for found in already_ordered(placements)]


@pytest.mark.parametrize(
    ("status", "product", "is_warned"),
    [
        ("PLACED", "GROUND_PHOTO", True),
        ("IN_PROGRESS", "GROUND_PHOTO", True),
        ("SOMETHING_NEW", "GROUND_PHOTO", True),
        ("", "GROUND_PHOTO", True),
        ("COMPLETED", "GROUND_PHOTO", False),
        ("CANCELLED", "GROUND_PHOTO", False),
        ("PLACED", "FLOOR_PLAN", False),
    ],
)
def test_an_open_order_with_the_same_product_is_named(main, home, status, product, is_warned):
    order = make_order(main, status=status, real_estate_property=home, placed_at=AT)
    make_assignment(order, products=[product])
    text = (
        "R-1 has an open order with the same product: order 5000 of Sun 1 Mar 2026 (GROUND_PHOTO)"
    )
    assert said(wish(home, PHOTO)) == [[text] if is_warned else []]


@pytest.mark.parametrize(
    "named",
    [{"property_platform_id": "201"}, {"object_reference_id": "R-1"}],
)
def test_an_order_of_somebody_else_is_found_by_id_and_by_reference(main, home, named):
    make_assignment(make_order(main, **named))
    assert len(said(wish(home, PHOTO))[0]) == 1


def test_orders_of_other_properties_and_workspaces_are_not_named(main, home):
    from tests.crm_sync.admin_pages import make_workspace

    make_assignment(make_order(main, object_reference_id="R-2", property_platform_id="202"))
    make_assignment(make_order(make_workspace("other"), object_reference_id="R-1"))
    assert said(wish(home, PHOTO)) == [[]]


def test_an_order_whose_products_nobody_has_told_is_named_too(main, home):
    make_order(main, real_estate_property=home)
    assert said(wish(home, PHOTO)) == [
        ["R-1 has an open order whose products are not known yet: order 5000"]
    ]


def test_what_we_ordered_counts_until_the_assignments_are_known(main, home):
    order = make_order(main, real_estate_property=home)
    wish(home, PLAN, state="PLACED", order=order).save()
    assert said(wish(home, PHOTO), wish(home, PHOTO, PLAN)) == [
        [],
        ["R-1 has an open order with the same product: order 5000 (FLOOR_PLAN)"],
    ]


@pytest.mark.parametrize("state", ["CONFIRMED", "SENDING", "UNCERTAIN"])
def test_a_placement_that_may_order_it_is_named_and_never_names_itself(main, home, state):
    one = wish(home, PHOTO, state=state, sent_at=AT, confirmed_at=AT, due_at=AT)
    one.save()
    word = one.get_state_display().partition(":")[0]
    text = (
        "R-1 has an order on its way with the same product:"
        f" placement {one.pk} ({word}) of Sun 1 Mar 2026 (GROUND_PHOTO)"
    )
    assert said(one, wish(home, PHOTO)) == [[], [text]]
    Placement.objects.update(state="FAILED")
    assert said(wish(home, PHOTO)) == [[]]


def test_what_nobody_has_confirmed_orders_nothing(main, home):
    wish(home, PHOTO, state="READY").save()
    assert said(wish(home, PHOTO)) == [[]]


def test_many_placements_take_as_many_queries_as_one(main):
    def queries(count: int) -> int:
        with CaptureQueriesContext(connection) as captured:
            found = already_ordered(placements[:count])
        assert [len(one) for one in found] == [1] * count
        return len(captured)

    placements = []
    for number in range(50):
        home = Property.objects.create(workspace=main, object_reference_id=f"H-{number}")
        make_assignment(
            make_order(main, f"{number}", real_estate_property=home), platform_id=f"a{number}"
        )
        placements.append(Placement(workspace=main, real_estate_property=home, products=[PHOTO]))
    assert queries(1) == queries(50)
    assert Order.objects.count() == 50
