"""The Celery tasks: thin, with ids, and never the only record of anything (I12)."""

import logging
import threading
import time
from typing import Any

from celery import bootsteps, current_app, shared_task, signals
from django.db import DatabaseError, connection
from django.utils import timezone
from kombu.exceptions import ChannelError

from crm_sync import expiry, hooks, permits
from crm_sync.models import Heartbeat, WebhookMonitor, call_log
from crm_sync.webhook import schedule
from crm_sync.work import heartbeat, queues, rings, turn

log = logging.getLogger(__name__)

TICK = 1.0  # seconds from one tick to the next
TICKS = "tick"  # the queue of the ticks in the broker
_ticking = threading.Lock()
BUDGET = 20.0  # seconds of a scheduled task; less than a broker's visibility time-out


@shared_task(name="crm_sync.work")
def work(queue: str, workspace_id: int) -> dict[str, int]:
    """Take one turn at a queue of a workspace.

    Returns:
        outcome → number of rows; nothing where others use all slots.
    """
    with permits.held():
        rings.taken(queue, workspace_id)
        return turn.take(hooks.queue(queue), workspace_id).counts


@shared_task(name="crm_sync.tick")
def tick() -> int:
    """Ring for what is due and has no message, of all queues; return for how many.

    One at a time in a process: while the database is slow, more of them would only use up the
    connections.
    """
    if not _ticking.acquire(blocking=False):
        return 0
    try:
        now = timezone.now()
        heartbeat.beat(Heartbeat.Kind.TICK, "tick", now)
        call_log.flush()
        return len(rings.tick(now, send, messages=messages))
    finally:
        _ticking.release()


def publish(queue: str, workspace_id: int) -> None:
    """Hand one ring of the doorbell to the broker, bounded in time, unless one waits there."""
    if not rings.waits(queue, workspace_id) and rings.mark([(queue, workspace_id)], timezone.now()):
        send(queue, workspace_id)


def send(queue: str, workspace_id: int) -> None:
    """Hand a message to the broker; one that fails waits no longer.

    Raises:
        Exception: what the broker raises.
    """
    try:
        work.apply_async(args=[queue, workspace_id], retry=True)
    except Exception:
        rings.taken(queue, workspace_id)
        raise


def messages(name: str = "celery") -> int:
    """Return how many messages wait in this queue of the broker, by default that of the turns."""
    # A new connection: a broken one from the pool cannot open a channel.
    with current_app.connection_for_read() as broker:
        broker.connect()
        try:
            return int(broker.channel().queue_declare(name, passive=True).message_count)
        except ChannelError:  # Redis has no key for a list without entries
            return 0


def send_tick() -> None:
    """Have a worker take the tick, unless one waits for it already.

    Raises:
        Exception: what the broker raises.
    """
    if not messages(TICKS):
        tick.apply_async(retry=False)


def send_ticks() -> None:
    """Send a tick each second until this process ends, whatever its wall clock does."""
    next_at, is_away = time.monotonic(), False
    while True:
        try:
            send_tick()
            is_away = False
        except Exception as error:  # noqa: BLE001 - each broker raises its own
            if not is_away:
                log.warning("the broker does not answer (%s); asking again", error)
            is_away = True
        now = time.monotonic()
        next_at = max(next_at + TICK, now)
        time.sleep(next_at - now)


@signals.beat_init.connect
@signals.beat_embedded_init.connect
def beat_begins(**_: Any) -> None:
    """Send ticks beside what is scheduled."""
    threading.Thread(target=send_ticks, name="ticks", daemon=True).start()


def poll_at_once() -> None:
    """Have the history read, since events may have come while no worker ran."""
    try:
        schedule.ask(WebhookMonitor.objects.all(), now=timezone.now())
    except DatabaseError:
        log.exception("the history could not be asked for; the next poll reads it")


@signals.worker_ready.connect
def worker_is_ready(**_: Any) -> None:
    """Catch up with what was missed."""
    poll_at_once()
    connection.close()  # its thread does nothing else with the database


class BeginHeartbeat(bootsteps.StartStopStep):  # type: ignore[misc] # Celery has no types
    """Begins the heartbeat when the pool is made, and before the broker has been reached."""

    requires = {"celery.worker.components:Pool"}

    def start(self, parent: Any) -> None:
        """Beat until this worker ends."""
        heartbeat.keep(heartbeat.Kind.WORKER, parent.hostname)


@signals.celeryd_init.connect
def worker_begins(instance: Any, **_: Any) -> None:
    """Add our step to those by which a worker starts."""
    instance.app.steps["worker"].add(BeginHeartbeat)


@signals.worker_shutting_down.connect
def end_what_is_begun(**_: Any) -> None:
    """End each turn of this process after the rows that it has begun."""
    queues.ending.set()


@signals.worker_process_shutdown.connect
@signals.worker_shutdown.connect
def write_the_calls(**_: Any) -> None:
    """Write what was logged of the last calls."""
    call_log.flush()


@shared_task(name="crm_sync.clear_deliveries")
def clear_deliveries() -> dict[str, int]:
    """Remove old rows of all apps; the next run continues where this one ends (S23).

    Returns:
        how many rows, by what they are: received events by their state.
    """
    now = timezone.now()
    parts = {name: part for of in hooks.plugged().expired for name, part in of(now).items()}
    counts = expiry.clear(parts, budget=BUDGET)
    if counts:
        text = ", ".join(f"{count} {name}" for name, count in counts.items())
        log.info("old rows were removed: %s", text)
    return counts
