"""What the workers do for properties: push those that are due, several at a time."""

from collections.abc import Sequence

from django.conf import settings

from crm_sync import due
from crm_sync.due import Claim
from crm_sync.queues import Drain, RowQueue
from properties.models import Property
from properties.push import push
from properties.sync import QUEUE


def _push(claims: Sequence[Claim[Property]], drain: Drain) -> list[str]:
    return [push(claim, drain.workspace) for claim in claims]


PROPERTIES = RowQueue(
    name=QUEUE,
    rows=lambda now: Property.objects.all(),
    work=_push,
    reason="last_answer",
    threads=lambda: int(settings.PUSH_THREADS),
    leave=1,  # for the reads of orders, lists and the webhook
)

due.register(PROPERTIES)
