"""The checks of the orders: open orders are read again, and no news is lost."""

import functools
import operator
from datetime import datetime
from typing import Any

from django.db.models import F, Q, QuerySet

from crm_sync.hooks import CheckGroup, Invariant
from crm_sync.integrity.audit import leased_too_long, of_a_queue, too_late
from crm_sync.models import ReceivedEvent
from orders.calendar import reminders
from orders.mirror import lww
from orders.models import (
    Assignment,
    MaterialFile,
    MaterialSet,
    Order,
    Placement,
    PlatformUser,
    StatusChange,
    Target,
    TargetFile,
    UserList,
)
from orders.models.person_settings import OFF
from orders.models.statuses import ORDER_TERMINAL
from orders.people import mail_queue
from orders.platform_users import user_list
from orders.targets import uploads

Fact, State = StatusChange.Fact, Placement.State


def check_groups(workspace_id: int, now: datetime) -> list[CheckGroup]:
    """Return the checks on a workspace as of `now`."""
    each = (orders, assignments, effects, timeline, announced, files, placements)
    ways = (targets, files_at_targets)
    people = (users, user_lists, mails, reminded)
    return [add(workspace_id, now) for add in (*each, *ways, *people)]


def orders(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that an order is read again, waits for a person, or has ended (A42: no list)."""
    is_open, is_done = ~Q(status__in=ORDER_TERMINAL), Q(due_at=None)
    assigned = Assignment.objects.filter(order__workspace=workspace_id)
    foreign = assigned.exclude(workspace=workspace_id).values("order")
    linked = Q(real_estate_property__isnull=False)
    return CheckGroup(
        "orders",
        Order.objects.filter(workspace=workspace_id).only("workspace", "platform_id"),
        {
            "to be read": is_open & Q(due_at__isnull=False),
            "with a person": is_open & is_done & ~Q(problem=""),
            "ended": Q(status__in=ORDER_TERMINAL),
        },
        [
            Invariant("is open, but never read again", is_open & is_done & Q(problem="")),
            Invariant("has an assignment in another workspace", Q(pk__in=foreign)),
            Invariant(
                "is for a property in another workspace",
                linked & ~Q(real_estate_property__workspace=F("workspace")),
            ),
            *of_a_queue(now),
        ],
    )


def assignments(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that a requested assignment is read. Reads of its order request it again."""
    is_done = Q(due_at=None)
    return CheckGroup(
        "assignments",
        Assignment.objects.filter(workspace=workspace_id).only("workspace", "platform_id"),
        {
            "to be read": ~is_done,
            "known": is_done & Q(problem=""),
            "not read": is_done & ~Q(problem=""),
        },
        of_a_queue(now),
    )


def effects(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that the order of every applied event exists."""
    known = Order.objects.filter(workspace=workspace_id).values("platform_id")
    applied = ReceivedEvent.objects.filter(
        workspace=workspace_id, state=ReceivedEvent.State.APPLIED
    )
    is_known = Q(order_platform_id__in=known)
    return CheckGroup(
        "applied to orders",
        applied.exclude(order_platform_id="").only("workspace", "kind"),
        {"known here": is_known},
        [Invariant("was applied to an order that is not there", ~is_known)],
    )


def timeline(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that no callback in the timeline is newer than the mirror (I22)."""
    marks = {one.fact: f"order__{one.at}" for one in lww.OF_ORDERS} | {
        one.fact: f"assignment__{one.at}" for one in lww.OF_ASSIGNMENTS
    }
    newer = [Q(fact=fact, occurred_at__gt=F(mark)) for fact, mark in marks.items()]
    # A read without a `Date` enters the timeline by our clock and moves no watermark (I29).
    by_callback = Q(source=StatusChange.Source.CALLBACK)
    return CheckGroup(
        "timeline",
        StatusChange.objects.filter(order__workspace=workspace_id),
        {"news": Q(was_stale=False), "stale": Q(was_stale=True)},
        [
            Invariant(
                "is newer than what the mirror holds",
                by_callback & functools.reduce(operator.or_, newer),
            ),
        ],
    )


def announced(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that announced materials are fetched."""
    is_done = Q(due_at=None)
    return CheckGroup(
        "materials",
        MaterialSet.objects.filter(workspace=workspace_id).only(
            "workspace", "target_platform", "product", "visual_type"
        ),
        {
            "to be fetched": Q(due_at__isnull=False),
            "fetched": is_done & Q(problem="", fetched_at__isnull=False),
            "with a person": is_done & ~Q(problem=""),
        },
        [
            Invariant(
                "belongs to an order in another workspace",
                Q(order__isnull=False) & ~Q(order__workspace=F("workspace")),
            ),
            *of_a_queue(now),
        ],
    )


def files(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that a file that is wanted here is stored, or has a reason why not (I27)."""
    is_done, is_stored = Q(due_at=None), ~Q(name="")
    return CheckGroup(
        "files",
        MaterialFile.objects.filter(workspace=workspace_id).only("workspace", "role"),
        {
            "to be downloaded": ~is_done,
            "stored": is_done & is_stored,
            "with a person": is_done & ~is_stored,
        },
        [
            Invariant(
                "is of a material in another workspace",
                ~Q(material__material_set__workspace=F("workspace")),
            ),
            *of_a_queue(now),
        ],
    )


def targets(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that each target is tried again, or is paused."""
    return CheckGroup(
        "targets",
        Target.objects.filter(workspace=workspace_id).only("workspace"),
        {"open": Q(is_enabled=True), "paused": Q(is_enabled=False)},
        [too_late("is tried", now, uploads.LONGEST_WAIT), leased_too_long(now)],
    )


def files_at_targets(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that a file for a target is there, is due, or has a reason why not."""
    is_done = Q(due_at=None)
    return CheckGroup(
        "files at targets",
        TargetFile.objects.filter(workspace=workspace_id).only("workspace"),
        {
            "to be uploaded": ~is_done,
            "there": is_done & Q(problem=""),
            "with a person": is_done & ~Q(problem=""),
        },
        [
            Invariant(
                "is at a target or of a material in another workspace",
                ~Q(material__material_set__workspace=F("workspace"))
                | ~Q(target__workspace=F("workspace")),
            ),
            too_late("is tried", now, uploads.LONGEST_WAIT),
        ],
    )


def placements(workspace_id: int, now: datetime) -> CheckGroup:
    """Count placements by state, and check their workspaces and leases (I9)."""
    has_order = Q(order__isnull=False)
    return CheckGroup(
        "placements",
        Placement.objects.filter(workspace=workspace_id).only("workspace", "object_reference_id"),
        {state.label.lower(): Q(state=state) for state in State},
        [
            Invariant(
                "has an order in another workspace",
                has_order & ~Q(order__workspace=F("workspace")),
            ),
            *of_a_queue(now),
        ],
    )


def users(workspace_id: int, now: datetime) -> CheckGroup:
    """Count the users who are there, and the users missing in two complete walks."""
    return CheckGroup(
        "users",
        PlatformUser.objects.filter(workspace=workspace_id),
        {"there": Q(gone_at=None), "gone": Q(gone_at__isnull=False)},
    )


def user_lists(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that the list of users is read regularly."""
    is_well = Q(problem="")
    return CheckGroup(
        "lists of users",
        UserList.objects.filter(workspace=workspace_id).only("workspace"),
        {
            "read": is_well & Q(read_at__isnull=False),
            "not read yet": is_well & Q(read_at=None),
            "with a problem": ~is_well,
        },
        [too_late("is read", now, user_list.LONGEST_WAIT), leased_too_long(now)],
    )


def mails(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that people who want mail are due for it.

    People belong to no workspace, so they count in the first one.
    """
    is_well = Q(problem="")
    people: QuerySet[Any] = mail_queue.people()
    return CheckGroup(
        "mails to people",
        people.filter(workspace_id=workspace_id),
        {
            "wanted": ~OFF & is_well,
            "not sent": ~OFF & ~is_well,
            "not wanted": OFF,
        },
        [too_late("is sent", now, mail_queue.LONGEST_WAIT), leased_too_long(now)],
    )


def reminded(workspace_id: int, now: datetime) -> CheckGroup:
    """Check that the appointments of each person who wants reminders are looked at again."""
    is_on = Q(due_at__isnull=False)
    people: QuerySet[Any] = reminders.people()
    return CheckGroup(
        "reminders",
        people.filter(workspace_id=workspace_id),
        {"wanted": is_on, "not wanted": ~is_on},
        [too_late("is looked at", now, reminders.LONGEST_WAIT), leased_too_long(now)],
    )
