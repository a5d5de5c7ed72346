"""Run the suite once more on PostgreSQL: python -m tests.postgresql

Where there is none it says so; on a CI machine (CI=true) that is a failure.
"""

import os
import subprocess
import sys

import psycopg

URL = os.environ.get("TEST_DATABASE_URL", "postgres://postgres@127.0.0.1:5432/postgres")


def main() -> int:
    try:
        psycopg.connect(URL.replace("postgres://", "postgresql://"), connect_timeout=3).close()
    except psycopg.OperationalError as error:
        print(f"skipped: no PostgreSQL at TEST_DATABASE_URL ({str(error).splitlines()[0]})")
        return 1 if os.environ.get("CI") == "true" else 0
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--numprocesses",
        "2",
        "--database-only",
        "-m",
        "not browser",
    ]
    return subprocess.run(command, env=os.environ | {"DATABASE_URL": URL}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
