"""What an app plugs in, as plain values: `register(AppHooks(…))` in its `AppConfig.ready`.

Hooks are in the order of INSTALLED_APPS, and within an app in the order of its call.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, TypeVar, cast
from uuid import UUID

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model, Q, QuerySet
from django.forms import Media
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString

from crm_sync.expiry import Part
from crm_sync.platform.events import Event
from crm_sync.platform.read_only import Live

Person: TypeAlias = AbstractBaseUser | AnonymousUser  # who looks at a page
# What, in the plural → how many; nothing that counts 0 has to be left out.
Counts = Mapping[str, int]
Wrong = tuple[str, str]  # what is wrong, like the name of an invariant; the row, for people
NEWEST = 8  # lines of `attention` that one app gives; the tiles say how many there are


# --- due work and events -------------------------------------------------------------------------
class Queue(Protocol):
    """What all know of a queue; `work.queues.RowQueue` is one."""

    @property
    def name(self) -> str:
        """The name by which rings, commands and pages know it."""

    def workspaces(self, now: datetime) -> set[int]:
        """Return the ids of the workspaces that have a row due at `now`."""

    def with_due(self, now: datetime) -> QuerySet[Any]:
        """Return the same workspaces, as a query."""

    def backlog(self, now: datetime) -> Mapping[int, tuple[int, datetime]]:
        """Return by workspace how many rows are due and not leased, and since when the first."""


class Outcome(StrEnum):
    """What an event did to the rows of the app that handles it."""

    APPLIED = "APPLIED"
    STALE = "STALE"  # something newer is known; it still entered the timeline
    IGNORED = "IGNORED"


@dataclass(frozen=True)
class Effect:
    """The outcome, and what a person reads about it ("order 12: PLACED → IN_PROGRESS")."""

    outcome: Outcome
    text: str


class BatchPart(Protocol):
    """What an app has read for the events of a batch, and changes in memory."""

    def write(self) -> None:
        """Write what was changed."""


SomePart = TypeVar("SomePart", bound=BatchPart)


class EventBatch:
    """Events of one workspace that are applied in one transaction, one after the other.

    An app reads the rows for all events when its first handler asks for its part, and writes them
    when all handlers are done: many events, few statements.

    Attributes:
        now: our clock; it orders nothing (I29).
    """

    def __init__(self, workspace_id: int, events: Sequence[Event], *, now: datetime) -> None:
        self.workspace_id = workspace_id
        self.events = events
        self.now = now
        self._parts: dict[Callable[[EventBatch], BatchPart], BatchPart] = {}

    def part(self, read: Callable[["EventBatch"], SomePart]) -> SomePart:
        """Return the part that `read` makes of this batch; it is called once for a batch."""
        if read not in self._parts:
            self._parts[read] = read(self)
        return cast(SomePart, self._parts[read])

    def write(self) -> None:
        """Let each app write what its handlers changed."""
        for part in self._parts.values():
            part.write()


# Takes the batch, the event and the id of the received event; runs inside a transaction.
EventHandler = Callable[[EventBatch, Event, int], Effect]
# Takes a workspace id and an event; returns in words what the app knows of the event's rows
# ("order 12, status" → "PLACED"). Called before and after, it shows what the event changes.
Snapshot = Callable[[int, Event], Mapping[str, str]]


# --- audit, doctor, recovery and personal data ---------------------------------------------------
@dataclass(frozen=True)
class Invariant:
    """What must hold for each row at any instant."""

    name: str  # what is wrong with a row that breaks it; it is shown after the row's name
    broken: Q  # finds the rows that break it


@dataclass(frozen=True)
class CheckGroup:
    """Rows of one kind, counted twice: all of them, and by the part in which each is (I31)."""

    title: str
    rows: QuerySet[Any]  # those of one workspace, with only the columns that `str(row)` needs
    parts: Mapping[str, Q]  # conditions by name; every row meets exactly one
    invariants: Sequence[Invariant] = ()
    # Yields what is wrong in documents of the given rows, which no query can find.
    walk: Callable[[QuerySet[Any], datetime], Iterable[Wrong]] | None = None


class Verdict(StrEnum):
    """What became of a check of `manage.py doctor`, the worst first."""

    FAILED = "failed"
    WARNING = "warning"
    NOT_CHECKED = "not checked"
    OK = "ok"


@dataclass(frozen=True)
class Finding:
    """One check of `manage.py doctor`."""

    name: str
    verdict: Verdict
    found: str  # what is there, in a sentence
    remedy: str = ""  # what to do; "" where there is nothing to do
    assumption: str = ""  # what we assume of the platform, where the check is about that (A1 …)


@dataclass(frozen=True)
class Recovery:
    """How the rows of an app are made to agree with the platform after a backup was restored."""

    # Makes the rows of a workspace due for a read, and keeps what was on its way from being sent
    # again; returns what it did. Called in a transaction, at most a few times.
    begin: Callable[[int, datetime], Counts]
    # What a worker has not read since then, and what waits for a person, counted in workspaces.
    unread: Callable[[Collection[int], datetime], Counts]
    for_people: Callable[[Collection[int], datetime], Counts]


@dataclass(frozen=True)
class FreeText:
    """Columns whose words no rule of ours reads, so a name in them may be blanked (S23).

    A state, a key, an address or what is still to be sent is none: a person looks at it.
    """

    model: type[Model]
    columns: tuple[str, ...]
    rows: Q = field(default_factory=Q)  # the rows in which they are free text


# --- programs and other systems ------------------------------------------------------------------
@dataclass(frozen=True)
class Scope:
    """One permission of a token: its name, such as "orders:read", and what it means."""

    name: str
    meaning: str


@dataclass(frozen=True)
class MessageKind:
    """A kind of message that another system can subscribe to."""

    name: str  # its `type`, such as "property.in_sync"
    text: str  # when it is sent, for people


# --- the overview and the pages of properties: who lacks a permission does not see it (S17) ------
@dataclass(frozen=True)
class Tile:
    """One figure of the overview."""

    title: str
    value: int
    tone: str  # "good", "info", "warning" or "danger"; colours the figure, the text says the same
    link: str  # the admin page that lists what was counted
    hint: str = ""


@dataclass(frozen=True)
class Attention:
    """One line of what waits for a person: its state as a badge, why, where, since when."""

    badge: SafeString
    text: SafeString | str
    where: str = ""
    since: SafeString | str = ""
    link: str = ""  # the admin page of it; who may not open that page does not see the line (S17)
    remedy: str = ""  # what a person can do about it
    act: str = "Open"  # what the button says that leads to `link`
    next_try: SafeString | str = ""  # when it is tried again by itself; "" where nothing is
    is_urgent: bool = False  # something is stalled as long as this is so; shown first


@dataclass(frozen=True)
class Section:
    """One tab beside the fields of a property."""

    slug: str  # its part of the address
    title: str
    count: int  # how many things it shows
    content: SafeString
    permission: str
    media: Media = field(default_factory=Media)  # the styles and scripts that it needs


@dataclass(frozen=True)
class PropertyAction:
    """Something to do with chosen properties, in their list and on the page of one."""

    name: str  # unique among the actions of the list
    label: str  # on the page of one property
    label_of_many: str  # in the list
    permission: str
    # Is called by POST alone, with the chosen rows.
    run: Callable[[HttpRequest, QuerySet[Any]], HttpResponse]


@dataclass(frozen=True)
class PropertyPictures:
    """Where the pictures in a list of properties come from."""

    permission: str
    # Returns addresses of our own by the primary keys of properties; a constant number of queries.
    find: Callable[[Collection[int]], Mapping[int, str]]


# --- all of it -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class AppHooks:
    """What one app plugs in; an `int` argument is a workspace id, a `datetime` is by our clock."""

    app: str  # its label; an app registers once
    # Its due work, which the workers do.
    queues: Sequence[Queue] = ()
    # By event kind (§6.2) the one function that applies events of this kind; `events.OTHER`: events
    # about an order whose kind we do not know.
    event_handlers: Mapping[str, EventHandler] = field(default_factory=dict)
    # What the app knows about the rows that an event is about.
    snapshots: Sequence[Snapshot] = ()
    # Called when a workspace was given its address and credentials; when received events were
    # handled, whatever came of it; with the callback ids of callbacks that could not be stored.
    after_connected: Sequence[Callable[[int, datetime], object]] = ()
    after_applied: Sequence[Callable[[int, datetime], object]] = ()
    after_missed: Sequence[Callable[[Collection[UUID], datetime], object]] = ()
    # Returns whether anything of the app changed in a workspace since then.
    activity: Sequence[Callable[[int, datetime], bool]] = ()
    # Makes due what a gap may have hidden; returns how many rows.
    after_gap: Sequence[Callable[[int, datetime], int]] = ()
    # Returns the checks of a workspace as of then, for `manage.py audit`.
    integrity_checks: Sequence[Callable[[int, datetime], list[CheckGroup]]] = ()
    # Yields what a look at the live platform shows, for `manage.py doctor`.
    live_checks: Sequence[Callable[[int, Live], Iterable[Finding]]] = ()
    recoveries: Sequence[Recovery] = ()
    # Of the overview: the tiles, counted in the workspaces of this person; the newest few rows that
    # wait for a person; a part for whoever looks, "" where there is nothing.
    tiles: Sequence[Callable[[Person], list[Tile]]] = ()
    attention: Sequence[Callable[[Person, datetime], list[Attention]]] = ()
    overview: Sequence[Callable[[HttpRequest, datetime], SafeString]] = ()
    # On the page of a property, whose row the function gets.
    property_sections: Sequence[Callable[[Any, datetime], list[Section]]] = ()
    property_actions: Sequence[PropertyAction] = ()
    property_pictures: Sequence[PropertyPictures] = ()
    api_scopes: Sequence[Scope] = ()
    message_kinds: Sequence[MessageKind] = ()  # docs/outgoing.md
    # Returns what removes old rows, a batch at a time, by their name (S23).
    expired: Sequence[Callable[[datetime], Mapping[str, Part]]] = ()
    # In which columns people may be named; `forget_person` changes no other.
    free_text: Sequence[FreeText] = ()


# Hooks whose names have one owner, and what such a name is called.
UNIQUE = {"queues": "queue", "event_handlers": "event", "message_kinds": "message"}

_apps: tuple[str, ...] = ()
_all = AppHooks(app="")


def register(new: AppHooks) -> None:
    """Add the hooks of an app after those of the apps before it.

    Raises:
        ImproperlyConfigured: the app is registered already, or a name of `UNIQUE` is taken.
    """
    global _apps, _all  # noqa: PLW0603 - the one place that keeps them
    if new.app in _apps:
        raise ImproperlyConfigured(f"the app {new.app!r} registers twice")
    for hook, what in UNIQUE.items():
        names = [*_names(getattr(_all, hook)), *_names(getattr(new, hook))]
        for name in names:
            if names.count(name) > 1:
                text = f"the app {new.app!r} brings the {what} {name!r}, which is taken"
                raise ImproperlyConfigured(text)
    hooks = [one.name for one in fields(AppHooks) if one.name != "app"]
    _all = replace(
        _all, **{hook: _joined(getattr(_all, hook), getattr(new, hook)) for hook in hooks}
    )
    _apps = (*_apps, new.app)


def plugged() -> AppHooks:
    """Return the hooks of all apps together."""
    return _all


def apps() -> tuple[str, ...]:
    """Return the labels of the apps that registered, in their order."""
    return _apps


def queue(name: str) -> Any:
    """Return the `work.queues.RowQueue` with this name.

    Raises:
        KeyError: there is none.
    """
    return {one.name: one for one in _all.queues}[name]


@contextmanager
def replaced(**parts: Any) -> Iterator[None]:
    """For tests: replace the named parts of `plugged()`, in every thread, within a `with` block.

    `replaced(event_handlers={})` leaves no handler; parts that are not named stay. Apps that
    register within the block are forgotten at its end.
    """
    global _apps, _all  # noqa: PLW0603 - as above
    before = _apps, _all
    _all = replace(_all, **parts)
    try:
        yield
    finally:
        _apps, _all = before


def _joined(known: Any, new: Any) -> Any:
    return {**known, **new} if isinstance(known, Mapping) else (*known, *new)


def _names(hook: Any) -> list[str]:
    return list(hook) if isinstance(hook, Mapping) else [one.name for one in hook]
