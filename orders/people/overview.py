"""What is new to a person on the overview, until she says that she has seen it."""

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


@dataclass(frozen=True)
class New:
    """What is new: the first few, whether there are more, and since and until when."""

    found: Sequence[Happening]
    is_more: bool
    since: datetime
    until: datetime


def new_to(person: User, *, now: datetime) -> New | None:
    """Return what is new to her, None where nothing is; five queries, and those of permissions."""
    wanted = filter_of(person, now=now)
    found = happenings(wanted, limit=SHOWN + 1)
    if not found:
        return None
    return New(found[:SHOWN], len(found) > SHOWN, wanted.after, now)


def orders_new_to(person: User, *, now: datetime) -> Q:
    """Select the orders that are new to her."""
    return with_news(filter_of(person, now=now))


def filter_of(person: User, *, now: datetime) -> NewsFilter:
    """All four kinds, of the orders that she chose for her mails: by default only her own.

    What is older than two weeks, and than her account, is new to nobody.
    """
    mine = settings_of(person)
    since = max(mine.seen_until or person.date_joined, now - OLDEST)
    return NewsFilter(person, tuple(News), mine.only_mine, min(since, now), now)
