"""The timeline: each reported fact becomes one line, even if it is stale."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from django.db.models import F
from django.utils import timezone

from crm_sync.text import clean, plain
from orders.mirror.lww import Stamp
from orders.models import Assignment, Order, StatusChange
from orders.models.news import AFTER_A_READ, news_of

WIDTH = 255


@dataclass(frozen=True)
class Provenance:
    """The origin of a fact: its stamp, its source, and the received event if there is one."""

    stamp: Stamp
    source: StatusChange.Source
    received_event_id: int | None = None


def line(
    subject: Order | Assignment,
    fact: StatusChange.Fact,
    *,
    previous: Any,
    new: Any,
    origin: Provenance,
    is_listed: bool = True,
    was_stale: bool = False,
) -> dict[str, Any]:
    """Return one line about an order or one of its assignments, as columns."""
    assignment = subject if isinstance(subject, Assignment) else None
    (before, before_name), (after, after_name) = stored(previous), stored(new)
    order_id = subject.order_id if isinstance(subject, Assignment) else subject.pk
    news = None if was_stale else news_of(fact, before, after)
    if origin.source == StatusChange.Source.CALLBACK and news in AFTER_A_READ:
        news = None  # `confirm` makes it news
    return {
        "order": order_id,
        "assignment": None if assignment is None else assignment.pk,
        "fact": fact,
        "previous": before,
        "new": after,
        "previous_name": before_name,
        "new_name": after_name,
        "occurred_at": origin.stamp.at,
        "digest": origin.stamp.digest,
        "received_event": origin.received_event_id,
        "source": origin.source,
        "is_listed": is_listed,
        "was_stale": was_stale,
        "created_at": timezone.now(),
        "news": news,
    }


def confirm(
    subject: Order | Assignment, fact: StatusChange.Fact, value: str, *, now: datetime
) -> None:
    """Make the line of an event news, once a read has confirmed it (S10).

    It is dated `now`, so that people who got all earlier news get this one, too (I33).
    """
    news = news_of(fact, "", value)
    if news not in AFTER_A_READ:
        return
    if isinstance(subject, Assignment):
        lines = StatusChange.objects.filter(order=subject.order_id, assignment=subject.pk)
    else:
        lines = StatusChange.objects.filter(order=subject.pk, assignment=None)
    told = lines.filter(fact=fact, new=value, source=StatusChange.Source.CALLBACK, news=None)
    told.filter(was_stale=False).exclude(previous=F("new")).update(news=news, created_at=now)


def has_grown(workspace_id: int, since: datetime) -> bool:
    """Return whether an order or an assignment of the workspace has changed since then."""
    lines = StatusChange.objects.filter(created_at__gt=since, order__workspace_id=workspace_id)
    return lines.exists()


def reached_at(order: Order) -> datetime:
    """Return when the order reached its status, by the platform's clock.

    The watermark is later, because each read with the same status moves it. If there is no line,
    the order had this status when we first knew of it, so that moment is returned.
    """
    lines = StatusChange.objects.filter(order=order, fact=StatusChange.Fact.ORDER_STATUS)
    moments = lines.filter(new=order.status).values_list("occurred_at", flat=True)
    return moments.order_by("occurred_at").last() or order.created_at


def stored(value: Any) -> tuple[str, str]:
    """Return a value and its name as the timeline stores them. A missing one is "".

    A moment is in UTC. The value of a person is the id, and the value of a visual is its product.
    """
    name: Any = ""
    if isinstance(value, datetime):
        value = value.astimezone(UTC).isoformat()
    elif isinstance(value, date):
        value = value.isoformat()
    elif isinstance(value, dict):
        value, name = value.get("id"), value.get("name")
    value, name = (clean(plain(one))[0][:WIDTH] for one in (value, name))
    return value, name
