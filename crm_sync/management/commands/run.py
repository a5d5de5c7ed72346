"""manage.py run: start web, callbacks, worker and beat, or some of them."""

import os
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from crm_sync.installed import beside


class Command(BaseCommand):
    """Becomes honcho, which runs the Procfile. If one process ends, all end."""

    help = "Start web, callbacks, worker and beat on this machine, or some of them, until Ctrl-C."
    requires_migrations_checks = True

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the processes."""
        parser.add_argument("process", nargs="*", type=_process, help="default: all of them")

    def handle(self, *_: Any, **options: Any) -> None:
        """Run the processes in the current folder, with the programs of this Python."""
        programs = Path(sys.executable).parent
        os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        honcho = (sys.executable, "-m", "honcho", "--app-root", ".", "--procfile")
        self.stdout.flush()
        os.execv(  # noqa: S606 - ours
            sys.executable, [*honcho, str(beside("Procfile")), "start", *options["process"]]
        )


def _process(name: str) -> str:
    """Return the name of a process of the Procfile; `choices` would refuse that there is none."""
    lines = beside("Procfile").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[0] for line in lines]
    if name not in names:
        known = ", ".join(map(repr, names))
        raise ArgumentTypeError(f"invalid choice: {name!r} (choose from {known})")
    return name
