"""The hooks of an app, as plain values: `register(AppHooks(…))` in its `AppConfig.ready`.

Hooks have the order of INSTALLED_APPS, and within an app the order of its call.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import IO, Any, Protocol, TypeAlias, TypeVar, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model, Q, QuerySet
from django.forms import Media
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from crm_sync.configured import ConfiguredRows
from crm_sync.expiry import Part
from crm_sync.platform.events import Event
from crm_sync.platform.read_only import Live
from crm_sync.sentence import Sentence
from crm_sync.translated import Text, number

Person: TypeAlias = AbstractBaseUser | AnonymousUser  # the reader of a page
# A noun in the plural → its number, which may be 0.
Counts = Mapping[str, int]
Wrong = tuple[str, str]  # what is wrong, like the name of an invariant, and the row, for people
OPEN = _("Open")
NEWEST = 8  # lines of `attention` from one app; the tiles show the whole number


# --- due work and events -------------------------------------------------------------------------
class Queue(Protocol):
    """A queue as all modules know it; `work.queues.RowQueue` is one."""

    @property
    def name(self) -> str:
        """The name in rings, commands and pages."""

    def workspaces(self, now: datetime) -> set[int]:
        """Return the ids of the workspaces that have a row due at `now`."""

    def due_pairs(self, now: datetime) -> tuple[str, list[Any]] | None:
        """Return SQL and its values for (name, workspace id) of the same, None if it is off."""

    def backlog(self, now: datetime) -> Mapping[int, tuple[int, datetime]]:
        """Return by workspace the number of due rows without a lease, and since when one is due."""


class Outcome(StrEnum):
    """What an event did to the rows of the app that handles it."""

    APPLIED = "APPLIED"
    STALE = "STALE"  # newer data is known; the event still entered the timeline
    IGNORED = "IGNORED"


@dataclass(frozen=True)
class Effect:
    """The outcome, and its text for people ("order 12: PLACED → IN_PROGRESS")."""

    outcome: Outcome
    text: Sentence


class BatchPart(Protocol):
    """The rows that an app has read for the events of a batch, and changes in memory."""

    def write(self) -> None:
        """Write the changed rows."""


SomePart = TypeVar("SomePart", bound=BatchPart)


class EventBatch:
    """Events of one workspace that are applied in one transaction, one after the other.

    An app reads the rows for all events when its first handler gets its part, and writes them when
    all handlers are done. So many events need few statements.

    Attributes:
        now: the time of our clock, which orders nothing (I29).
    """

    def __init__(self, workspace_id: int, events: Sequence[Event], *, now: datetime) -> None:
        self.workspace_id = workspace_id
        self.events = events
        self.now = now
        self._parts: dict[Callable[[EventBatch], BatchPart], BatchPart] = {}

    def part(self, read: Callable[["EventBatch"], SomePart]) -> SomePart:
        """Return the part that `read` makes for this batch. `read` is called once for a batch."""
        if read not in self._parts:
            self._parts[read] = read(self)
        return cast(SomePart, self._parts[read])

    def write(self) -> None:
        """Let each app write the changes of its handlers."""
        for part in self._parts.values():
            part.write()


# Takes the batch, the event and the id of the received event; runs inside a transaction.
EventHandler = Callable[[EventBatch, Event, int], Effect]
# Takes a workspace id and an event; returns in words the state of the event's rows
# ("order 12, status" → "PLACED"). Calls before and after an event show what it changes.
Snapshot = Callable[[int, Event], Mapping[str, str]]


# --- audit, doctor, recovery and personal data ---------------------------------------------------
@dataclass(frozen=True)
class Invariant:
    """A condition that must hold for each row at any instant."""

    name: str  # what is wrong with a row that breaks it, shown after the row's name
    broken: Q  # selects the rows that break it


@dataclass(frozen=True)
class CheckGroup:
    """Rows of one kind, counted twice: all together, and by part (I31)."""

    title: str
    rows: QuerySet[Any]  # rows of one workspace, with only the columns that `str(row)` needs
    parts: Mapping[str, Q]  # conditions by name; every row meets exactly one
    invariants: Sequence[Invariant] = ()
    # Yields the faults in documents of the given rows, which no query can find.
    walk: Callable[[QuerySet[Any], datetime], Iterable[Wrong]] | None = None


class Verdict(StrEnum):
    """The result of a check of `manage.py doctor`, the worst first."""

    FAILED = "failed"
    WARNING = "warning"
    NOT_CHECKED = "not checked"
    OK = "ok"


@dataclass(frozen=True)
class Finding:
    """The finding of one check of `manage.py doctor`."""

    name: str
    verdict: Verdict
    found: str  # what the check found, in a sentence
    remedy: str = ""  # what to do, or "" if there is nothing to do
    assumption: str = ""  # the assumption about the platform that it checks, if any (A1 …)


@dataclass(frozen=True)
class Recovery:
    """How the rows of an app are made to agree with the platform after a backup was restored."""

    # Makes the rows of a workspace due for a read, and prevents that changes in flight are sent
    # again; returns the number of rows. Called in a transaction, at most a few times.
    begin: Callable[[int, datetime], Counts]
    # Count the rows of workspaces that a worker has not read since then, or that wait for a person.
    unread: Callable[[Collection[int], datetime], Counts]
    for_people: Callable[[Collection[int], datetime], Counts]


@dataclass(frozen=True)
class FreeText:
    """Columns whose words none of our rules reads, so a name in them may be blanked (S23).

    States, keys, addresses, and values still to be sent are not free text. A person checks those.
    """

    model: type[Model]
    columns: tuple[str, ...]
    rows: Q = field(default_factory=Q)  # the rows in which they are free text


# --- programs and other systems ------------------------------------------------------------------
@dataclass(frozen=True)
class Scope:
    """One permission of a token: its name, such as "orders:read", and what it means."""

    name: str
    meaning: Text


@dataclass(frozen=True)
class MessageFacts:
    """What people read of a message in Slack or Teams, in the active language.

    Attributes:
        address: the address of the property, or what else names it.
        reference: of the property, "" if it has none.
        link: the address of our page about it, or "".
    """

    address: str
    reference: str
    status: str
    link: str


@dataclass(frozen=True)
class MessageKind:
    """A kind of message that another system can subscribe to."""

    name: str  # its `type`, such as "property.in_sync"
    text: Text  # when it is sent, for people
    # Takes a workspace id and the `data` of some messages; returns what a chat shows of each.
    facts: "Callable[[int, Sequence[Mapping[str, Any]]], Sequence[MessageFacts]] | None" = None


@dataclass(frozen=True)
class Trouble:
    """Something that is wrong, about which operators are alarmed.

    Attributes:
        kind: an `AlarmKind`.
        workspace_id: None if it is about the whole installation.
        key: names it among all of this kind.
        name: what people call it.
        page: the path of our page about it.
    """

    kind: str
    workspace_id: int | None
    key: str
    name: str
    text: Sentence
    page: str


@dataclass(frozen=True)
class AlarmReader:
    """A person who gets mails about alarms."""

    key: int
    mail: str
    language: str | None
    zone: ZoneInfo
    settings_page: str


# --- the overview and the pages of properties, each part only with its permission (S17) ----------
@dataclass(frozen=True)
class Tile:
    """One figure of the overview."""

    title: str
    value: int
    tone: str  # "good", "info", "warning" or "danger": the colour, which the text repeats
    link: str  # the admin page that lists the counted rows
    hint: str = ""

    @property
    def shown(self) -> str:
        """The figure, as people write it."""
        return number(self.value)


@dataclass(frozen=True)
class Attention:
    """One row that waits for a person: its state as a badge, why, where, since when."""

    badge: SafeString
    text: SafeString | str
    where: str = ""
    since: SafeString | str = ""
    link: str = ""  # its admin page; the line is hidden from people who may not open it (S17)
    remedy: str = ""  # what a person can do about it
    act: Text = OPEN  # the text of the button with the `link`
    next_try: SafeString | str = ""  # when it is tried again by itself; "" if it is not
    is_urgent: bool = False  # whether work is stalled because of it; shown first


class PropertyTab(StrEnum):
    """The tabs on the page of a property, in their order, by their part of the address."""

    OVERVIEW = "overview"
    DATA = "data"
    TEXTS = "texts"
    PICTURES = "pictures"
    ORDERS = "orders"
    HISTORY = "history"


@dataclass(frozen=True)
class Section:
    """A part of a tab of a property, beside the fields."""

    slug: str  # its part of the address
    title: Text
    count: int  # the number of things that it shows
    content: SafeString
    permission: str
    tab: PropertyTab
    media: Media = field(default_factory=Media)  # the styles and scripts that it needs


@dataclass(frozen=True)
class HeadFact:
    """A fact in the head of a property's page, such as its next appointment."""

    title: Text
    lines: Sequence[SafeString | str]
    permission: str


