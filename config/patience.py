"""How long a statement may last in PostgreSQL: longer where a person waits for it (decision 15)."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

# What `manage.py` runs instead of a worker or a web server: a statement of theirs ends in time.
SERVING = frozenset({"work", "runserver"})


def wait_for_statements(argv: list[str]) -> None:
    """Let the statements of a maintenance command last: an index over millions of rows takes long.

    Args:
        argv: the command line, such as `["manage.py", "migrate"]`.
    """
    if not SERVING & set(argv[1:2]):
        connection_created.connect(_without_limit)


def _without_limit(connection: BaseDatabaseWrapper, **_: Any) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
