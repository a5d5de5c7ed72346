"""The tiles of the overview count few rows among many, and read no others."""

import pytest
from django.db import connection
from django.db.models import QuerySet

from orders.models import Order
from orders.models.statuses import ORDER_TERMINAL

pytestmark = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite uses no partial index for a parameter"
)


@pytest.mark.parametrize(
    ("rows", "index"),
    [
        (lambda: Order.objects.exclude(status__in=ORDER_TERMINAL), "order_open"),
        (lambda: Order.objects.exclude(problem=""), "order_with_problem"),
    ],
)
def test_a_tile_of_orders_reads_an_index_of_its_rows_alone(db, rows, index):
    with connection.cursor() as cursor:
        cursor.execute("set local enable_seqscan = off")  # of no rows it would read all
        found: QuerySet[Order] = rows()
        assert index in found.order_by().values("pk").explain()
