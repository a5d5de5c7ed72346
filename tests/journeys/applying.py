"""Apply a file to the configuration of an installation, and stand still in the midst of it."""

import os
import sys
import time

import django

STANDS = "stands still"


def main(file: str, moment: str) -> None:
    """Stand still after the write of this number, or after the commit.

    With 0 change nothing, and print the number of writes.
    """
    from django.core.management import call_command
    from django.db import connection

    writes = 0

    def counted(execute, sql, params, many, context):
        nonlocal writes
        result = execute(sql, params, many, context)
        writes += sql.startswith(("INSERT", "UPDATE", "DELETE"))
        if str(writes) == moment != "0":
            stand()
        return result

    with connection.execute_wrapper(counted):
        call_command("config", "apply", file, dry_run=moment == "0")
    if moment == "0":
        print(writes)
    else:
        stand()


def stand() -> None:
    print(STANDS, flush=True)
    time.sleep(60)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    main(*sys.argv[1:])
