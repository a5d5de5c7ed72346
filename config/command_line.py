"""The command line: `manage.py` in the repository, `crm-sync` where the wheel is installed."""

import os
import sys
from typing import Any

from django.core.management import execute_from_command_line
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from config.environment import end_in_one_line
from crm_sync import __version__

# Commands that serve as a worker or web server. Their statements have a time limit (decision 15).
SERVING = frozenset({"work", "runserver"})


def main() -> None:
    """Run one command; `--version` prints our version, where Django would print its own."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    end_in_one_line()
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"{__version__}\n")
        return
    wait_for_statements(sys.argv)
    execute_from_command_line(sys.argv)


def wait_for_statements(argv: list[str]) -> None:
    """Remove PostgreSQL's limit for a maintenance command: an index over many rows takes long.

    Args:
        argv: the command line, such as `["manage.py", "migrate"]`.
    """
    if not SERVING & set(argv[1:2]):
        connection_created.connect(_without_limit)


def _without_limit(connection: BaseDatabaseWrapper, **_: Any) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
