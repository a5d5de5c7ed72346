"""Orders that are placed at once, as `manage.py place_order` does, or step by step."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from crm_sync.models import Workspace
from orders.models import Placement
from orders.placing import confirmation
from orders.placing.dispatch import place_now
from orders.placing.wish import prepare, submit


def place_at_once(workspace: Workspace, *, now: datetime, **wishes: Any) -> Placement:
    """Prepare an order, confirm it and take the worker's step.

    Args:
        wishes: as for `prepare`.
    """
    ready = prepare(workspace, now=now, **wishes)
    submit(ready, now=now)
    place_now(ready)
    return ready


def reviewable(workspace: Workspace, **wishes: Any) -> Placement:
    """Return a stored placement that a person can review; arguments as for `prepare`."""
    ready = prepare(workspace, **wishes)
    ready.save()
    return ready


def confirm(row: Placement, *, account: User, now: datetime, revision: int | None = None) -> int:
    """Confirm a placement as it is, or as it was at a revision."""
    row.refresh_from_db()
    seen = row.revision if revision is None else revision
    rows = Placement.objects.filter(pk=row.pk, revision=seen)
    return confirmation.confirm(rows, workspace_id=row.workspace_id, account=account, now=now)
