"""Lists of the admin: the rows of each page and their number, whatever was read to know it."""

import re
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from crm_sync.admin.ui import paginator
from crm_sync.admin.ui.paginator import ListPaginator
from crm_sync.models import Workspace
from properties.models import Batch, Property

ROWS = 30


@pytest.fixture
def stock(db):
    """Return a function that makes as many properties, R-000 and on."""

    def stock_(number: int):
        place = Workspace.objects.create(slug="main", base_url="https://platform.test")
        Property.objects.bulk_create(
            Property(workspace=place, object_reference_id=f"R-{n:03}") for n in range(number)
        )
        return Property.objects.order_by("object_reference_id")

    return stock_


@pytest.mark.parametrize("number", [0, 1, 29, 30, 31, 60, 61, 310])
@pytest.mark.parametrize("is_narrowed", [False, True])
def test_each_row_stands_on_one_page_in_its_order(stock, number, is_narrowed):
    rows = stock(number)
    narrowed = rows.filter(object_reference_id__startswith="R-") if is_narrowed else rows
    pages = ListPaginator(narrowed, ROWS)
    found = [row for page in pages.page_range for row in pages.page(page).object_list]
    assert (pages.count, found) == (number, list(rows))


def test_a_count_that_takes_long_holds_up_no_other_list():
    begins, goes_on = Event(), Event()

    class Slow:
        @property
        def query(self) -> Any:
            begins.set()
            assert goes_on.wait(30)
            return SimpleNamespace(where=True)

        def __getitem__(self, _: slice) -> list[int]:
            return [1]

    class Quick(list[int]):
        query = SimpleNamespace(where=True)

    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(lambda: ListPaginator(Slow(), ROWS).count)
        assert begins.wait(30)
        try:
            quick = pool.submit(lambda: ListPaginator(Quick([1, 2]), ROWS).count)
            assert quick.result(timeout=10) == 2
        finally:
            goes_on.set()
        assert slow.result(timeout=30) == 1


def test_a_search_that_finds_a_few_reads_the_table_once(stock, admin_client):
    stock(40)
    admin_client.get("/admin/properties/property/")  # what a process keeps is not ours
    with CaptureQueriesContext(connection) as queries:
        page = admin_client.get("/admin/properties/property/?q=R-00").content.decode()
    assert [f"R-{n:03}" in page for n in (0, 9, 10)] == [True, True, False]
    by_words = [one for one in queries if "LIKE" in one["sql"] or "@@" in one["sql"]]
    assert len(by_words) == 1


@pytest.mark.parametrize(("searched", "total"), [("R-", 40), ("R-03", 10), ("none", 0)])
def test_a_list_says_how_many_were_found(stock, admin_client, searched, total):
    stock(40)
    page = admin_client.get(f"/admin/properties/property/?q={searched}")
    assert page.context["cl"].result_count == total
    assert len(page.context["cl"].result_list) == min(total, ROWS)
    assert f"{total} results (" in page.content.decode()


@pytest.mark.parametrize("searched", ["", "R-"])
def test_a_long_list_is_counted_to_a_limit_and_says_that_there_are_more(
    stock, admin_client, monkeypatch, searched
):
    stock(95)
    monkeypatch.setattr(paginator, "MOST", 90)
    address = f"/admin/properties/property/?q={searched}"
    with CaptureQueriesContext(connection) as queries:
        page = admin_client.get(address)
    assert (page.context["cl"].result_count, page.context["cl"].paginator.num_pages) == (90, 3)
    shown = page.content.decode()
    assert "Select all 90+ properties" in shown
    assert re.search(r"90\+\s+properties", shown)
    assert ("90+ results (" in shown) == bool(searched)
    counts = [one["sql"] for one in queries if "COUNT(" in one["sql"]]
    assert [one for one in counts if "properties_property" in one and "LIMIT" not in one] == []
    assert len(admin_client.get(f"{address}&p=3").context["cl"].result_list) == ROWS
    assert admin_client.get(f"{address}&p=4").context["cl"].page_num == 3


@pytest.mark.parametrize("parameter", ["", "&live=1"])
def test_a_page_whose_rows_have_gone_shows_the_last_page_and_keeps_the_filters(
    stock, admin_client, parameter
):
    stock(70)
    Property.objects.filter(object_reference_id__gte="R-050").delete()
    page = admin_client.get(f"/admin/properties/property/?q=R-&p=3{parameter}")
    rows = page.context["cl"].result_list
    assert (page.status_code, page.context["cl"].page_num) == (200, 2)
    assert [row.object_reference_id for row in rows] == [f"R-{n:03}" for n in range(30, 50)]


def test_an_action_on_a_page_whose_rows_have_gone_is_done(stock, admin_client):
    stock(70)
    row = Property.objects.get(object_reference_id="R-069")
    Property.objects.filter(object_reference_id__gte="R-050").exclude(pk=row.pk).delete()
    chosen = {"action": "push", "_selected_action": row.pk}
    answer = admin_client.post("/admin/properties/property/?q=R-&p=3", chosen)
    batch = Batch.objects.get()
    assert answer["Location"] == f"/admin/properties/property/batch/{batch.pk}/"
    assert [*batch.properties.all()] == [row]


def test_a_view_whose_page_has_gone_is_not_said_to_have_a_wrong_filter(stock, admin_client):
    stock(70)
    views, asked = "/admin/properties/property/views/", {"name": "mine", "query": "q=R-"}
    address = admin_client.post(views, {"act": "save", **asked})["Location"]
    page = admin_client.get(f"{address}&p=4")
    assert (page.status_code, page.context["cl"].page_num) == (200, 3)


def test_what_is_selected_on_all_pages_is_all_of_it(stock, admin_client, monkeypatch):
    stock(95)
    monkeypatch.setattr(paginator, "MOST", 90)
    row = Property.objects.first()
    chosen = {"action": "export_csv", "select_across": "1", "_selected_action": row.pk}
    answer = admin_client.post("/admin/properties/property/", chosen)
    assert answer.getvalue().count(b"R-") == 95


def test_a_list_that_nothing_narrows_offers_no_more(stock, admin_client):
    stock(40)
    assert " results (" not in admin_client.get("/admin/properties/property/").content.decode()