@dataclass(frozen=True)
class WorkspaceTab:
    """One more tab of a workspace, a page of an app (S17)."""

    title: Text
    page: str  # the name of its address, which takes the key of the workspace
    permission: str
    hint: Text = ""  # what a person does there before watch only ends, as a whole sentence


@dataclass(frozen=True)
class PropertyAction:
    """An action on chosen properties, in their list and on the page of one property."""

    name: str  # unique among the actions of the list
    label: Text  # on the page of one property
    label_of_many: Text  # in the list
    permission: str
    # Called only by POST, with the chosen rows.
    run: Callable[[HttpRequest, QuerySet[Any]], HttpResponse]


@dataclass(frozen=True)
class PropertyPictures:
    """The source of the pictures in a list of properties."""

    permission: str
    # Returns our own addresses by the primary keys of properties, in a constant number of queries.
    find: Callable[[Collection[int]], Mapping[int, str]]


@dataclass(frozen=True)
class PropertyFilter:
    """A filter of the list of properties by what another app knows of them."""

    parameter: str  # in the address
    title: Text
    permission: str
    # Value in the address → its name, and the condition on properties.
    conditions: Mapping[str, tuple[Text, Q]]


# --- the files in an export of properties ---------------------------------------------------------
class FileKind(StrEnum):
    """What a delivered file shows, in the order in which an export names the files."""

    PHOTO = "PHOTO"
    PLAN = "PLAN"
    FILM = "FILM"
    DOCUMENT = "DOCUMENT"


