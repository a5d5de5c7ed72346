"""The Celery tasks: thin, with ids, and never the only record of anything (I12)."""

import logging
from typing import Any

from celery import bootsteps, shared_task, signals
from django.db import DatabaseError
from django.utils import timezone

from crm_sync import registry
from crm_sync.jobs import retention
from crm_sync.jobs.doorbell import doorbell
from crm_sync.models import WebhookMonitor
from crm_sync.webhook import schedule
from crm_sync.workers import heartbeat, lanes, queues
from crm_sync.workers.ticker import BUDGET, Ticker

log = logging.getLogger(__name__)

tickers: list[Ticker] = []  # the one of this process, once it is a worker


@shared_task(name="crm_sync.drain")
def drain(queue: str, workspace_id: int) -> dict[str, int]:
    """Do what is due in one queue of one workspace; what is left goes behind other rings.

    Returns:
        outcome → number of rows; nothing where another worker drains it.
    """
    lanes.ring_taken(queue, workspace_id)
    tally = registry.queue(queue).drain(workspace_id, BUDGET)
    if tally.more:
        doorbell.ring(queue, workspace_id)
    return tally.counts


def publish(queue: str, workspace_id: int) -> None:
    """Hand one ring of the doorbell to the broker, bounded in time, unless one waits there."""
    if not lanes.may_ring(queue, workspace_id, now=timezone.now()):
        return
    lasts = lanes.RING_LASTS.total_seconds()
    try:
        drain.apply_async(args=[queue, workspace_id], expires=lasts, retry=True)
    except Exception:
        lanes.ring_taken(queue, workspace_id)
        raise


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


class BeginHeartbeat(bootsteps.StartStopStep):  # type: ignore[misc] # Celery has no types
    """Begins the heartbeat when the pool is forked, and before the broker has been reached."""

    requires = {"celery.worker.components:Pool"}

    def start(self, parent: Any) -> None:
        """Beat until this worker ends."""
        heartbeat.keep(heartbeat.Kind.WORKER, parent.hostname)


@signals.celeryd_init.connect
def worker_begins(instance: Any, **_: Any) -> None:
    """Add our step to those by which a worker starts."""
    instance.app.steps["worker"].add(BeginHeartbeat)


@signals.celeryd_after_setup.connect
def tick_in_worker(instance: Any, **_: Any) -> None:
    """Tick in a worker whose pool are threads; one that forks ticks in its children.

    Before it has reached the broker, since the tick needs none.
    """
    if "prefork" not in str(getattr(instance.pool_cls, "__module__", instance.pool_cls)):
        tick_in_process()


@signals.worker_process_init.connect
def tick_in_process(**_: Any) -> None:
    """Tick in this process until it ends."""
    if not tickers:
        tickers.append(Ticker())
        tickers[0].start()


@signals.worker_shutting_down.connect
def end_what_is_begun(**_: Any) -> None:
    """End each drain of this process after the rows that it has begun."""
    queues.ending.set()


@signals.worker_process_shutdown.connect
@signals.worker_shutdown.connect
def stop_ticking(**_: Any) -> None:
    """Wait for the drains of this process to give back what they hold."""
    for ticker in tickers:
        ticker.stop()


@shared_task(name="crm_sync.clear_deliveries")
def clear_deliveries() -> dict[str, int]:
    """Remove old rows of all apps; the next run continues where this one ends (S23).

    Returns:
        how many rows, by what they are: received events by their state.
    """
    now = timezone.now()
    parts = {name: part for of in registry.hooks().expired for name, part in of(now).items()}
    counts = retention.clear(parts, budget=BUDGET)
    if counts:
        text = ", ".join(f"{count} {name}" for name, count in counts.items())
        log.info("old rows were removed: %s", text)
    return counts
