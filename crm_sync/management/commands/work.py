"""manage.py work: the turns of the workers, with no broker at all (I12)."""

import signal
import socket
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync import hooks, permits, tasks
from crm_sync.management.base import SyncCommand
from crm_sync.work import heartbeat, queues, turn
from crm_sync.work.leases import Tally
from crm_sync.work.local import Local

BUDGET = 20.0  # seconds of one turn, where nobody else waits


class Command(SyncCommand):
    """Does everything that is due, once or for ever."""

    help = "Do everything that is due: push properties, apply received events, read orders."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--loop", action="store_true", help="go on until it is stopped")

    def handle(self, *_: Any, **options: Any) -> None:
        """Take a turn at each queue of each workspace that has something due."""
        if options["loop"]:
            self._loop()
            return
        counts = self._once()
        lines = [f"{queue}: {outcome} {n}" for queue, outcome, n in counts] or ["nothing is due"]
        document = {"done": [list(count) for count in counts]}
        self.emit(document, lines, as_json=options["json"])

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
        # SIGTERM ends what is begun, as a worker does.
        signal.signal(signal.SIGTERM, lambda *_: queues.ending.set())
        Local(report=self._report).run()

    def _report(self, queue: str, tally: Tally) -> None:
        for outcome, count in sorted(tally.counts.items()):
            self.stdout.write(f"{queue}: {outcome} {count}")
