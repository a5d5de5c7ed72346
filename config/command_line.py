"""The command line: `manage.py` in the repository, `crm-sync` where the wheel is installed."""

import os
import sys

from django.core.management import execute_from_command_line

from config.environment import end_in_one_line
from config.statement_timeout import wait_for_statements
from crm_sync import __version__


def main() -> None:
    """Run one command; `--version` prints our version, where Django would print its own."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    end_in_one_line()
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"{__version__}\n")
        return
    wait_for_statements(sys.argv)
    execute_from_command_line(sys.argv)
