"""Locks of many rows, always in the sequence of their keys.

A statement that writes many rows locks them as it comes to them, and each edit moves a row in its
table. So two that meet could each have a row for which the other one waits, and PostgreSQL would
end one of them. Whoever writes several rows in one transaction therefore locks all of them first.
"""

from collections import deque
from typing import Any

from django.db import connection, transaction
from django.db.models import Model, QuerySet


def lock(rows: QuerySet[Any]) -> None:
    """Lock rows until the transaction ends. On SQLite it has the lock of all rows."""
    if connection.features.has_select_for_update:
        held = rows.order_by("pk").select_for_update(no_key=True).values_list("pk")
        deque(held.iterator(), maxlen=0)  # there may be a million


def update(rows: QuerySet[Any], **columns: Any) -> int:
    """Write columns of many rows; return their number."""
    with transaction.atomic():
        lock(rows)
        return rows.update(**columns)


def lock_table(model: type[Model]) -> None:
    """Wait for all who have locked or written rows of a table, and let nobody else do so."""
    if connection.features.has_select_for_update:
        table = connection.ops.quote_name(model._meta.db_table)
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
