"""The news of a person on the overview, until they dismiss it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Q

from orders.models.news import News
from orders.people.happenings import Happening, NewsFilter, happenings, with_news
from orders.people.mail_queue import OLDEST
from orders.people.preferences import settings_of

SHOWN = 10
# The overview shows the appointments of today and tomorrow already.
SHOWN_KINDS = tuple(kind for kind in News if kind is not News.SCHEDULED)


@dataclass(frozen=True)
class New:
    """The first few news, whether there are more, and the period that they cover."""

    found: Sequence[Happening]
    is_more: bool
    since: datetime
    until: datetime


def new_to(person: User, *, now: datetime) -> New | None:
    """Return what is new for this person, or None. Five queries, plus permissions."""
    wanted = filter_of(person, now=now)
    found = happenings(wanted, limit=SHOWN + 1)
    if not found:
        return None
    return New(found[:SHOWN], len(found) > SHOWN, wanted.after, now)


def orders_new_to(person: User, *, now: datetime) -> Q:
    """Return the condition for orders with news for this person."""
    return with_news(filter_of(person, now=now))


def filter_of(person: User, *, now: datetime) -> NewsFilter:
    """Return a filter for the kinds that the overview shows, of the orders chosen for mails.

    Nothing is older than two weeks, or older than the account.
    """
    mine = settings_of(person)
    since = max(mine.seen_until or person.date_joined, now - OLDEST)
    return NewsFilter(person, SHOWN_KINDS, mine.only_mine, min(since, now), now)
