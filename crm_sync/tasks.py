"""The Celery tasks: thin, with ids as arguments, and never the only record of work (I12)."""

import logging
import threading
import time
from datetime import timedelta
from typing import Any

from celery import bootsteps, current_app, shared_task, signals
from django.db import DatabaseError, connection
from django.utils import timezone
from kombu.exceptions import ChannelError, OperationalError

from crm_sync import expiry, hooks, permits
from crm_sync.models import Heartbeat, WebhookMonitor, call_log
from crm_sync.observing import alarm_report, alarms
from crm_sync.webhook import schedule
from crm_sync.work import heartbeat, queues, rings, turn

log = logging.getLogger(__name__)

TICK = 1.0  # seconds from one tick to the next
TICKS = "tick"  # the queue of the ticks in the broker
_ticking = threading.Lock()
BUDGET = 20.0  # seconds of a scheduled task; less than a broker's visibility time-out


@shared_task(name="crm_sync.work")
def work(queue: str, workspace_id: int) -> dict[str, int]:
    """Run one turn of a queue of a workspace.

    Returns:
        outcome → number of rows; empty if no slot was free.
    """
    with permits.held():
        rings.taken(queue, workspace_id)
        return turn.take(hooks.queue(queue), workspace_id).counts


@shared_task(name="crm_sync.tick")
def tick() -> int:
    """Ring for all queues with due rows and no message; return the number of messages.

    Only one runs at a time in a process. While the database is slow, more of them would only use up
    the connections.
    """
    if not _ticking.acquire(blocking=False):
        return 0
    try:
        now = timezone.now()
        heartbeat.beat(Heartbeat.Kind.TICK, "tick", now)
        call_log.flush()
        return len(rings.tick(now, send, messages=messages))
    except (OperationalError, *current_app.connection_for_write().connection_errors) as error:
        log.warning("the broker does not answer (%s); the next tick rings", error)
        return 0
    finally:
        _ticking.release()


def publish(queue: str, workspace_id: int) -> None:
    """Send one ring of the doorbell to the broker, within a time limit, unless one waits there."""
    if not rings.waits(queue, workspace_id) and rings.mark([(queue, workspace_id)], timezone.now()):
        send(queue, workspace_id)


def send(queue: str, workspace_id: int) -> None:
    """Send a message to the broker, and remove its mark if this fails.

    Raises:
        Exception: the error of the broker.
    """
    try:
        work.apply_async(args=[queue, workspace_id], retry=True)
    except Exception:
        rings.taken(queue, workspace_id)
        raise


def messages(name: str = "celery") -> int:
    """Return the number of messages in a queue of the broker, by default the queue of the turns."""
    # A new connection: a broken one from the pool cannot open a channel.
    with current_app.connection_for_read() as broker:
        broker.connect()
        try:
            return int(broker.channel().queue_declare(name, passive=True).message_count)
        except ChannelError:  # Redis has no key for a list without entries
            return 0


def send_tick() -> None:
    """Send a tick to the workers, unless one is already waiting.

    Raises:
        Exception: the error of the broker.
    """
    if not messages(TICKS):
        tick.apply_async(retry=False)


def send_ticks() -> None:
    """Send a tick each second until this process ends, even if the wall clock is changed."""
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


def watch() -> None:
    """Look for alarms until this process ends. A mail that hangs delays only the next look."""
    is_failing = False
    while True:
        try:
            look_for_alarms()
            is_failing = False
        except Exception:  # the database may be away; no trouble may end this thread
            if not is_failing:
                log.exception("alarms could not be looked for; trying again")
            is_failing = True
        finally:
            connection.close()
        rest_until_the_next_look()


def rest_until_the_next_look() -> None:
    """Sleep until this machine was awake for a whole interval.

    After a machine has slept, its workers have been silent as long, and are to be heard again.
    """
    is_over = False
    while not is_over:
        began = timezone.now()
        time.sleep(alarms.EVERY)
        is_over = timezone.now() - began < timedelta(seconds=2 * alarms.EVERY)


def look_for_alarms() -> None:
    """Begin and end alarms, and mail that no worker is alive, since no worker would."""
    alarms.notice(timezone.now())
    alarm_report.report_without_a_worker(timezone.now())


@signals.beat_init.connect
@signals.beat_embedded_init.connect
def beat_begins(**_: Any) -> None:
    """Send ticks and look for alarms in threads, beside the scheduled tasks."""
    threading.Thread(target=send_ticks, name="ticks", daemon=True).start()
    threading.Thread(target=watch, name="alarms", daemon=True).start()


def poll_at_once() -> None:
    """Request a read of the history, since events may have come while no worker ran."""
    try:
        schedule.ask(WebhookMonitor.objects.all(), now=timezone.now())
    except DatabaseError:
        log.exception("the history could not be asked for; the next poll reads it")


@signals.worker_ready.connect
def worker_is_ready(**_: Any) -> None:
    """Catch up with missed events."""
    poll_at_once()
    connection.close()  # this thread does not use the database again


class BeginHeartbeat(bootsteps.StartStopStep):  # type: ignore[misc] # Celery has no types
    """Begins the heartbeat after the pool is made, and before the broker is reached."""

    requires = {"celery.worker.components:Pool"}

    def start(self, parent: Any) -> None:
        """Beat until this worker ends."""
        heartbeat.keep(heartbeat.Kind.WORKER, parent.hostname)


@signals.celeryd_init.connect
def worker_begins(instance: Any, **_: Any) -> None:
    """Add our step to the start of a worker."""
    instance.app.steps["worker"].add(BeginHeartbeat)


@signals.worker_shutting_down.connect
def end_what_is_begun(**_: Any) -> None:
    """End each turn of this process after its rows in progress."""
    queues.ending.set()


@signals.worker_process_shutdown.connect
@signals.worker_shutdown.connect
def write_the_calls(**_: Any) -> None:
    """Write the waiting rows of the call log."""
    call_log.flush()


@shared_task(name="crm_sync.clear_deliveries")
def clear_deliveries() -> dict[str, int]:
    """Remove old rows of all apps. The next run continues where this one ends (S23).

    Returns:
        the number of rows by kind; received events by their state.
    """
    now = timezone.now()
    parts = {name: part for of in hooks.plugged().expired for name, part in of(now).items()}
    counts = expiry.clear(parts, budget=BUDGET)
    if counts:
        text = ", ".join(f"{count} {name}" for name, count in counts.items())
        log.info("old rows were removed: %s", text)
    return counts
