"""The pull of the users: a walk over the platform's list, one page at a time (§2.6, A41).

A claim reads one page, so a long list delays no other queue, and a stop loses at most one page. A
single user cannot be read, and pages shift when a user is added or removed. So a walk is complete
only if its pages showed as many users as the platform reports. A user is gone if they are missing
in two complete walks (I32).
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from crm_sync.models import Workspace, due
from crm_sync.platform.errors import SyncError, TransientError, problem_of
from crm_sync.platform.lists import Page
from crm_sync.sentence import counted_sentence, sentence
from crm_sync.work import leases, queues
from crm_sync.work.doorbell import doorbell
from crm_sync.work.leases import Claim
from crm_sync.work.queues import Turn
from orders.models import PlatformUser, UserList
from orders.platform_users import user_mirror

QUEUE = "users"
EVERY = timedelta(seconds=settings.USERS_READ_EVERY)  # from the end of one walk to the next
LONGEST_WAIT = max(EVERY, timedelta(seconds=due.BACKOFF_LIMIT)) + leases.LEASE
FIRST_PAGE: dict[str, Any] = {"page": 0, "begun_at": None}


class PageOutcome(StrEnum):
    """The outcome of the read of a page of users."""

    MORE = "page read"  # and more pages follow
    READ = "read"  # the last page of a complete walk
    INCOMPLETE = "incomplete"  # the last page of an incomplete walk
    PUT_OFF = "put off"


def ask(workspace_id: int, now: datetime) -> None:
    """Have all users read now, and then regularly; a `hooks.after_connected`.

    A walk that has begun goes on, and another one follows.
    """
    first = {"due_at": now, "asked_at": now}
    _, is_new = UserList.objects.get_or_create(workspace_id=workspace_id, defaults=first)
    if not is_new:
        UserList.objects.filter(workspace_id=workspace_id).update(due_at=now, asked_at=now)
    doorbell.ring(QUEUE, workspace_id)


def read_pages(claims: Sequence[Claim[UserList]], turn: Turn) -> list[PageOutcome]:
    """Read the next page of each list; the `work` of the queue.

    Raises:
        LeaseLost: another worker holds the row now.
    """
    return [_read_page(claim, turn.workspace) for claim in claims]


def _read_page(claim: Claim[UserList], workspace: Workspace) -> PageOutcome:
    begun_at = claim.row.begun_at or timezone.now()
    try:
        with workspace.calling() as client:
            page = client.user_page(claim.row.page)
    except SyncError as error:
        queues.put_off(claim, problem=problem_of(error))
        return PageOutcome.PUT_OFF
    try:
        with transaction.atomic():
            return _take(claim, page, begun_at=begun_at, now=timezone.now())
    except TransientError as error:  # nothing of this page is written
        queues.put_off(claim, problem=problem_of(error))
        return PageOutcome.PUT_OFF


def _take(claim: Claim[UserList], page: Page, *, begun_at: datetime, now: datetime) -> PageOutcome:
    """Write one page and the progress of the walk, in one transaction."""
    row = claim.row
    kept = user_mirror.keep(row.workspace_id, page.items, walk=row.walk, now=now)
    if not page.is_last and not kept.fresh:
        # If the platform ignored `page`, the walk would never end.
        raise TransientError(
            sentence("page %(page)s of the users shows nobody new", page=row.page), unclear=False
        )
    before = row if row.page else UserList()  # the counts belong to one walk
    counts = {
        "listed": before.listed + kept.fresh,
        "set_aside": before.set_aside + kept.set_aside + page.dropped,
    }
    if not page.is_last:
        columns = {"page": row.page + 1, "begun_at": begun_at, **counts}
        claim.finish(due_at=now, problem="", **columns)
        return PageOutcome.MORE
    shown = sum(counts.values())
    if page.total is not None and shown < page.total:
        text = counted_sentence(
            "the platform says that it has %(count)s user, and its pages showed %(shown)s",
            "the platform says that it has %(count)s users, and its pages showed %(shown)s",
            count=page.total,
            shown=shown,
        )
        queues.put_off(claim, problem=text, walk=row.walk + 1, **FIRST_PAGE, **counts)
        return PageOutcome.INCOMPLETE
    due_at = now if _is_due_again(row, begun_at=begun_at, now=now) else now + EVERY
    ended = {"read_at": now, "walk": row.walk + 1, "complete": row.walk}
    claim.finish(due_at=due_at, attempts=0, problem="", **ended, **FIRST_PAGE, **counts)
    return PageOutcome.READ


def _is_due_again(row: UserList, *, begun_at: datetime, now: datetime) -> bool:
    """Mark users who are gone after a complete walk. Return whether another walk must follow.

    It must if somebody has requested it since, or if a user is missing for the first time.
    """
    there = PlatformUser.objects.filter(workspace_id=row.workspace_id, gone_at=None)
    there.filter(seen_in__lt=row.complete).update(gone_at=now)
    was_asked = row.asked_at is not None and row.asked_at > begun_at
    return was_asked or there.filter(seen_in__lt=row.walk).exists()
