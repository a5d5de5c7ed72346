"""manage.py drain: the work of the Celery tasks with no broker at all (design §2.1)."""

import time
from typing import Any

from django.core.management.base import CommandParser
from django.db import DatabaseError, close_old_connections
from django.utils import timezone

from crm_sync import due, tasks
from crm_sync.commands import SyncCommand

IDLE = 1.0  # seconds between two looks with --loop


class Command(SyncCommand):
    """Does everything that is due, once or for ever."""

    help = "Do everything that is due: push properties, apply deliveries, read orders."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the loop."""
        super().add_arguments(parser)
        parser.add_argument("--loop", action="store_true", help="go on until it is stopped")

    def handle(self, *_: Any, **options: Any) -> None:
        """Drain every queue of every workspace that has something due."""
        if options["loop"]:
            self._loop()
        counts = self._once()
        lines = [f"{queue}: {outcome} {n}" for queue, outcome, n in counts] or ["nothing is due"]
        document = {"done": [list(count) for count in counts]}
        self.emit(document, lines, as_json=options["json"])

    def _once(self) -> list[tuple[str, str, int]]:
        done = []
        for name, workspace_id in due.waiting(timezone.now()):
            tally = due.QUEUES[name].drain(workspace_id, tasks.BUDGET)
            done += [(name, outcome, count) for outcome, count in sorted(tally.counts.items())]
        return done

    def _loop(self) -> None:
        tasks.start()
        while True:
            try:
                for queue, outcome, count in self._once():
                    self.stdout.write(f"{queue}: {outcome} {count}")
            except DatabaseError as error:
                self.stderr.write(f"the database does not answer ({error}); trying again")
            close_old_connections()
            time.sleep(IDLE)
