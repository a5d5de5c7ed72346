"""manage.py work: run the turns of workers without a broker (I12)."""

import signal
import socket
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync import hooks, permits, tasks
from crm_sync.management.base import PARTLY, SyncCommand
from crm_sync.observing import recording
from crm_sync.work import heartbeat, queues, turn
from crm_sync.work.leases import Tally
from crm_sync.work.local import Local
from crm_sync.work.queues import RowOutcome

BUDGET = 20.0  # seconds of one turn; nobody else waits for this process


class Command(SyncCommand):
    """Works on all due rows, once or in a loop."""

    help = "Do everything that is due: push properties, apply received events, read orders."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--loop", action="store_true", help="go on until it is stopped")

    def handle(self, *_: Any, **options: Any) -> None:
        """Run a turn for each queue of each workspace with due rows."""
        recording.begin()
        if options["loop"]:
            self._loop()
            return
        counts = self._once()
        lines = [f"{queue}: {outcome} {n}" for queue, outcome, n in counts] or ["nothing is due"]
        document = {"done": [list(count) for count in counts]}
        self.emit(document, lines, as_json=options["json"])
        if failed := sum(n for _, outcome, n in counts if outcome == RowOutcome.FAILED):
            self.fail(f"{failed} of what was due failed: the log says why", PARTLY)

    def _once(self) -> list[tuple[str, str, int]]:
        done = []
        for name, workspace_id in turn.waiting(timezone.now()):
            tally = turn.take(hooks.queue(name), workspace_id, seconds=BUDGET)
            if tally.busy:
                self.stderr.write(f"{name}: the workers use all calls that are allowed")
            done += [(name, outcome, count) for outcome, count in sorted(tally.counts.items())]
        return done

    def _loop(self) -> None:
        permits.share_connections()
        tasks.poll_at_once()
        heartbeat.keep(heartbeat.Kind.WORKER, f"work@{socket.gethostname()}")
        # After SIGTERM or Ctrl-C, begun work is finished, as in a worker.
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, lambda *_: queues.ending.set())
        Local(report=self._report).run()

    def _report(self, queue: str, tally: Tally) -> None:
        for outcome, count in sorted(tally.counts.items()):
            self.stdout.write(f"{queue}: {outcome} {count}")
