"""What each app plugs in, in one call: `register(AppHooks(…))` in its `AppConfig.ready`.

Hooks are in the order of INSTALLED_APPS, and within an app in the order of its call.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.utils.safestring import SafeString

from crm_sync.expiry import Part
from crm_sync.hooks.actions import PropertyAction
from crm_sync.hooks.doctor import Finding, Live
from crm_sync.hooks.handlers import EventHandler, Snapshot
from crm_sync.hooks.invariants import CheckGroup
from crm_sync.hooks.messages import MessageKind
from crm_sync.hooks.person import Person
from crm_sync.hooks.pictures import PropertyPictures
from crm_sync.hooks.queues import Queue
from crm_sync.hooks.recovery import Recovery
from crm_sync.hooks.scopes import Scope
from crm_sync.hooks.sections import Section
from crm_sync.hooks.texts import FreeText
from crm_sync.hooks.tiles import Attention, Tile


@dataclass(frozen=True)
class AppHooks:
    """What one app plugs in; an `int` argument is a workspace id, a `datetime` is by our clock.

    Attributes:
        app: its label; an app registers once.
        queues: its due work, which the workers do; no two queues have the same name.
        event_handlers: event kind (§6.2) to the one function that applies events of this kind;
            `events.OTHER`: events about an order whose kind we do not know.
        snapshots: what the app knows about the rows that an event is about; see `Snapshot`.
        after_connected: called when a workspace was given its address and credentials.
        after_applied: called when received events of a workspace were handled, whatever came of it.
        after_missed: called with the callback ids of callbacks that could not be stored.
        activity: returns whether anything of the app changed in a workspace since then.
        after_gap: makes due what a gap may have hidden in a workspace; returns how many rows.
        integrity_checks: returns the checks of a workspace as of then, for `manage.py audit`.
        live_checks: yields what a look at the live platform of a workspace shows, for `doctor`.
        recoveries: how its rows come to agree with the platform after a backup was restored.
        tiles: returns its tiles of the overview, counted in the workspaces of this person.
        attention: returns the newest few rows of these workspaces that wait for a person.
        overview: returns a part of the overview for whoever looks, "" where there is nothing.
        property_sections: returns what the app shows on the page of a property, whose row it gets.
        property_actions: what the app offers to do with properties.
        property_pictures: the pictures that the app has for a list of properties.
        api_scopes: what a token of the API may be allowed to do in the app.
        message_kinds: what the app tells other systems of (docs/outgoing.md).
        expired: returns what removes old rows, a batch at a time, by their name (S23).
        free_text: in which columns people may be named; `forget_person` changes no other.
    """

    app: str
    queues: Sequence[Queue] = ()
    event_handlers: Mapping[str, EventHandler] = field(default_factory=dict)
    snapshots: Sequence[Snapshot] = ()
    after_connected: Sequence[Callable[[int, datetime], object]] = ()
    after_applied: Sequence[Callable[[int, datetime], object]] = ()
    after_missed: Sequence[Callable[[Collection[UUID], datetime], object]] = ()
    activity: Sequence[Callable[[int, datetime], bool]] = ()
    after_gap: Sequence[Callable[[int, datetime], int]] = ()
    integrity_checks: Sequence[Callable[[int, datetime], list[CheckGroup]]] = ()
    live_checks: Sequence[Callable[[int, Live], Iterable[Finding]]] = ()
    recoveries: Sequence[Recovery] = ()
    tiles: Sequence[Callable[[Person], list[Tile]]] = ()
    attention: Sequence[Callable[[Person, datetime], list[Attention]]] = ()
    overview: Sequence[Callable[[HttpRequest, datetime], SafeString]] = ()
    property_sections: Sequence[Callable[[Any, datetime], list[Section]]] = ()
    property_actions: Sequence[PropertyAction] = ()
    property_pictures: Sequence[PropertyPictures] = ()
    api_scopes: Sequence[Scope] = ()
    message_kinds: Sequence[MessageKind] = ()
    expired: Sequence[Callable[[datetime], Mapping[str, Part]]] = ()
    free_text: Sequence[FreeText] = ()


_apps: tuple[str, ...] = ()
_all = AppHooks(app="")


def register(hooks: AppHooks) -> None:
    """Add the hooks of an app after those of the apps before it.

    Raises:
        ImproperlyConfigured: the app is registered already, or another app has a queue of the same
            name or a handler for the same event kind.
    """
    global _apps, _all  # noqa: PLW0603 - the one place that keeps them
    if hooks.app in _apps:
        raise ImproperlyConfigured(f"the app {hooks.app!r} registers twice")
    _all = _joined(_all, hooks)
    _apps = (*_apps, hooks.app)


def hooks() -> AppHooks:
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
    """For tests: replace the named parts of `hooks()`, in every thread, within a `with` block.

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


def _joined(known: AppHooks, new: AppHooks) -> AppHooks:
    names = [one.name for one in (*known.queues, *new.queues)]
    _refuse_taken(new.app, "the queue", names)
    _refuse_taken(new.app, "the event", [*known.event_handlers, *new.event_handlers])
    kinds = [one.name for one in (*known.message_kinds, *new.message_kinds)]
    _refuse_taken(new.app, "the message", kinds)
    return AppHooks(
        app="",
        queues=(*known.queues, *new.queues),
        event_handlers={**known.event_handlers, **new.event_handlers},
        snapshots=(*known.snapshots, *new.snapshots),
        after_connected=(*known.after_connected, *new.after_connected),
        after_applied=(*known.after_applied, *new.after_applied),
        after_missed=(*known.after_missed, *new.after_missed),
        activity=(*known.activity, *new.activity),
        after_gap=(*known.after_gap, *new.after_gap),
        integrity_checks=(*known.integrity_checks, *new.integrity_checks),
        live_checks=(*known.live_checks, *new.live_checks),
        recoveries=(*known.recoveries, *new.recoveries),
        tiles=(*known.tiles, *new.tiles),
        attention=(*known.attention, *new.attention),
        overview=(*known.overview, *new.overview),
        property_sections=(*known.property_sections, *new.property_sections),
        property_actions=(*known.property_actions, *new.property_actions),
        property_pictures=(*known.property_pictures, *new.property_pictures),
        api_scopes=(*known.api_scopes, *new.api_scopes),
        message_kinds=(*known.message_kinds, *new.message_kinds),
        expired=(*known.expired, *new.expired),
        free_text=(*known.free_text, *new.free_text),
    )


def _refuse_taken(app: str, what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ImproperlyConfigured(f"the app {app!r} brings {what} {name!r}, which is taken")