@dataclass(frozen=True)
class PropertyFile:
    """A stored file of a property."""

    kind: FileKind
    title: str  # what the platform calls it
    content_type: str
    size: int  # bytes
    stored_at: datetime
    names: Iterator[str]  # the names that it may have beside other files, the best first
    open: Callable[[], IO[bytes]]  # raises OSError if it cannot be read


@dataclass(frozen=True)
class FilesOfProperty:
    """The stored files of a property, and those that should be here."""

    stored: Sequence[PropertyFile]
    missing: Sequence[tuple[str, Sentence]]  # what the platform calls it, and why it is not here


@dataclass(frozen=True)
class PropertyFiles:
    """The source of the files in an export of properties."""

    permission: str
    # Takes the references of properties by their primary keys; returns the files of those that have
    # any, in a constant number of queries.
    find: Callable[[Mapping[int, str]], Mapping[int, FilesOfProperty]]


# --- all of it -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class AppHooks:
    """The hooks of one app. An `int` argument is a workspace id, a `datetime` is by our clock."""

    app: str  # its label; an app registers once
    # The queues on which the workers work.
    queues: Sequence[Queue] = ()
    # By event kind (§6.2), the one function that applies events of this kind. The kind
    # `events.OTHER` means events with an order and an unknown kind.
    event_handlers: Mapping[str, EventHandler] = field(default_factory=dict)
    # Return the state of the rows that an event concerns.
    snapshots: Sequence[Snapshot] = ()
    # Called when the address and credentials of a workspace were stored; when received events were
    # handled, with any outcome; with the callback ids of callbacks that could not be stored.
    after_connected: Sequence[Callable[[int, datetime], object]] = ()
    after_applied: Sequence[Callable[[int, datetime], object]] = ()
    after_missed: Sequence[Callable[[Collection[UUID], datetime], object]] = ()
    # Makes rows due that a hold put off, since the holds of the workspace have changed (I34).
    after_hold: Sequence[Callable[[int, datetime], object]] = ()
    # What would be sent first if watch only ended now: properties to create, and such.
    first_plans: Sequence[Callable[[int], Counts]] = ()
    # Returns whether any row of the app changed in a workspace since then.
    activity: Sequence[Callable[[int, datetime], bool]] = ()
    # Makes rows due whose changes a gap may have hidden; returns the number of rows.
    after_gap: Sequence[Callable[[int, datetime], int]] = ()
    # By workspace and moment: returns how many of these rows were not read since, and may change.
    unread_after_gap: Sequence[Callable[[Mapping[int, datetime]], Mapping[int, int]]] = ()
    # Returns the checks of a workspace as of then, for `manage.py audit`.
    integrity_checks: Sequence[Callable[[int, datetime], list[CheckGroup]]] = ()
    # Yields the findings of reads from the live platform, for `manage.py doctor`.
    live_checks: Sequence[Callable[[int, Live], Iterable[Finding]]] = ()
    recoveries: Sequence[Recovery] = ()
    # For the overview: the tiles, counted in the workspaces of this person; the newest few rows
    # that wait for a person; a part of the page for its reader, or "".
    tiles: Sequence[Callable[[Person], list[Tile]]] = ()
    attention: Sequence[Callable[[Person, datetime], list[Attention]]] = ()
    overview: Sequence[Callable[[HttpRequest, datetime], SafeString]] = ()
    # For the page of a property. The function gets the row.
    property_sections: Sequence[Callable[[Any, datetime], list[Section]]] = ()
    property_facts: Sequence[Callable[[Any, datetime], list[HeadFact]]] = ()
    property_actions: Sequence[PropertyAction] = ()
    workspace_tabs: Sequence[WorkspaceTab] = ()
    property_pictures: Sequence[PropertyPictures] = ()
    property_files: Sequence[PropertyFiles] = ()
    property_filters: Sequence[PropertyFilter] = ()
    api_scopes: Sequence[Scope] = ()
    message_kinds: Sequence[MessageKind] = ()  # docs/outgoing.md
    # Returns all that is wrong now; and who wants mail about a kind of alarm in a workspace, or in
    # none.
    troubles: Sequence[Callable[[datetime], Iterable[Trouble]]] = ()
    alarm_readers: Sequence[Callable[[str, int | None], Iterable[AlarmReader]]] = ()
    # Returns by name the parts that remove old rows in batches (S23).
    expired: Sequence[Callable[[datetime], Mapping[str, Part]]] = ()
    # The rows that a file of the configuration can have (docs/configuration.md); those that another
    # one names come after it.
    configuration: Sequence[ConfiguredRows] = ()
    # Returns the language of a person, as far as the app knows it, for what is mailed to them.
    languages: Sequence[Callable[[User], str | None]] = ()
    # Takes mail addresses; returns the language of each that is an account's, in lower case.
    mail_languages: Sequence[Callable[[Collection[str]], Mapping[str, str]]] = ()
    # The columns that may name people. `forget_person` changes only these.
    free_text: Sequence[FreeText] = ()


# Hooks whose names must be unique, and the noun for such a name.
UNIQUE = {
    **{"queues": "queue", "event_handlers": "event", "message_kinds": "message"},
    "configuration": "list of the configuration",
}

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


def language_of(person: User) -> str | None:
    """Return the language of a person, None if no app knows it."""
    known = (find(person) for find in _all.languages)
    return next(filter(None, known), None)


def queue(name: str) -> Any:
    """Return the `work.queues.RowQueue` with this name.

    Raises:
        KeyError: there is no such queue.
    """
    return {one.name: one for one in _all.queues}[name]


@contextmanager
def replaced(**parts: Any) -> Iterator[None]:
    """For tests: replace the named parts of `plugged()`, in every thread, within a `with` block.

    `replaced(event_handlers={})` removes all handlers. Other parts do not change. Apps that
    register within the block are removed at its end.
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
