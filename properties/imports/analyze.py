"""Lets PostgreSQL analyze our tables as soon as an import has filled them.

Without statistics it takes any two rows to be alike, so each query for a hundred references reads
the whole workspace. Its autovacuum would come a minute later. SQLite needs nothing.
"""

from django.db import connection

from properties.models import Change, Property

ENOUGH = 1_000  # rows; with more, a bad plan is slow


def analyze(made: int) -> None:
    """Analyze the tables that have no statistics yet, if an import has made enough rows.

    A table that somebody else analyzes or vacuums at this moment is left out.
    """
    if connection.vendor != "postgresql" or made < ENOUGH:
        return
    with connection.cursor() as cursor:
        for model in (Property, Change):
            table = connection.ops.quote_name(model._meta.db_table)
            cursor.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [table])
            if cursor.fetchone()[0] < ENOUGH:
                cursor.execute(f"ANALYZE (SKIP_LOCKED) {table}")
