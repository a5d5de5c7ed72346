"""The recovery after a backup was restored: each property is read before it is sent."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import Q
from django.utils.translation import gettext as _

from crm_sync.hooks import Counts, Recovery
from crm_sync.models import due
from crm_sync.work.doorbell import doorbell
from properties import recurring
from properties.domain.editing import QUEUE
from properties.imports import upload
from properties.models import Conflict, Import, Property, Walk

THERE = Q(platform_id__isnull=False)


def begin(workspace_id: int, now: datetime) -> Counts:
    """Make each property due that the platform may have, and cancel each open import.

    A property that was neither on the platform nor due is not changed: the walk finds it if the
    platform has it.
    """
    mine = Property.objects.filter(workspace_id=workspace_id)
    there = mine.filter(THERE | Q(due_at__isnull=False))
    count = there.count()
    there.filter(due.later(now)).update(due_at=now)
    # An unfinished walk belongs to the time of the backup.
    Walk.objects.filter(workspace_id=workspace_id, finished_at=None).delete()
    recurring.pull_at_once(workspace_id, now)
    imports = Import.objects.filter(workspace_id=workspace_id, state__in=Import.OPEN)
    ended = upload.cancel(imports, now=now)
    doorbell.ring(QUEUE, workspace_id)
    return {"properties to be read": count, "open imports cancelled": ended}


def unread(workspaces: Collection[int], since: datetime) -> Counts:
    """Count the properties and lists that were not read since the restore."""
    mine = Property.objects.filter(workspace__in=workspaces, created_at__lt=since)
    old = mine.filter(Q(read_at=None) | Q(read_at__lt=since))
    walks = Walk.objects.filter(workspace__in=workspaces, started_at__gte=since)
    walked = walks.filter(finished_at__isnull=False).values("workspace").distinct()
    return {
        _("properties"): old.filter(THERE | Q(due_at__isnull=False)).count(),
        _("lists of properties"): len(workspaces) - walked.count(),
    }


def for_people(workspaces: Collection[int], since: datetime) -> Counts:
    """Count the open conflicts."""
    mine = Conflict.objects.filter(real_estate_property__workspace__in=workspaces)
    return {_("conflicts"): mine.filter(decision=Conflict.Decision.OPEN).count()}


RECOVERY = Recovery(begin, unread, for_people)
