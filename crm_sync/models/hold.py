"""Holds: a person stops one kind of work of a workspace until somebody resumes it (I34).

Each call that changes a property or an order asks for the active holds right before it leaves, and
the other queues ask before they claim a row, so every way to work obeys them (decision 25). Ended
holds stay, as the history.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import connection, models, transaction
from django.db.models import F, Q
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync import hooks, row_locks
from crm_sync.account_names import name_of
from crm_sync.platform.work_kind import LEAVING, WorkKind, listed
from crm_sync.sentence import Sentence, sentence

REASON_LENGTH = 200
# After this time a row that is held is read once more, so that it shows what the platform has.
AGAIN = timedelta(hours=1)
# Why a program holds a workspace in watch only.
NEW = sentence("new on a live platform")


class HoldCause(models.TextChoices):
    """Why work is held. The holds of both causes are independent of each other."""

    PERSON = "PERSON", _("Held by a person")
    WATCH_ONLY = "WATCH_ONLY", _("Watch only")


class HoldQuerySet(models.QuerySet["Hold"]):
    """The holds that count at a moment."""

    def active(self, now: datetime) -> Self:
        """Return the holds that are neither ended nor over."""
        return self.filter(Q(until=None) | Q(until__gt=now), ended_at=None)

    def of(self, kind: WorkKind, now: datetime) -> Self:
        """Return the active holds of one kind of work."""
        return self.active(now).filter(kind=kind.value)

    def holding(self, workspace_id: int, kind: WorkKind, now: datetime) -> "Hold | None":
        """Return the older hold of a kind of work in a workspace, None if nobody holds it."""
        if not _is_open(workspace_id, kind):
            return None
        mine = self.of(kind, now).filter(workspace=workspace_id)
        return mine.select_related("by").order_by("pk").first()


def _is_open(workspace_id: int, kind: WorkKind) -> bool:
    """Return whether a hold has not been ended, which is asked before each call.

    The ORM took a third of the processor of a push for it (decision 25).
    """
    table = connection.ops.quote_name(Hold._meta.db_table)
    sql = (
        f"SELECT 1 FROM {table} WHERE workspace_id = %s AND kind = %s AND ended_at IS NULL LIMIT 1"  # noqa: S608
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [workspace_id, kind.value])
        return cursor.fetchone() is not None


class Hold(models.Model):
    """One kind of work of a workspace is held since `since`.

    Attributes:
        by: the person who holds it; null for a program, which `program` names.
        until: when it ends by itself; null if only a person ends it.
        ended_at: when a person ended it, or another hold took its place.
    """

    workspace = models.ForeignKey("crm_sync.Workspace", on_delete=models.CASCADE)
    kind = models.CharField(max_length=10, choices=[(one.value, one.value) for one in WorkKind])
    cause = models.CharField(max_length=10, choices=HoldCause, default=HoldCause.PERSON)
    reason = models.CharField(max_length=REASON_LENGTH)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    program = models.CharField(max_length=110, blank=True, default="")
    since = models.DateTimeField()
    until = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
    )
    ended_program = models.CharField(max_length=110, blank=True, default="")

    objects = HoldQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "kind", "cause"],
                name="one_hold_per_kind",
                condition=Q(ended_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"hold of {self.kind} since {self.since:%Y-%m-%d %H:%M}"

    @property
    def who(self) -> str:
        """The person or the program that holds the work."""
        return name_of(self.by) if self.by else self.program

    @property
    def ended_who(self) -> str:
        """The person or the program that ended the hold."""
        return name_of(self.ended_by) if self.ended_by else self.ended_program

    @property
    def why(self) -> Sentence:
        """The reason: the words of a person, or that the workspace is new."""
        return NEW if self.cause == HoldCause.WATCH_ONLY else Sentence(self.reason)

    @property
    def because(self) -> Sentence:
        """The cause with its reason, for people."""
        if self.cause == HoldCause.WATCH_ONLY:
            return sentence("watch only: nobody has seen the first plan and said go")
        who = self.who or sentence("a person")
        return sentence("held by %(who)s: %(reason)s", who=who, reason=self.reason)


@dataclass(frozen=True)
class HoldGroup:
    """The holds of a workspace that began together, such as those of a whole workspace."""

    first: Hold
    kinds: list[WorkKind]

    @property
    def work(self) -> str:
        """What is held, in words."""
        all_of_it = len(self.kinds) == len(WorkKind)
        return gettext("everything") if all_of_it else listed(self.kinds).said()


def grouped(holds: Iterable[Hold]) -> list[HoldGroup]:
    """Return the holds of each beginning together, in the order given."""
    groups: dict[object, HoldGroup] = {}
    for one in holds:
        began = (one.workspace_id, one.cause, one.reason, one.by_id, one.since, one.until)
        key = (began, one.ended_at, one.ended_by_id)
        groups.setdefault(key, HoldGroup(one, [])).kinds.append(WorkKind(one.kind))
    return list(groups.values())


def pause(
    workspace_id: int,
    kinds: Collection[WorkKind],
    *,
    reason: str,
    now: datetime,
    until: datetime | None = None,
    actor: AbstractBaseUser | None = None,
    program: str = "",
    cause: HoldCause = HoldCause.PERSON,
) -> list[Hold]:
    """Hold some kinds of work. A hold with the same cause and kind is replaced.

    Args:
        until: when they end by themselves.
        actor: the person who holds them; None for a program, which `program` names.

    Returns:
        the new holds. No call of these kinds begins after this is committed.
    """
    with transaction.atomic():
        replaced = _end(workspace_id, kinds, now=now, actor=actor, program=program, cause=cause)
        made = Hold.objects.bulk_create(
            Hold(
                workspace_id=workspace_id,
                kind=kind.value,
                cause=cause,
                reason=reason[:REASON_LENGTH],
                by=actor,  # type: ignore[misc]
                program=program,
                since=now,
                until=until,
            )
            for kind in WorkKind
            if kind in kinds
        )
    if replaced:  # the new end may be earlier
        _wake(workspace_id, now)
    return made


def watch_only(
    workspace_id: int, *, now: datetime, actor: AbstractBaseUser | None = None, program: str = ""
) -> list[Hold]:
    """Hold all that leaves this installation until somebody has seen the first plan (`go_live`)."""
    return pause(
        workspace_id,
        LEAVING,
        reason=NEW,
        now=now,
        actor=actor,
        program=program,
        cause=HoldCause.WATCH_ONLY,
    )


def is_watched(workspace_id: int, now: datetime) -> bool:
    """Return whether a workspace is in watch only."""
    mine = Hold.objects.active(now).filter(workspace=workspace_id)
    return mine.filter(cause=HoldCause.WATCH_ONLY).exists()


def first_plan(workspace_id: int) -> dict[str, int]:
    """Return what would be sent first if watch only ended now, counted from rows without a call."""
    plans = [plan(workspace_id) for plan in hooks.plugged().first_plans]
    return {name: count for plan in plans for name, count in plan.items()}


def seen_as(plan: Mapping[str, int]) -> str:
    """Return the plan as a person names it who has seen it: its figures, such as 12-3-0."""
    return "-".join(map(str, plan.values()))


def go_live(
    workspace_id: int,
    *,
    seen: str,
    now: datetime,
    actor: AbstractBaseUser | None = None,
    program: str = "",
) -> bool:
    """End watch only, if the first plan is still the one that was seen (`seen_as`).

    Returns:
        False if the plan has changed since, and nothing was done.
    """
    if seen != seen_as(first_plan(workspace_id)):
        return False
    resume(workspace_id, LEAVING, now=now, actor=actor, program=program, cause=HoldCause.WATCH_ONLY)
    return True


def resume(
    workspace_id: int,
    kinds: Collection[WorkKind],
    *,
    now: datetime,
    actor: AbstractBaseUser | None = None,
    program: str = "",
    cause: HoldCause = HoldCause.PERSON,
) -> list[WorkKind]:
    """End the holds of some kinds of work; return the kinds that were held.

    What was held is due at once.
    """
    with transaction.atomic():
        ended = _end(workspace_id, kinds, now=now, actor=actor, program=program, cause=cause)
    _wake(workspace_id, now)
    return ended


def _wake(workspace_id: int, now: datetime) -> None:
    """Make the rows due that holds put off.

    This is done after the commit: a worker that has read the hold before has committed its lease.
    """
    for wake in hooks.plugged().after_hold:
        wake(workspace_id, now)


def _end(
    workspace_id: int,
    kinds: Collection[WorkKind],
    *,
    now: datetime,
    actor: AbstractBaseUser | None,
    program: str,
    cause: HoldCause,
) -> list[WorkKind]:
    # Of two people who hold or resume at the same moment, the second one ends what the first made.
    workspaces = apps.get_model("crm_sync", "Workspace")._default_manager.filter(pk=workspace_id)
    row_locks.lock(workspaces)
    mine = Hold.objects.filter(workspace=workspace_id, cause=cause, ended_at=None)
    mine = mine.filter(kind__in=[kind.value for kind in kinds])
    mine.filter(until__lte=now).update(ended_at=F("until"))
    found = [WorkKind(kind) for kind in mine.values_list("kind", flat=True)]
    mine.update(ended_at=now, ended_by=actor, ended_program=program)
    return [kind for kind in WorkKind if kind in found]


def standing(workspaces: Sequence[int] | None, now: datetime) -> list[HoldGroup]:
    """Return what is held in these workspaces, or in all for None; one query, no secret.

    The first hold of each group has the `slug` of its workspace.
    """
    rows = Hold.objects.active(now).select_related("by")
    mine = rows if workspaces is None else rows.filter(workspace__in=workspaces)
    return grouped(mine.annotate(slug=F("workspace__slug")).order_by("slug", "since", "pk"))
