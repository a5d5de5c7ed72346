"""The time limit of statements in PostgreSQL, which maintenance commands lack (decision 15)."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

# Commands of `manage.py` that serve as a worker or web server. Their statements have a time limit.
SERVING = frozenset({"work", "runserver"})


def wait_for_statements(argv: list[str]) -> None:
    """Remove the limit for a maintenance command: an index over millions of rows takes long.

    Args:
        argv: the command line, such as `["manage.py", "migrate"]`.
    """
    if not SERVING & set(argv[1:2]):
        connection_created.connect(_without_limit)


def _without_limit(connection: BaseDatabaseWrapper, **_: Any) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
