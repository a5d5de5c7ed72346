"""A statement of a maintenance command lasts as long as it takes, one of a worker does not."""

import subprocess
import sys

import pytest
from django.db import connection

from tests.processes import ROOT, Installation

pytestmark = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite knows no such limit"
)

ONLY_SHORT = "?options=-c%20statement_timeout%3D100ms"
LONG = "from django.db import connection as c; c.cursor().execute('select pg_sleep(0.5)')"
COMMAND = (sys.executable, "manage.py", "shell", "-c", LONG)
WORKER = (sys.executable, "-c", f"import django; django.setup(); {LONG}")
# `manage.py work` does what a worker does.
WORK = (
    *(sys.executable, "-c"),
    "from config.command_line import wait_for_statements as w; w(['manage.py', 'work']);"
    f" import django; django.setup(); {LONG}",
)


@pytest.mark.parametrize(
    ("command", "error"),
    [(COMMAND, ""), (WORKER, "due to statement timeout"), (WORK, "due to statement timeout")],
)
def test_only_a_maintenance_command_waits_for_a_long_statement(
    tmp_path, database_url, command, error
):
    environment = Installation(tmp_path, database_url + ONLY_SHORT).environment
    environment["DJANGO_SETTINGS_MODULE"] = "config.settings"
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode == 0) == (not error)
    assert error in done.stderr
