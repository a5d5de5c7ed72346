"""The checks of this app: received events, workspaces, webhooks, slots."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery

from crm_sync.hooks import CheckGroup, Invariant
from crm_sync.inbox.apply import MAX_ATTEMPTS
from crm_sync.integrity.audit import CLOCKS, leased_too_long, of_a_queue, too_late
from crm_sync.models import (
    Alarm,
    ChangeSequence,
    OutgoingMessage,
    ReceivedEvent,
    ReportedChange,
    Slot,
    Subscription,
    WebhookMonitor,
    Workspace,
    due,
)
from crm_sync.outgoing import groups, worker
from crm_sync.webhook import schedule
from crm_sync.work import leases, slots

State = ReceivedEvent.State
LONGEST_WAIT = timedelta(seconds=due.BACKOFF_LIMIT)


def check_groups(workspace_id: int, now: datetime) -> list[CheckGroup]:
    """Return the checks on a workspace as of `now`."""
    groups = (
        *(received_events, workspaces, webhooks, subscriptions, outgoing, changes),
        *(alarms, places),
    )
    return [add(workspace_id, now) for add in groups]


def received_events(workspace_id: int, now: datetime) -> CheckGroup:
    """Received = applied + duplicate + stale + ignored + not understood + pending + early + failed.

    Early: dated ahead of the platform's clock (S11).
    """
    is_due, is_done = Q(due_at__isnull=False), Q(due_at=None)
    given_up = Q(attempts__gte=MAX_ATTEMPTS)
    mine = ReceivedEvent.objects.filter(workspace=workspace_id)
    # A replay is the same event once more, because a person requested it.
    is_first = Q(state=State.APPLIED) & ~Q(source=ReceivedEvent.Source.REPLAY)
    applied_twice = _digests(mine, is_first, found__gt=1)
    without_original = _digests(mine, ~Q(state=State.DUPLICATE), found=0)
    return CheckGroup(
        "received events",
        mine.only("workspace", "kind"),
        {
            **{state.label.lower(): Q(state=state) & is_done for state in ReceivedEvent.SETTLED},
            "pending": Q(state=State.RECEIVED) & is_due,
            State.EARLY.label.lower(): Q(state=State.EARLY) & is_due,
            "failed": Q(state=State.FAILED) & (is_due | given_up),
        },
        [
            Invariant(
                "failed and has tries left, but is not due",
                Q(state=State.FAILED) & is_done & ~given_up,
            ),
            Invariant(
                "is due later than any wait",
                Q(due_at__gt=now + LONGEST_WAIT + CLOCKS)
                & ~Q(state=State.EARLY, due_at__lt=F("occurred_at")),
            ),
            Invariant(
                "was applied, and so was another copy of this event",
                is_first & Q(canonical_digest__in=applied_twice),
            ),
            Invariant(
                "is the duplicate of a received event that is not there",
                Q(canonical_digest__in=without_original),
            ),
            *of_a_queue(now),
        ],
    )


def _digests(
    rows: QuerySet[ReceivedEvent], counted: Q, **found: int
) -> QuerySet[ReceivedEvent, Any]:
    """Return the digests of events with this number of `counted` rows.

    It groups once for all rows, instead of a query for each. Few digests remain.
    """
    events = rows.exclude(canonical_digest="").order_by().values("canonical_digest")
    return (
        events.annotate(found=Count("pk", filter=counted))
        .filter(**found)
        .values("canonical_digest")
    )


def workspaces(workspace_id: int, now: datetime) -> CheckGroup:
    """Each configured webhook is polled, and no more calls are under way than allowed (A8)."""
    is_watched, has_secret = Q(monitor__isnull=False), ~Q(auth_secret="")
    return CheckGroup(
        "workspaces",
        Workspace.objects.filter(pk=workspace_id)
        .only("slug")
        .annotate(
            held=Count("slot", filter=Q(slot__lease_until__gt=now, slot__kind=""), distinct=True)
        ),
        {
            "watched": is_watched,
            "without a webhook": Q(monitor=None, auth_secret=""),
        },
        [
            Invariant("has a webhook that nobody polls", Q(monitor=None) & has_secret),
            Invariant("has more calls under way than it allows", Q(held__gt=F("max_under_way"))),
        ],
    )


def webhooks(workspace_id: int, now: datetime) -> CheckGroup:
    """Every webhook is polled again."""
    latest = max(schedule.LATEST, schedule.SOONEST, leases.LEASE)
    return CheckGroup(
        "webhooks",
        WebhookMonitor.objects.filter(workspace=workspace_id).only("workspace"),
        {"polled again": Q(due_at__isnull=False)},
        [too_late("is polled", now, latest), leased_too_long(now)],
    )


def subscriptions(workspace_id: int, now: datetime) -> CheckGroup:
    """Every subscription is tried again, or is disabled."""
    return CheckGroup(
        "subscriptions",
        Subscription.objects.filter(workspace=workspace_id).only("pk"),
        {"told": Q(is_enabled=True), "off": Q(is_enabled=False)},
        [too_late("is tried", now, worker.LONGEST_WAIT), leased_too_long(now)],
    )


def outgoing(workspace_id: int, now: datetime) -> CheckGroup:
    """Every message was delivered, was given up, or is due."""
    parts = {state.label.lower(): Q(state=state) for state in OutgoingMessage.State}
    return CheckGroup(
        "outgoing messages",
        OutgoingMessage.objects.filter(workspace=workspace_id).only("kind", "message_id"),
        parts,
        [Invariant("is sent later than any delay", Q(due_at__gt=now + 2 * groups.LATEST + CLOCKS))],
    )


def changes(workspace_id: int, now: datetime) -> CheckGroup:
    """Every change has a number within those of its sequence, or gets one when it is read (I37)."""
    ends = ChangeSequence.objects.filter(workspace=OuterRef("workspace"))
    has_number = Q(number__isnull=False)
    return CheckGroup(
        "changes",
        ReportedChange.objects.filter(workspace=workspace_id)
        .only("kind", "number")
        .annotate(last=Subquery(ends.values("last")), removed=Subquery(ends.values("removed"))),
        {"numbered": has_number, "without a number": ~has_number},
        [
            Invariant(
                "has a number that its sequence has not given, or has removed",
                has_number & (Q(last=None) | Q(number__gt=F("last")) | Q(number__lte=F("removed"))),
            )
        ],
    )


def alarms(workspace_id: int, now: datetime) -> CheckGroup:
    """Every alarm was reported, or is due until it is."""
    is_due = Q(due_at__isnull=False)
    return CheckGroup(
        "alarms",
        Alarm.objects.filter(workspace=workspace_id).only("kind"),
        {
            "watched": Q(told_at=None, ended_at=None) & is_due,
            "open": Q(told_at__isnull=False, ended_at=None),
            "over": Q(told_at__isnull=False, ended_at__isnull=False),
        },
        [
            Invariant(
                "ended, and nothing reports it",
                Q(ended_at__isnull=False, end_told_at=None) & ~is_due,
            ),
            too_late("is reported", now, LONGEST_WAIT),
            leased_too_long(now),
        ],
    )


def places(workspace_id: int, now: datetime) -> CheckGroup:
    """Every slot becomes free again."""
    return CheckGroup(
        "slots",
        Slot.objects.filter(workspace=workspace_id),
        {
            "free": due.unleased(now),
            "held": due.leased(now),
        },
        [leased_too_long(now, slots.LEASE)],
    )
