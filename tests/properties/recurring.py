"""Turns at the pull, the sample and the sweep, as a worker takes them."""

from django.utils.timezone import now

from crm_sync import hooks
from crm_sync.models import Workspace
from crm_sync.work import turn
from properties.models import Recurring

Kind = Recurring.Kind


def row_of(kind: Kind, workspace: Workspace) -> Recurring:
    """Return the row, due at once where there was none."""
    row, _ = Recurring.objects.get_or_create(
        workspace=workspace, kind=kind, defaults={"due_at": now()}
    )
    return row


def take(kind: Kind, workspace: Workspace, seconds: float = 20.0) -> dict[str, int]:
    """Take one turn, if it is due; return the outcomes."""
    row_of(kind, workspace)
    return turn.take(hooks.queue(kind.lower()), workspace.pk, seconds=seconds).counts
