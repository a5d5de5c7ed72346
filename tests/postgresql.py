"""Run the suite once more on PostgreSQL: python -m tests.postgresql [--one-in N | PYTEST ARGUMENTS]

`make postgresql` runs all that uses a database, `--one-in 2` half of those files, others each time.

Where there is none it says so; on a CI machine (CI=true) that is a failure.
"""

import os
import random
import subprocess
import sys

import psycopg

URL = os.environ.get("TEST_DATABASE_URL", "postgres://postgres@127.0.0.1:5432/postgres")


def is_there() -> bool:
    """Tell whether a PostgreSQL answers at TEST_DATABASE_URL, and say so where none does."""
    try:
        psycopg.connect(URL.replace("postgres://", "postgresql://"), connect_timeout=3).close()
    except psycopg.OperationalError as error:
        print(f"skipped: no PostgreSQL at TEST_DATABASE_URL ({str(error).splitlines()[0]})")
        return False
    return True


def main() -> int:
    if not is_there():
        return 1 if os.environ.get("CI") == "true" else 0
    which = ("--database-only", "-m", "not browser and not chaos")
    which += ("--numprocesses", "3", "--dist", "worksteal")
    given = sys.argv[1:]
    if given[:1] == ["--one-in"]:
        given = [*which, *given, str(random.randrange(1000))]
    command = [sys.executable, "-m", "pytest", *(given or which)]
    return subprocess.run(command, env=os.environ | {"DATABASE_URL": URL}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
