"""The queue of properties: workers push the due properties, several at a time."""

from datetime import datetime

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from crm_sync import row_locks
from crm_sync.work.doorbell import doorbell
from crm_sync.work.queues import RowQueue
from properties.domain.editing import QUEUE
from properties.models import Property
from properties.models.match_columns import COLUMNS
from properties.models.property import WaitReason
from properties.push.plan import foreseen
from properties.push.push import push

NEEDED = (
    *("workspace", "object_reference_id", "platform_id", "desired", "observed", "inflight"),
    *("revision", "verify_at", "create_sent_at", "problem", "last_answer", "read_at", "pushed_at"),
    *("replaced", "none_there", *COLUMNS.values()),
    *("fed_by", "told", "due_at", "lease_token", "lease_until", "attempts", "wait_reason"),
)


def wake(workspace_id: int, now: datetime) -> None:
    """Make the properties due that a hold put off, or that a worker may put off now (I34)."""
    mine = Property.objects.filter(workspace=workspace_id, due_at__isnull=False)
    held = mine.filter(Q(wait_reason=WaitReason.HELD) | Q(lease_token__isnull=False))
    row_locks.update(held, due_at=now)
    doorbell.ring(QUEUE, workspace_id)


PROPERTIES = RowQueue(
    name=QUEUE,
    title=_("properties"),
    rows=lambda now: Property.objects.all(),
    work=lambda claims, turn: [push(claim, turn.workspace) for claim in claims],
    failure=lambda text: {"last_answer": text, "wait_reason": WaitReason.FAILURE.value},
    record=foreseen,
    columns=NEEDED,
    urgent="is_urgent",
    leave=2,  # slots free for the placing of orders, and for reads of orders, lists and the webhook
)
