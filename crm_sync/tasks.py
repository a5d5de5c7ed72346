"""The Celery tasks: thin, with ids, and never the only record of anything (design §2.1)."""

from celery import shared_task
from django.utils import timezone

from crm_sync import due

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
