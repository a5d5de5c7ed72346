"""The Celery tasks: thin, with ids, and never the only record of anything (design §2.1)."""

import logging
from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from crm_sync import due, retention, watch
from crm_sync.models import Watch

log = logging.getLogger(__name__)

BUDGET = 20.0  # seconds; a lease and a broker's visibility time-out are several times longer


@shared_task(name="crm_sync.drain")
def drain(queue: str, workspace_id: int) -> dict[str, int]:
    """Do what is due in one queue of one workspace."""
    return due.QUEUES[queue].drain(workspace_id, BUDGET).counts


@shared_task(name="crm_sync.tick")
def tick() -> int:
    """Ring for every workspace that has something due; what was not rung for is found here.

    Returns:
        how many queues of workspaces had work.
    """
    found = due.waiting(timezone.now())
    for queue, workspace_id in found:
        # expires: a drain that waited for a whole minute has been overtaken by later ticks.
        drain.apply_async(args=[queue, workspace_id], expires=60)
    return len(found)


def publish(queue: str, workspace_id: int) -> None:
    """Hand one ring of the doorbell to the broker, bounded in time."""
    drain.apply_async(args=[queue, workspace_id], expires=60, retry=True)


@worker_ready.connect
def start(**_: Any) -> None:
    """Look at once at what came while no worker was there; the tick does the rest."""
    try:
        watch.ask(Watch.objects.all(), now=timezone.now())
    except DatabaseError:
        log.exception("the history could not be asked for; the regular look does it")


@shared_task(name="crm_sync.clear_deliveries")
def clear_deliveries() -> dict[str, int]:
    """Remove bytes and headers that have had their time; the next run goes on where it ends (S23).

    Returns:
        how many there were, by state.
    """
    counts = retention.clear(settings.DELIVERY_KEEP_DAYS, now=timezone.now(), budget=BUDGET)
    if counts:
        text = ", ".join(f"{count} {state.lower()}" for state, count in counts.items())
        log.info("bytes and headers of old deliveries removed: %s", text)
    return counts
