"""The last read of each workspace's users, shown above their list."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, F, QuerySet, Value, When
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from crm_sync.admin.ui.cells import moment
from crm_sync.hooks import Person
from crm_sync.models import Workspace
from crm_sync.security.access import within
from orders.models import UserList

SHOWN = 5  # workspaces, beginning with the ones that have a problem


@dataclass(frozen=True)
class UserListState:
    """The last read of one workspace's users.

    Attributes:
        at: when the users were last read completely, "" if never.
        problem: why the last read failed, "" if it did not.
        set_aside: the number of entries in the list that cannot be stored.
    """

    workspace: str
    at: SafeString | str
    due: SafeString | str
    problem: str
    set_aside: int


@dataclass(frozen=True)
class Reads:
    """The first few workspaces, the number of the others, and workspaces without any read."""

    shown: list[UserListState]
    more: int
    unasked: list[str]


def reads(person: Person, now: datetime) -> Reads:
    """Return the last reads of the users, for the person's workspaces.

    Three queries for any number of workspaces.
    """
    is_well = Case(When(problem="", then=Value(1)), default=Value(0))
    every = within(person, UserList.objects.all())
    rows = every.annotate(slug=F("workspace__slug"), is_well=is_well)
    without = within(person, Workspace.objects.filter(user_list=None), "pk")
    unasked: QuerySet[Workspace, str] = without.values_list("slug", flat=True)
    return Reads(
        [_read(row, now) for row in rows.order_by("is_well", "slug")[:SHOWN]],
        max(0, rows.count() - SHOWN),
        list(unasked.order_by("slug")[:SHOWN]),
    )


def _read(row: UserList, now: datetime) -> UserListState:
    slug = getattr(row, "slug", "")
    due = moment(row.due_at, now) if row.due_at and row.due_at > now else gettext("now")
    at = moment(row.read_at, now) if row.read_at else ""
    return UserListState(slug, at, due, row.problem, row.set_aside)
