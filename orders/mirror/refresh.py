"""Reads due orders and assignments from the platform into the mirror."""

import logging
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from crm_sync import row_locks, tracing
from crm_sync.models import ReceivedEvent, due
from crm_sync.platform.client import Client
from crm_sync.platform.errors import NotFoundError, RejectedError
from crm_sync.work.doorbell import doorbell
from crm_sync.work.leases import Claim
from orders.mirror import assignment_detail
from orders.mirror.order_detail import known, named_assignments, next_read, observe, observe_list
from orders.mirror.unit_of_work import ORDERS
from orders.models import Assignment, Order, StatusChange
from orders.models.order import EPOCH
from orders.models.statuses import ORDER_TERMINAL
from orders.reads.read_schedule import SOON

log = logging.getLogger(__name__)


def read(claim: Claim[Order], client: Client) -> dict[str, Any]:
    """Read one order; a `poller.Reader`."""
    before = known(claim.row)
    _name_after_event(claim.row, claim.row.platform_id)
    answer = client.get_order(before.order.platform_id)
    now = timezone.now()
    contradicts = observe(before, answer, source=StatusChange.Source.READ, now=now)
    order = Order.objects.get(pk=claim.row.pk)
    if not order.assignments.exists():
        contradicts |= _read_list(order, client, as_of=answer.as_of, now=now)
    return {"due_at": next_read(order, contradicts=contradicts, now=now)}


def _read_list(order: Order, client: Client, *, as_of: datetime | None, now: datetime) -> bool:
    """Read the list of assignments, because the detail names none (A36)."""
    try:
        items = client.get_order_assignments(order.platform_id)
    except (NotFoundError, RejectedError):
        return False  # §4.5 has no such list. The first event of each assignment creates it.
    return observe_list(order, items, as_of=as_of, now=now)


def read_assignment(claim: Claim[Assignment], client: Client) -> dict[str, Any]:
    """Read one assignment; a `poller.Reader`. Reads of its order and events request it."""
    before = Assignment.objects.select_related("order").get(pk=claim.row.pk)
    _name_after_event(before, before.order.platform_id)
    answer = client.get_assignment(before.platform_id)
    now = timezone.now()
    contradicts = assignment_detail.observe(
        before, answer, source=StatusChange.Source.READ, now=now
    )
    return {"due_at": now + SOON if contradicts else None, "read_at": now}


def withdrawn(row: Assignment, now: datetime) -> dict[str, Any]:
    """Return the columns to write for an assignment whose own reads were 404 for a while.

    It is withdrawn if its order no longer names it either (I28 is the same rule for properties).
    """
    observed = Order.objects.values_list("observed", flat=True).get(pk=row.order_id)
    is_told = any(isinstance(observed.get(name), list) for name in ("assignments", "assignmentIds"))
    if row.withdrawn_at or not is_told or row.platform_id in named_assignments(observed):
        return {}
    log.warning("%s is withdrawn: neither its order nor its own read shows it", row)
    return {"withdrawn_at": now}


def _name_after_event(row: Order | Assignment, order_id: str) -> None:
    """Log this read under the id of the latest event since the last read, as one story."""
    mine = Q(workspace_id=row.workspace_id, order_platform_id=order_id)
    events = ReceivedEvent.objects.filter(mine, received_at__gte=row.read_at or EPOCH)
    newest = events.order_by("-pk").values_list("digest", "traceparent").first()
    if newest:
        digest, cause = newest
        tracing.rename(tracing.of_digest(digest, cause), cause or "")


def read_all_open(workspace_id: int, now: datetime) -> int:
    """Make every open order due for a read, at half the rate, the newest first (I21).

    The other half is for orders that people and events make due.

    Returns:
        the number of these orders.
    """
    mine = Order.objects.filter(workspace_id=workspace_id)
    is_open = mine.exclude(status__in=ORDER_TERMINAL).order_by("-created_at", "-pk")
    keys = list(is_open.values_list("pk", flat=True))
    a_minute = max(1, settings.ORDER_READS_A_MINUTE // 2)
    for first in range(0, len(keys), a_minute):
        due_at = now + timedelta(minutes=first // a_minute)
        some = mine.filter(due.later(due_at), pk__in=keys[first : first + a_minute])
        row_locks.update(some, due_at=due_at)
    if keys:
        doorbell.ring(ORDERS, workspace_id)
    return len(keys)
