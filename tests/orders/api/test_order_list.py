"""A program lists the orders of its workspace, with filters and page by page."""

from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from crm_sync.models import Workspace
from orders.models import Assignment, Order
from properties.models import Property
from tests.api import error, program
from tests.orders.admin_rows import make_assignment, make_order, note

pytestmark = pytest.mark.django_db


@pytest.fixture
def erp(main):
    return program(main, ["orders:read"])


def listed(erp, **query: object) -> list[str]:
    return [one["id"] for one in erp.get(f"/orders?{urlencode(query)}")["items"]]


def test_orders_are_found_by_status_and_by_the_reference_of_their_property(erp, main):
    make_order(main, "1", object_reference_id="MH/1")
    make_order(main, "2", object_reference_id="MH/1", status="COMPLETED")
    make_order(main, "3", object_reference_id="MH/10", status="ON_THE_MOON")
    assert listed(erp) == ["1", "2", "3"]
    assert listed(erp, reference="MH/1") == ["1", "2"]
    assert listed(erp, status="COMPLETED", reference="MH/1") == ["2"]
    assert listed(erp, status="ON_THE_MOON") == ["3"]
    assert listed(erp, status="PLACED", reference="MH/10") == []


def test_an_order_goes_by_the_reference_that_its_property_has_now(erp, main):
    renamed = Property.objects.create(workspace=main, object_reference_id="NEW-1")
    make_order(main, "1", real_estate_property=renamed)  # ordered before it had a reference
    make_order(main, "2", real_estate_property=renamed, object_reference_id="OLD-1")
    make_order(main, "3", object_reference_id="OLD-1")
    assert listed(erp, reference="NEW-1") == ["1", "2"]
    assert listed(erp, reference="OLD-1") == ["3"]
    named = {one["id"]: one["reference"] for one in erp.get("/orders")["items"]}
    assert named == {"1": "NEW-1", "2": "NEW-1", "3": "OLD-1"}
    assert erp.get("/orders/2")["reference"] == "NEW-1"


def test_an_order_is_updated_by_a_read_a_callback_or_a_read_of_an_assignment(erp, main):
    today, since = now(), now() - timedelta(hours=1)
    old = today - timedelta(days=2)
    rows = [make_order(main, str(n), created_at=old, read_at=old) for n in range(4)]
    make_order(main, "new")
    rows[1].read_at = today
    rows[1].save()
    note(rows[2], "COMPLETED", created_at=today)
    note(rows[0], "PLACED", created_at=old)
    make_assignment(rows[3], "a3", read_at=today)
    make_assignment(rows[0], "a0", read_at=old)
    assert listed(erp, updated_since=since.isoformat()) == ["1", "2", "3", "new"]


def test_pages_follow_each_other_while_orders_are_added(erp, main):
    for n in range(5):
        make_assignment(make_order(main, str(n)), f"a{n}")
    page = erp.get("/orders?limit=2")
    seen = [one["id"] for one in page["items"]]
    make_order(main, "5")
    while page["next"]:
        page = erp.get(page["next"].partition("/api/v1")[2])
        seen += [one["id"] for one in page["items"]]
    assert seen == ["0", "1", "2", "3", "4", "5"]
    with CaptureQueriesContext(connection) as captured:
        items = erp.get("/orders?limit=4")["items"]
    assert [one["assignments"][0]["id"] for one in items] == ["a0", "a1", "a2", "a3"]
    assert len(captured) == 3  # the token, the orders, their assignments; no order has a property


@pytest.mark.parametrize("path", ["status", "updated_since", "reference", "state"])
def test_a_filter_that_is_empty_or_unknown_is_refused(erp, path):
    assert error(erp.call("GET", f"/orders?{path}=")) == (400, "invalid", [path])


@pytest.mark.parametrize("path", ["/orders/1/materials", "/properties/A-1/materials"])
def test_a_list_of_materials_has_no_pages_and_refuses_every_parameter(erp, main, path):
    home = Property.objects.create(workspace=main, object_reference_id="A-1")
    make_order(main, "1", real_estate_property=home)
    assert erp.get(path) == {"items": []}
    assert error(erp.call("GET", f"{path}?limit=5")) == (400, "invalid", ["limit"])


@pytest.mark.parametrize("path", ["/orders", "/properties/A-1/orders"])
def test_five_thousand_orders_take_as_many_queries_a_page_and_none_reads_a_document(
    erp, main, path
):
    home = Property.objects.create(workspace=main, object_reference_id="A-1")
    columns = {"workspace": main, "real_estate_property": home, "status": "PLACED"}
    orders = Order.objects.bulk_create(
        [Order(**columns, platform_id=f"{n}", observed={"n": n}) for n in range(5_000)]
    )
    Assignment.objects.bulk_create(
        Assignment(workspace=main, order=one, platform_id=f"a{one.platform_id}") for one in orders
    )
    erp.get(f"{path}?limit=1")  # notes that the token is used
    address, seen, queries = f"{path}?limit=500", set(), set()
    while address:
        with CaptureQueriesContext(connection) as captured:
            page = erp.get(address)
        queries.add(len(captured))
        assert [one["sql"] for one in captured if '"orders_order"."observed"' in one["sql"]] == []
        seen |= {one["assignments"][0]["id"] for one in page["items"]}
        address = (page["next"] or "").partition("/api/v1")[2]
    assert (len(seen), len(queries)) == (5_000, 1)


@pytest.mark.rule("S12")
def test_orders_of_another_workspace_are_not_listed(erp):
    other = Workspace.objects.create(slug="other", base_url="http://other.invalid")
    make_order(other, "9", object_reference_id="MH-1")
    assert listed(erp) == listed(erp, reference="MH-1") == listed(erp, status="PLACED") == []
