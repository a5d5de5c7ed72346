#!/usr/bin/env python
"""Django's command line."""

import os
import sys

from django.core.management import execute_from_command_line

from config.environment import end_in_one_line
from config.statement_timeout import wait_for_statements

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    end_in_one_line()
    wait_for_statements(sys.argv)
    execute_from_command_line(sys.argv)
