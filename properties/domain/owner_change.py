"""A person changes who owns a field: the rule, and the work that follows from it.

The rows that it affects may be all rows of the workspace, so the request touches none of them. It
makes the sweep due, which finds them in chunks and makes them due for a push (decision 27).
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F

from crm_sync import row_locks
from crm_sync.models import Workspace
from crm_sync.work.doorbell import doorbell
from properties.domain import owners
from properties.domain.editing import QUEUE
from properties.merge import Owner
from properties.models import DriftCheck, LastFeed, Property, Recurring
from properties.ownership import RULED

# By then every worker knows the rule: it reads those of a workspace again after half a second.
EFFECT_AFTER = timedelta(seconds=1)
_FROM_THE_START = {"position": 0, "compared": 0, "differing": 0, "unexplained": 0}


def set_owner(workspace_id: int, key: str, owner: Owner, *, now: datetime) -> Owner | None:
    """Set the owner of a leaf, an object or a group; `Owner.POLICY` takes the rule out.

    Returns:
        the owner before, or None if it was the same and nothing was changed.

    Raises:
        ValueError: no rule can be about this key.
    """
    if key not in RULED:
        raise ValueError(f"no rule can be about {key}")
    mine = Workspace.objects.filter(pk=workspace_id)
    with transaction.atomic():
        mine.update(owners=F("owners"))  # this locks the row until the commit
        before = owners.of_key(workspace_id)
        was = before.rules.get(key, Owner.POLICY)
        if was is owner:
            return None
        mine.update(owners=before.changed(key, owner, now=now).stored)
        _take_effect(workspace_id, now + EFFECT_AFTER)
    return was


def _take_effect(workspace_id: int, at: datetime) -> None:
    """Let a sweep begin at the first row, and rows be pushed again that a worker holds now."""
    sweeps = DriftCheck.objects.filter(workspace=workspace_id, kind=DriftCheck.Kind.SWEEP)
    sweeps.filter(finished_at=None).update(**_FROM_THE_START, fields={}, found=[], started_at=at)
    mine = Recurring.objects.filter(workspace=workspace_id, kind=Recurring.Kind.SWEEP)
    mine.update(due_at=at)
    under_way = Property.objects.filter(workspace=workspace_id, lease_until__isnull=False)
    row_locks.update(under_way, due_at=at)
    # The same feed holds what a rule has set aside until now.
    LastFeed.objects.filter(workspace=workspace_id).delete()
    doorbell.ring(QUEUE, workspace_id)
