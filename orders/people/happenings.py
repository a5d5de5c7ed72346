"""The news of some period that a person wants and may see."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from django.contrib.auth.models import User
from django.db.models import Case, Count, Exists, Max, OuterRef, Q, QuerySet, Value, When
from django.utils.translation import gettext as _

from crm_sync.security.access import within
from orders.mirror import agent_lists
from orders.models import Assignment, ChangeRequest, Order, Placement, StatusChange
from orders.models.news import News
from orders.models.statuses import ASSIGNMENT_TERMINAL, ORDER_TERMINAL

Rows: TypeAlias = Iterable[tuple[Any, ...]]  # kind, at, key, order, reference, title
ORDER, PLACEMENT = "orders.order", "orders.placement"  # the models whose pages show it
RANK = {kind: number for number, kind in enumerate(News)}
UNCERTAIN = Value(News.UNCERTAIN.value)
NAMES = ("platform_id", "object_reference_id", "real_estate_property__title")
OF_ORDER = ("order_id", *(f"order__{name}" for name in NAMES))


@dataclass(frozen=True)
class NewsFilter:
    """Selects news for one person, of some kinds, that we learned between two moments."""

    person: User
    kinds: Collection[News]
    only_mine: bool
    after: datetime
    until: datetime

    def within(self, column: str) -> Q:
        """Return the condition for rows whose column is in the period."""
        return Q(**{f"{column}__gt": self.after, f"{column}__lte": self.until})


@dataclass(frozen=True)
class Happening:
    """One line: an order or a placement, and the last time that this happened to it.

    Attributes:
        at: by the platform's clock, or by ours if no clear answer came.
        model, key: the row whose page shows it.
        order: the platform's id of the order, "" if it is unknown whether there is one.
        reference, title: of the property.
    """

    kind: News
    at: datetime
    model: str
    key: int
    order: str
    reference: str
    title: str

    @property
    def name(self) -> str:
        """The name for people: title and reference of the property, else the order."""
        if self.title and self.reference:
            return f"{self.title} ({self.reference})"
        return self.title or self.reference or _("Order %(order)s") % {"order": self.order}


def happenings(wanted: NewsFilter, *, limit: int) -> list[Happening]:
    """Return the most urgent news first, and within a kind the newest. Four bounded queries."""
    found = [
        *_each(ORDER, _changes(wanted, limit)),
        *_each(PLACEMENT, _placements(wanted, limit)),
        *_each(ORDER, _requests(wanted, limit)),
    ]
    found.sort(key=lambda one: (-RANK[one.kind], one.at, one.key), reverse=True)
    return found[:limit]


def counts(wanted: NewsFilter) -> dict[News, int]:
    """Return the number of orders and placements for each kind. Three queries."""
    numbers = dict.fromkeys(News, 0)
    lines = _lines(wanted).order_by().values_list("news")
    for kind, number in lines.annotate(Count("order", distinct=True)):
        numbers[News(kind)] += number
    uncertain = _uncertain_placements(wanted).count()
    uncertain += _unclear_requests(wanted).aggregate(orders=Count("order", distinct=True))["orders"]
    numbers[News.UNCERTAIN] += uncertain
    return {kind: number for kind, number in numbers.items() if number}


def with_news(wanted: NewsFilter) -> Q:
    """Return the condition for orders with news in their timeline."""
    return Q(pk__in=_lines(wanted).values("order"))


def _each(model: str, rows: Rows) -> Iterator[Happening]:
    for kind, at, key, order, reference, title in rows:
        yield Happening(News(kind), at, model, key, order, reference, title or "")


def _lines(wanted: NewsFilter) -> QuerySet[StatusChange]:
    """Return the timeline lines with this news.

    Leave out actions that are no longer required and appointments of what has ended.
    """
    if not wanted.person.has_perm("orders.view_order"):
        return StatusChange.objects.none()
    # No join, because it would read the assignment of every line.
    waiting = agent_lists.waiting_assignments().filter(pk=OuterRef("assignment"))
    waits = Exists(waiting.exclude(order__status__in=ORDER_TERMINAL))
    of_line = Assignment.objects.filter(pk=OuterRef("assignment"))
    ended = Q(status__in=ASSIGNMENT_TERMINAL) | Q(order__status__in=ORDER_TERMINAL)
    stands = Exists(of_line.filter(withdrawn_at=None).exclude(ended))
    told = Q(news__in=[*wanted.kinds]) & wanted.within("created_at")
    every = StatusChange.objects.filter(
        told & (~Q(news=News.ACTION) | Q(waits)) & (~Q(news=News.SCHEDULED) | Q(stands))
    )
    rows = within(wanted.person, every, "order__workspace")
    return (
        rows.filter(agent_lists.mine(wanted.person, order="order__")) if wanted.only_mine else rows
    )


def _changes(wanted: NewsFilter, limit: int) -> Rows:
    urgency = Case(*[When(news=kind, then=Value(rank)) for kind, rank in RANK.items()])
    lines = _lines(wanted).values("news", "order_id").annotate(last=Max("occurred_at"))
    newest = lines.order_by(urgency, "-last", "-order_id").values_list("news", "last", "order_id")
    found = list(newest[:limit])
    # The names are loaded afterwards: grouping thousands of lines by title takes three times as
    # long.
    rows = Order.objects.filter(pk__in={key for *_, key in found}).values_list("pk", *NAMES)
    names = {key: rest for key, *rest in rows}
    return [(news, last, key, *names[key]) for news, last, key in found]


def _uncertain_placements(wanted: NewsFilter) -> QuerySet[Placement]:
    if News.UNCERTAIN not in wanted.kinds or not wanted.person.has_perm("orders.view_placement"):
        return Placement.objects.none()
    is_uncertain = Q(state=Placement.State.UNCERTAIN) & wanted.within("uncertain_at")
    rows = within(wanted.person, Placement.objects.filter(is_uncertain))
    if not wanted.only_mine:
        return rows
    mine = Q(created_by=wanted.person) | Q(confirmed_by=wanted.person)
    return rows.filter(mine | Q(user__account=wanted.person))


def _placements(wanted: NewsFilter, limit: int) -> Rows:
    rows = _uncertain_placements(wanted).order_by("-uncertain_at", "-pk")
    names = ("object_reference_id", "real_estate_property__title")
    return rows.values_list(UNCERTAIN, "uncertain_at", "pk", Value(""), *names)[:limit]


def _unclear_requests(wanted: NewsFilter) -> QuerySet[ChangeRequest]:
    if News.UNCERTAIN not in wanted.kinds or not wanted.person.has_perm("orders.view_order"):
        return ChangeRequest.objects.none()
    is_unclear = Q(outcome=ChangeRequest.Outcome.UNCLEAR) & wanted.within("ended_at")
    every = ChangeRequest.objects.filter(is_unclear)
    rows = within(wanted.person, every, "order__workspace")
    if not wanted.only_mine:
        return rows
    return rows.filter(Q(asked_by=wanted.person) | agent_lists.mine(wanted.person, order="order__"))


def _requests(wanted: NewsFilter, limit: int) -> Rows:
    rows = _unclear_requests(wanted).values(*OF_ORDER).annotate(last=Max("ended_at"))
    ordered = rows.order_by("-last", "-order_id")
    found: Rows = ordered.values_list(UNCERTAIN, "last", *OF_ORDER)[:limit]
    return found
