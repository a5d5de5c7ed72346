"""What the workers do for properties: push those that are due, several at a time."""

import time
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from crm_sync import crew, due, slots
from crm_sync.dispatch import doorbell
from crm_sync.due import Claim, Tally
from crm_sync.models import Workspace, awake
from properties.models import Property
from properties.push import push
from properties.sync import QUEUE

# What people and other workers change of a workspace while we drain counts at once.
MEANWHILE = ["paused_until", "pauses", "problem", "conflict_policy", "read_before_write"]


def drain(workspace_id: int, budget: float) -> Tally:
    """Push what is due in one workspace, for at most `budget` seconds."""
    end = time.monotonic() + budget
    mine = Property.objects.filter(workspace_id=workspace_id)
    waiting = mine.filter(due.free(timezone.now()))[: settings.PUSH_THREADS].count()
    if not waiting:
        return Tally()
    workspace = Workspace.objects.get(pk=workspace_id)
    # After a pause one call asks whether the platform is back, and not all threads at once (I11).
    is_probe = workspace.pauses > 0
    with slots.hold(workspace, 1 if is_probe else waiting, leave=1) as held:

        def goes_on() -> bool:
            now = timezone.now()
            workspace.refresh_from_db(fields=MEANWHILE)
            if is_probe and not workspace.pauses:
                return False
            return time.monotonic() < end and not workspace.is_paused(now) and held.keep(now)

        def work(claim: Claim[Property]) -> str:
            if workspace.is_paused(timezone.now()) or held.until < timezone.now():
                claim.release()
                return "put back"
            return push(claim, workspace)

        tally = crew.work_off(mine, work, threads=held.count, goes_on=goes_on)
    if is_probe and not workspace.pauses:
        doorbell.ring(QUEUE, workspace_id)  # for all the others
    return tally


def workspaces_due(now: datetime) -> set[int]:
    """Return the ids of the workspaces with a property to push, without those that are paused."""
    rows = Property.objects.filter(due.free(now), awake(now))
    return set(rows.values_list("workspace_id", flat=True).distinct())


due.register(due.Queue(QUEUE, workspaces_due, drain))
