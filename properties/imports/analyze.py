"""What PostgreSQL must know of our tables to plan well, told as soon as an import has filled them.

Of a table that nobody analyzed it takes any two rows to be alike, so each look for a hundred
references reads the whole workspace; its autovacuum comes a minute later. SQLite needs nothing.
"""

from django.db import connection

from properties.models import Change, Property

ENOUGH = 1_000  # rows, from which on a bad plan is felt


def tell(made: int) -> None:
    """Analyze the tables, if an import that has made so many rows found them unknown.

    A table that somebody else analyzes or cleans up at this moment is left to them.
    """
    if connection.vendor != "postgresql" or made < ENOUGH:
        return
    with connection.cursor() as cursor:
        for model in (Property, Change):
            table = connection.ops.quote_name(model._meta.db_table)
            cursor.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [table])
            if cursor.fetchone()[0] < ENOUGH:
                cursor.execute(f"ANALYZE (SKIP_LOCKED) {table}")
