"""The timeline of an order for people: newest first, simultaneous changes together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import TextChoices
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, pgettext

from crm_sync.account_names import name_of
from crm_sync.admin.ui.cells import local_time, moment
from crm_sync.platform.problems import explain
from crm_sync.translated import Text, day_in_words, said_of
from orders.admin.cells import worded
from orders.models import Assignment, ChangeRequest, Placement, StatusChange
from orders.models.platform_user import Who
from orders.models.statuses import AssignmentStatus, OrderStatus, shown

Fact = StatusChange.Fact
CHOICES: dict[str, type[TextChoices]] = {
    Fact.ORDER_STATUS: OrderStatus,
    Fact.ASSIGNMENT_STATUS: AssignmentStatus,
}
Outcome = ChangeRequest.Outcome
LONGEST_CALL = timedelta(minutes=1)  # a call without an answer by then has ended with its process
NAMELESS = _("somebody not named yet")
ASKED: dict[str, Text] = {
    ChangeRequest.Kind.RESCHEDULE: _("%(name)s asked for another appointment"),
    ChangeRequest.Kind.CANCEL: _("%(name)s asked to cancel the order"),
}
ASKED_AS: dict[str, Text] = {
    ChangeRequest.Kind.RESCHEDULE: _("%(name)s asked for another appointment, as %(user)s"),
    ChangeRequest.Kind.CANCEL: _("%(name)s asked to cancel the order, as %(user)s"),
}


@dataclass
class TimelineLine:
    """One change, of one assignment or of several that changed in the same way."""

    fact: str
    about: list[str]
    before: str
    after: str
    is_listed: bool = True
    was_stale: bool = False

    def is_like(self, other: "TimelineLine") -> bool:
        """Return whether this is the same change of another assignment."""
        flags = (self.is_listed, self.was_stale) == (other.is_listed, other.was_stale)
        text = (self.fact, self.before, self.after) == (other.fact, other.before, other.after)
        return bool(self.about) and bool(other.about) and flags and text


@dataclass
class TimelineGroup:
    """The changes at one time, with their sources and links to the received events."""

    key: str
    at: datetime
    when: SafeString | str
    lines: list[TimelineLine] = field(default_factory=list)
    sources: dict[str, int | None] = field(default_factory=dict)


def groups(
    lines: Iterable[StatusChange],
    assignments: Mapping[int, Assignment],
    names: Mapping[int, str],
    now: datetime,
) -> list[TimelineGroup]:
    """Return the lines of an order, newest first, grouped by the second in which they happened.

    Args:
        lines: newest first.
        assignments, names: of the order, by key.
    """
    people = _people(assignments.values())
    found: list[TimelineGroup] = []
    for change in lines:
        line = _line(change, names, people)
        if line is None:
            continue
        second = change.occurred_at.replace(microsecond=0)
        if not found or found[-1].at != second:
            found.append(TimelineGroup(f"t{second.timestamp():.0f}", second, moment(second, now)))
        _add(found[-1], line)
        event = change.received_event_id
        found[-1].sources.setdefault(change.get_source_display(), event)
    return found


def with_wishes(
    found: Iterable[TimelineGroup],
    asked: Iterable[tuple[ChangeRequest, Who]],
    placement: Placement | None,
    now: datetime,
) -> list[TimelineGroup]:
    """Add the actions of our own people: the placement, and the change requests.

    Args:
        asked: each request with the user of the platform who acted.
    """
    mine = [_wish(one, acting.name, now) for one, acting in asked]
    if placement is not None and placement.sent_at is not None:
        who, at = _name(placement.created_by, placement.program), placement.sent_at
        line = TimelineLine(gettext("%(name)s placed the order") % {"name": who}, [], "", "")
        mine.append(_from_here("placed", at, line, now))
    return sorted((*found, *mine), key=lambda one: one.at, reverse=True)


def _wish(asked: ChangeRequest, acting: str, now: datetime) -> TimelineGroup:
    who = _name(asked.asked_by, asked.program)
    texts = ASKED if acting in ("", who) else ASKED_AS
    text = texts[asked.kind] % {"name": who, "user": acting}
    reason = str(asked.body.get("reason") or "")
    is_lost = asked.outcome == Outcome.SENT and now - asked.sent_at > LONGEST_CALL
    outcome = Outcome(Outcome.UNCLEAR if is_lost else asked.outcome).label
    said = asked.words.words or explain(asked.words).sentence
    answer = said_of(outcome, said) if said else str(outcome)
    quoted = gettext("“%(text)s”") % {"text": reason}
    line = TimelineLine(text, [quoted] if reason else [], "", answer)
    return _from_here(f"c{asked.pk}", asked.sent_at, line, now)


def _from_here(key: str, at: datetime, line: TimelineLine, now: datetime) -> TimelineGroup:
    return TimelineGroup(key, at, moment(at, now), [line], {gettext("From here"): None})


def _name(account: AbstractBaseUser | None, program: str) -> str:
    """Return the name of an account or of a program, or "Somebody" for a command."""
    if account is None:
        return program or gettext("Somebody")
    return name_of(account)


def _add(group: TimelineGroup, line: TimelineLine) -> None:
    for known in group.lines:
        if known.is_like(line):
            known.about = sorted({*known.about, *line.about})
            return
    group.lines.append(line)


def _line(
    change: StatusChange, names: Mapping[int, str], people: Mapping[str, str]
) -> TimelineLine | None:
    """Return a line in words, or None if only the name of a person became known."""
    name = names.get(change.assignment_id or 0)
    before = _value(change.fact, change.previous, change.previous_name, people)
    after = _value(change.fact, change.new, change.new_name, people)
    is_same = change.new == change.previous != "" or before == after != str(NAMELESS)
    if change.fact == Fact.PHOTOGRAPHER and is_same:
        return None
    return TimelineLine(
        change.get_fact_display(),
        [name] if name else [],
        before if change.previous or change.previous_name else "",
        after,
        change.is_listed,
        change.was_stale,
    )


def _value(fact: str, value: str, name: str, people: Mapping[str, str]) -> str:
    """Return a value of the timeline in words; see `StatusChange`."""
    if fact in CHOICES:
        return shown(value, CHOICES[fact])
    if not (value or name):
        return pgettext("value of the timeline", "None")
    match fact:
        case Fact.PHOTOGRAPHER:
            return name or people.get(value) or str(NAMELESS)
        case Fact.APPOINTMENT:
            return local_time(datetime.fromisoformat(value))
        case Fact.ESTIMATE:
            return day_in_words(date.fromisoformat(value))
    return ", ".join(worded(one) for one in (value, name) if one)


def _people(assignments: Iterable[Assignment]) -> dict[str, str]:
    """Return the photographers' names by id, because an event contains only the id (§6.3)."""
    known: list[Any] = [one.photographer for one in assignments]
    return {
        str(person["id"]): str(person["name"])
        for person in known
        if isinstance(person, dict) and person.get("id") and person.get("name")
    }
