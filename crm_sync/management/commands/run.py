"""manage.py run: start web, callbacks, worker and beat."""

import os
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from crm_sync.installed import beside


class Command(BaseCommand):
    """Becomes honcho, which runs the Procfile. If one process ends, all end."""

    help = "Start web, callbacks, worker and beat on this machine, until Ctrl-C."
    requires_migrations_checks = True

    def handle(self, *_: Any, **__: Any) -> None:
        """Run the processes in the current folder, with the programs of this Python."""
        programs = Path(sys.executable).parent
        os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        honcho = (sys.executable, "-m", "honcho", "--app-root", ".", "--procfile")
        self.stdout.flush()
        os.execv(sys.executable, [*honcho, str(beside("Procfile")), "start"])  # noqa: S606 - ours
