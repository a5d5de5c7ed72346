"""The scheduled pull: thin, bounded, and taken up again where it stopped."""

import logging
import time
from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from crm_sync.errors import SyncError
from crm_sync.models import Workspace
from crm_sync.tasks import BUDGET
from properties.models import Walk
from properties.pull import pull

log = logging.getLogger(__name__)

EVERY = timedelta(hours=1)  # from the end of one walk to the beginning of the next


@shared_task(name="properties.pull")
def pull_properties() -> dict[str, str]:
    """Walk on in every workspace whose last walk is unfinished or an hour old.

    Returns:
        what happened, by slug of the workspace.
    """
    return {workspace.slug: _pull(workspace) for workspace in Workspace.objects.order_by("slug")}


def _pull(workspace: Workspace) -> str:
    now = timezone.now()
    if workspace.is_paused(now):
        return "paused"
    if Walk.objects.filter(workspace=workspace, finished_at__gt=now - EVERY).exists():
        return "not yet"
    end = time.monotonic() + BUDGET
    try:
        for walk in pull(workspace):
            if walk.finished_at is None and time.monotonic() > end:
                return f"stopped at page {walk.page}"
    except SyncError as error:
        log.warning("the pull of %s goes on later: %s", workspace.slug, error)
        workspace.pause_for(error, now)
        return "put off"
    return "done"
