"""Keep what a release leaves behind: python -m tests.upgrades VERSION

It writes the dumps of SQLite and of the PostgreSQL at TEST_DATABASE_URL into this folder.
"""

import os
import subprocess
import sys

from tests import postgresql

WRITER = "tests/upgrades/test_filling.py"


def main() -> int:
    if len(sys.argv) != 2 or not postgresql.is_there():
        print(__doc__)
        return 2
    here = os.environ | {"RELEASE": sys.argv[1]}
    command = [sys.executable, "-m", "pytest", "-q", WRITER]
    for database in ({}, {"DATABASE_URL": postgresql.URL}):
        done = subprocess.run(command, env=here | database, check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
