"""An order that is due is read from the platform into the mirror."""

from typing import Any

from django.utils import timezone

from crm_sync.client import Client
from crm_sync.due import Claim
from orders.models import Order, StatusChange
from orders.observation import known, observe
from orders.schedule import next_read


def read(claim: Claim[Order], client: Client) -> dict[str, Any]:
    """Read one order; a `reading.Reader`."""
    before = known(claim.row)
    answer = client.get_order(before.order.platform_id)
    now = timezone.now()
    contradicts = observe(before, answer, source=StatusChange.Source.READ, now=now)
    order = Order.objects.get(pk=claim.row.pk)
    since = order.placed_at or order.created_at
    return {"due_at": next_read(order.status, since=since, contradicts=contradicts, now=now)}
