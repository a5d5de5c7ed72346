"""Mail to each person who wants it, at most once in a quarter of an hour. The row is the queue.

Nothing is queued when something happens, because the timeline already has it. A row of
`PersonSettings` holds the time from which a mail may be sent (`due_at`) and the watermark
(`told_until`), by the moment at which we learned of something. The worker that claims the row sends
the news after the watermark and then moves the watermark.

At least once: if a worker dies between sending and moving the watermark, `telling_until` remains,
and the next worker sends the same mail again, with the same Message-ID. A mail twice is better than
none (I33).

A transaction commits later than the moment that it wrote in its rows. So a mail contains only news
that is at least `SETTLES` old. That is longer than our transactions take and our clocks differ.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone, translation

from crm_sync import permits
from crm_sync.mail import MAIL_ERRORS
from crm_sync.models import Workspace, due
from crm_sync.platform.errors import problem_of
from crm_sync.work import leases, queues
from crm_sync.work.leases import Claim
from crm_sync.work.queues import Turn
from orders.models import ChangeRequest, PersonSettings, Placement, StatusChange
from orders.models.news import News
from orders.models.person_settings import switch_of
from orders.people.happenings import Happening, NewsFilter, counts, happenings
from orders.people.language_of_person import language_of
from orders.people.news_mail import Invitation, written

QUEUE = "notices"
EVERY = timedelta(minutes=15)  # from one mail to the next
LOOK_AGAIN = timedelta(minutes=3)  # after a check that found no news for this person
SETTLES = timedelta(minutes=2)  # a minute for clocks that differ, and one for a transaction
OLDEST = timedelta(days=14)  # older events are not mailed, if a mail server fails for so long
LONGEST_WAIT = max(EVERY, timedelta(seconds=due.BACKOFF_LIMIT)) + leases.LEASE
AT_ONCE = 4  # mails sent at the same time
LINES = 50  # lines in a mail, which only counts the others


class NoticeOutcome(StrEnum):
    """The outcome of the mail to a person."""

    SENT = "sent"
    NO_NEWS = "no news"  # for this person
    TOO_SOON = "too soon"  # after the last mail
    CHANGED = "changed meanwhile"
    PUT_OFF = "put off"  # the mail server did not accept it


def rows(now: datetime) -> QuerySet[PersonSettings]:
    """Return the settings of people with news that was not mailed yet."""
    return people().filter(_has_news(now - SETTLES) | Q(told_until__gt=now))


def people() -> QuerySet[PersonSettings]:
    """Return all rows with a workspace, because every queue needs one.

    People belong to no workspace, so they use the slots of the first one. Without any workspace,
    nothing happens.
    """
    first = Workspace.objects.order_by("pk").values("pk")[:1]
    return PersonSettings.objects.annotate(workspace_id=Subquery(first))


# Takes the person, the news of a mail and our time; returns what it says of appointments.
Invite = Callable[[User, Sequence[Happening], datetime], Invitation]


def tell(
    claims: Sequence[Claim[PersonSettings]], turn: Turn, *, invite: Invite
) -> list[NoticeOutcome]:
    """Send each person the news that they want; the `work` of the queue.

    Raises:
        LeaseLost: another worker holds the row now.
    """
    return [_tell(claim, invite, now=timezone.now()) for claim in claims]


def _tell(claim: Claim[PersonSettings], invite: Invite, *, now: datetime) -> NoticeOutcome:
    row = claim.row
    # Somebody who switches their mails off and on again is due at once.
    if row.mailed_at and timedelta(0) <= now - row.mailed_at < EVERY:
        claim.finish(due_at=row.mailed_at + EVERY)
        return NoticeOutcome.TOO_SOON
    person = User.objects.get(pk=row.person_id)
    after, until = _window(row, now)
    wanted = NewsFilter(person, row.kinds, row.only_mine, after, until)
    is_reached = person.is_active and person.is_staff and person.email
    numbers = counts(wanted) if is_reached else {}
    if not numbers:
        _told(claim, until, due_at=now + LOOK_AGAIN)
        return NoticeOutcome.NO_NEWS
    found = happenings(wanted, limit=LINES)
    with translation.override(language_of(row) or settings.LANGUAGE_CODE):
        with timezone.override(row.zone):
            invitation = invite(person, found, now)
        mail = written(
            found,
            numbers,
            to=person.email,
            since=after,
            zone=row.zone,
            invitation=invitation,
        )
    if not claim.write({"telling_until": until}, told_until=row.told_until):
        _told(claim, until, due_at=now)
        return NoticeOutcome.CHANGED
    try:
        with permits.away():
            mail.send()
    except MAIL_ERRORS as error:
        # The next try also contains later news.
        queues.put_off(claim, problem=problem_of(error), telling_until=None)
        return NoticeOutcome.PUT_OFF
    _told(claim, until, due_at=now + EVERY, mailed_at=now)
    return NoticeOutcome.SENT


def _told(claim: Claim[PersonSettings], until: datetime, **columns: datetime) -> None:
    """Move the watermark, unless the person has switched their mails off or on since."""
    moved = columns | {"told_until": until}
    done = {"telling_until": None, "attempts": 0, "problem": ""}
    if not claim.finish_if(moved | done, told_until=claim.row.told_until):
        claim.finish(**columns)


def _window(row: PersonSettings, now: datetime) -> tuple[datetime, datetime]:
    """Return the interval of the next mail, by the moment at which we learned of something.

    A watermark ahead of now was written by a clock that was wrong (I29).
    """
    told_until = row.told_until or now
    if told_until > now:
        told_until = now - EVERY
    after = max(told_until, now - OLDEST)
    until = row.telling_until if row.telling_until and row.telling_until <= now else now - SETTLES
    return after, max(after, until)


def _has_news(until: datetime) -> Q:
    """Return the condition for people with wanted news after their watermark, of any order."""
    after = OuterRef("told_until")
    found = Q()
    for kind in News:
        lines = StatusChange.objects.filter(news=kind, created_at__gt=after, created_at__lte=until)
        there = Q(Exists(lines))
        if kind is News.UNCERTAIN:
            placements = Placement.objects.filter(
                state=Placement.State.UNCERTAIN, uncertain_at__gt=after, uncertain_at__lte=until
            )
            requests = ChangeRequest.objects.filter(
                outcome=ChangeRequest.Outcome.UNCLEAR, ended_at__gt=after, ended_at__lte=until
            )
            there = Q(Exists(placements)) | Q(Exists(requests))
        found |= Q(**{switch_of(kind): True}) & there
    return found
