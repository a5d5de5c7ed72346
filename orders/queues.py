"""What the workers do for orders: place and read them, fetch what is ready, tell people."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from crm_sync.platform.client import Client
from crm_sync.work import leases
from crm_sync.work.leases import Claim, Row
from crm_sync.work.queues import RowQueue
from orders.materials import announced, download, expected, files, wanted
from orders.mirror import refresh, rows, updates
from orders.models import (
    Assignment,
    MaterialFile,
    MaterialSet,
    Order,
    PersonSettings,
    Placement,
    UserList,
)
from orders.notices import worker
from orders.placing import confirmation, dispatch, settlement
from orders.platform_users import user_list
from orders.reads import poller, rate_limit
from orders.reads.poller import ReadOutcome


def _may_be_read(rows: QuerySet[Row], now: datetime) -> QuerySet[Row]:
    return rows.exclude(workspace_id__in=rate_limit.exhausted(now).values("workspace_id"))


def _pay(workspace_id: int, now: datetime) -> bool:
    """Pay for one read of an order or an assignment: both are paid from one bucket (A8)."""
    return rate_limit.take(workspace_id, now=now)


def _wanted_files() -> QuerySet[MaterialFile]:
    """Return the files to download; none while the setting is off."""
    every = MaterialFile.objects.all()
    return every if settings.MATERIALS_DOWNLOAD else every.none()


def _read(claim: Claim[Order], client: Client) -> dict[str, Any]:
    columns = refresh.read(claim, client)
    expected.after_read(claim.row.pk, is_last=columns["due_at"] is None, now=timezone.now())
    return columns


def _read_assignment(claim: Claim[Assignment], client: Client) -> dict[str, Any]:
    columns = refresh.read_assignment(claim, client)
    expected.delivered(Assignment.objects.filter(pk=claim.row.pk), now=timezone.now())
    return columns


def _settle(workspace_id: int) -> list[ReadOutcome]:
    """Settle uncertain placements: an order that was read may be theirs."""
    return [ReadOutcome.SETTLED] * settlement.settle_all(workspace_id)


ORDERS = RowQueue(
    name=updates.QUEUE,
    rows=lambda now: _may_be_read(Order.objects.all(), now),
    work=poller.one_by_one(_read, may_read=_pay),
    after=_settle,
)
ASSIGNMENTS = RowQueue(
    name=rows.ASSIGNMENTS,
    rows=lambda now: _may_be_read(Assignment.objects.all(), now),
    work=poller.one_by_one(_read_assignment, may_read=_pay, gone=refresh.withdrawn),
)
MATERIALS = RowQueue(
    name=announced.QUEUE,
    rows=lambda now: MaterialSet.objects.all(),
    work=poller.one_by_one(files.fetch),
)
FILES = RowQueue(
    name=wanted.QUEUE,
    rows=lambda now: _wanted_files(),
    work=download.work,
    calls=False,  # what the platform's limits count are calls of its interface
    slots=4,
    lease=leases.SHORT_LEASE,
)
USERS = RowQueue(
    name=user_list.QUEUE,
    rows=lambda now: UserList.objects.all(),
    work=user_list.read_pages,
    wait=user_list.LONGEST_WAIT,
)
PLACEMENTS = RowQueue(
    name=confirmation.QUEUE,
    rows=lambda now: Placement.objects.all(),
    work=dispatch.work,
    leave=1,  # for the reads of orders, lists and the webhook
)
NOTICES: RowQueue[PersonSettings] = RowQueue(
    name=worker.QUEUE,
    rows=worker.rows,
    work=worker.tell,
    calls=False,
    slots=worker.AT_ONCE,
    wait=worker.LONGEST_WAIT,
)
