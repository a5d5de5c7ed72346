"""The queues of the orders: placing, reading, fetching materials and files, and mail."""

from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync.mail import mails_are_sent
from crm_sync.platform.client import Client
from crm_sync.platform.work_kind import WorkKind
from crm_sync.work import leases
from crm_sync.work.leases import Claim, Row
from crm_sync.work.queues import RowQueue
from orders.calendar import invitations, reminders
from orders.materials import announcements, download, expectations, file_requests, set_reader
from orders.mirror import refresh, unit_of_work
from orders.models import (
    Assignment,
    MaterialFile,
    MaterialSet,
    Order,
    PersonSettings,
    Placement,
    UserList,
)
from orders.people import mail_queue
from orders.placing import confirmation, dispatch, settlement
from orders.platform_users import user_list
from orders.reads import poller, read_limit
from orders.reads.poller import ReadOutcome
from orders.targets import target_files, uploads


def _may_be_read(rows: QuerySet[Row], now: datetime) -> QuerySet[Row]:
    return rows.exclude(workspace_id__in=read_limit.exhausted(now).values("workspace_id"))


def _pay(workspace_id: int, now: datetime) -> bool:
    """Pay for one read of an order or an assignment. Both are paid from one bucket (A8)."""
    return read_limit.take(workspace_id, now=now)


def _read(claim: Claim[Order], client: Client) -> dict[str, Any]:
    columns = refresh.read(claim, client)
    expectations.after_read(claim.row.pk, is_last=columns["due_at"] is None, now=timezone.now())
    return columns


def _read_assignment(claim: Claim[Assignment], client: Client) -> dict[str, Any]:
    columns = refresh.read_assignment(claim, client)
    expectations.delivered(Assignment.objects.filter(pk=claim.row.pk), now=timezone.now())
    return columns


def _stored(file: MaterialFile) -> None:
    """Make a file that is stored now due at the targets that take it."""
    target_files.want([file], now=timezone.now())


def _expired(file: MaterialFile) -> None:
    """Have the list of a file read again, whose new address replaces one that has expired."""
    mine = MaterialSet.objects.filter(pk=file.material.material_set_id)
    file_requests.ask(mine, now=timezone.now())


ORDERS = RowQueue(
    name=unit_of_work.ORDERS,
    title=_("orders"),
    rows=lambda now: _may_be_read(Order.objects.all(), now),
    work=poller.one_by_one(_read, may_read=_pay),
    # An order that was read may belong to a placement whose outcome is uncertain.
    after=lambda workspace_id: [ReadOutcome.SETTLED] * settlement.settle_all(workspace_id),
)
ASSIGNMENTS = RowQueue(
    name=unit_of_work.ASSIGNMENTS,
    title=_("assignments"),
    rows=lambda now: _may_be_read(Assignment.objects.all(), now),
    work=poller.one_by_one(_read_assignment, may_read=_pay, gone=refresh.withdrawn),
)
MATERIALS = RowQueue(
    name=announcements.QUEUE,
    title=_("materials"),
    rows=lambda now: MaterialSet.objects.all(),
    work=poller.one_by_one(set_reader.fetch),
)
FILES = RowQueue(
    name=file_requests.QUEUE,
    title=_("files"),
    rows=lambda now: MaterialFile.objects.all(),
    is_on=lambda: settings.MATERIALS_DOWNLOAD,
    work=download.working(_stored, _expired),
    calls=False,  # the platform's limits count only calls of its interface
    slots=4,
    work_kind=WorkKind.FILES,
    lease=leases.SHORT_LEASE,
)
USERS = RowQueue(
    name=user_list.QUEUE,
    title=_("users"),
    rows=lambda now: UserList.objects.all(),
    work=user_list.read_pages,
    wait=user_list.LONGEST_WAIT,
)
PLACEMENTS = RowQueue(
    name=confirmation.QUEUE,
    title=_("placements"),
    rows=lambda now: Placement.objects.all(),
    work=dispatch.work,
    leave=1,  # for the reads of orders, lists and the webhook
)
NOTICES: RowQueue[PersonSettings] = RowQueue(
    name=mail_queue.QUEUE,
    title=_("notices"),
    rows=mail_queue.rows,
    is_on=mails_are_sent,
    work=partial(mail_queue.tell, invite=invitations.invite),
    calls=False,
    slots=mail_queue.AT_ONCE,
    wait=mail_queue.LONGEST_WAIT,
)
ALL = (
    *(ORDERS, ASSIGNMENTS, MATERIALS, USERS, FILES, uploads.TARGETS),
    *(PLACEMENTS, NOTICES, reminders.REMINDERS),
)
