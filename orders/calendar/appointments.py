"""The appointments that a person may see, as plain values."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import (
    Case,
    Count,
    DateTimeField,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.expressions import Combinable, OrderBy
from django.db.models.functions import Coalesce, NullIf
from django.utils.translation import gettext as _

from crm_sync.security.access import within
from orders.mirror import agent_lists
from orders.models import EPOCH, Assignment, Order, StatusChange
from properties.domain.headline import one_line

MOST = 2_000  # appointments in one result


@dataclass(frozen=True)
class Appointment:
    """One appointment, with its order and property.

    Attributes:
        set_at: since when it has this time, by the platform's clock if known, else by ours.
        photographer: id, name, email and phone, as received.
        address: the address of the property, as in its document.
        sequence: grows with each new time and status (SEQUENCE of RFC 5545).
    """

    key: int
    at: datetime
    set_at: datetime
    status: str
    products: list[str]
    photographer: Mapping[str, Any]
    order_key: int
    order: str
    reference: str
    title: str
    address: Mapping[str, Any]
    workspace: str
    sequence: int = 0

    @property
    def photographer_name(self) -> str:
        """The name, or "" if it is unknown."""
        return str(self.photographer.get("name") or "")

    @property
    def where(self) -> str:
        """The address of the property, or what else names it, or the order."""
        named = one_line(self.address) or self.title or self.reference
        return named or _("Order %(order)s") % {"order": self.order}


def appointments(
    first: datetime,
    end: datetime,
    *,
    person: User,
    only_mine: bool,
    workspace: str = "",
    now: datetime | None = None,
) -> list[Appointment]:
    """Return the appointments from `first` to before `end`, sorted by time.

    One query, at most `MOST` rows. What was called off is left out. A person who may not see
    orders gets nothing, and nobody gets appointments of other workspaces (S17).

    Args:
        now: if there are more, those that are longest over are left out, instead of the last.
    """
    if not person.has_perm("orders.view_order"):
        return []
    every = within(person, Assignment.objects.all())
    held = every.filter(scheduled_at__gte=first, scheduled_at__lt=end)
    rows = held.exclude(agent_lists.called_off())
    if workspace:
        rows = rows.filter(workspace__slug=workspace)
    if only_mine:
        rows = rows.filter(order__in=Order.objects.filter(agent_lists.mine(person)))
    if now is None:
        return _read(rows)
    over = Case(When(scheduled_at__lt=now, then="scheduled_at"))
    return _read(rows, over.desc(nulls_first=True))


def of_orders(
    orders: Collection[int], *, person: User, after: datetime
) -> tuple[list[Appointment], list[Appointment]]:
    """Return the appointments of orders that are later than this: those that stand, and those that
    were cancelled, also if the platform then removed their time. Three queries; only of orders that
    the person may see (S17).
    """
    if not orders or not person.has_perm("orders.view_order"):
        return [], []
    mine = within(person, Assignment.objects.filter(order__in=orders))
    is_off = agent_lists.called_off()
    is_coming = Q(scheduled_at__gt=after)
    removed = _removed(mine.filter(is_off, scheduled_at=None), after=after)
    off = mine.filter(is_off).filter(is_coming | Q(pk__in=removed))
    return _read(mine.filter(is_coming).exclude(is_off)), _read(off, removed=removed)


def _removed(rows: QuerySet[Assignment], *, after: datetime) -> dict[int, datetime]:
    """Return the times that rows had before these were removed, if later than this. One query."""
    lines = StatusChange.objects.filter(
        assignment__in=rows, fact=StatusChange.Fact.APPOINTMENT, new=""
    )
    last = dict(
        lines.exclude(previous="")
        .order_by("occurred_at", "pk")
        .values_list("assignment", "previous")
    )
    moments = {key: datetime.fromisoformat(text) for key, text in last.items()}
    return {key: at for key, at in moments.items() if at > after}


NONE_REMOVED: Mapping[int, datetime] = {}


def _read(
    rows: QuerySet[Assignment],
    *first: OrderBy,
    removed: Mapping[int, datetime] = NONE_REMOVED,
) -> list[Appointment]:
    """Return rows as plain values, sorted by time. One query.

    Args:
        first: by what the rows are chosen if there are more than `MOST`, before their time.
        removed: the time of rows that have none any more, by key.
    """
    found = rows.order_by(*first, "scheduled_at", "pk").values(
        "pk",
        "scheduled_at",
        "status",
        "products",
        "photographer",
        "order_id",
        set_at=_set_at(),
        sequence=_sequence(),
        order_name=F("order__platform_id"),
        reference=F("order__object_reference_id"),
        title=F("order__real_estate_property__title"),
        address=F("order__real_estate_property__desired__address"),
        slug=F("workspace__slug"),
    )
    read = [
        _appointment({**row, "at": row["scheduled_at"] or removed[row["pk"]]})
        for row in found[:MOST]
    ]
    return sorted(read, key=lambda one: (one.at, one.key))


def _set_at() -> Combinable:
    """Return since when an appointment has its time: from its line, which no later read changes."""
    lines = StatusChange.objects.filter(
        assignment=OuterRef("pk"), fact=StatusChange.Fact.APPOINTMENT
    )
    newest = Subquery(lines.order_by("-occurred_at", "-pk").values("occurred_at")[:1])
    # EPOCH means that no answer with a date has shown this value.
    known = NullIf("scheduled_watermark", Value(EPOCH, DateTimeField()))
    return Coalesce(newest, known, "created_at")


def _sequence() -> Combinable:
    """Return how many times and statuses it has had. Lines of the timeline are never removed."""
    facts = (StatusChange.Fact.APPOINTMENT, StatusChange.Fact.ASSIGNMENT_STATUS)
    lines = StatusChange.objects.filter(assignment=OuterRef("pk"), fact__in=facts)
    counted = lines.order_by().values("assignment").annotate(count=Count("pk")).values("count")
    return Coalesce(Subquery(counted), 0)


def _appointment(row: Mapping[str, Any]) -> Appointment:
    return Appointment(
        key=row["pk"],
        at=row["at"],
        set_at=row["set_at"],
        status=row["status"],
        products=[str(one) for one in row["products"]],
        photographer=_object(row["photographer"]),
        order_key=row["order_id"],
        order=row["order_name"],
        reference=row["reference"],
        title=row["title"] or "",
        address=_object(row["address"]),
        workspace=row["slug"],
        sequence=row["sequence"],
    )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
