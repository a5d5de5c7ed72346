"""What each app plugs in, said in one call: `register(AppHooks(…))` in its `AppConfig.ready`.

The order is that of INSTALLED_APPS; within an app it is that of its call.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured

from crm_sync.hooks.handlers import EventHandler, Snapshot
from crm_sync.hooks.invariants import CheckGroup
from crm_sync.hooks.tiles import Attention, Tile
from crm_sync.jobs.due import Queue


@dataclass(frozen=True)
class AppHooks:
    """What one app plugs in; workspaces are given by their id, and `now` is our clock.

    Attributes:
        app: its label; each app registers once.
        queues: what the workers do for it; their names are unique.
        event_handlers: event kind (§6.2) → the one function that applies such events.
        snapshots: what it knows of the rows that an event is about; see `Snapshot`.
        after_applied: called after received events of a workspace were applied, in any state.
        after_missed: called with the callback ids of callbacks that could not be stored.
        activity: whether anything of the app has changed in a workspace since a moment.
        after_gap: reads again in a workspace what a gap may hide; how many things that are.
        integrity_checks: the checks of a workspace as of a moment; `manage.py audit` reads them.
        tiles: its figures on the overview.
        attention: what waits for a person: the newest few, with one query each.
    """

    app: str
    queues: Sequence[Queue] = ()
    event_handlers: Mapping[str, EventHandler] = field(default_factory=dict)
    snapshots: Sequence[Snapshot] = ()
    after_applied: Sequence[Callable[[int, datetime], object]] = ()
    after_missed: Sequence[Callable[[Collection[UUID], datetime], object]] = ()
    activity: Sequence[Callable[[int, datetime], bool]] = ()
    after_gap: Sequence[Callable[[int, datetime], int]] = ()
    integrity_checks: Sequence[Callable[[int, datetime], list[CheckGroup]]] = ()
    tiles: Sequence[Callable[[], list[Tile]]] = ()
    attention: Sequence[Callable[[datetime], list[Attention]]] = ()


_apps: tuple[str, ...] = ()
_all = AppHooks(app="")


def register(hooks: AppHooks) -> None:
    """Plug in what an app brings, behind that of the apps before it.

    Raises:
        ImproperlyConfigured: the app has registered already, or a queue or an event kind of it is
            taken.
    """
    global _apps, _all  # noqa: PLW0603 - the one place that holds them
    if hooks.app in _apps:
        raise ImproperlyConfigured(f"the app {hooks.app!r} registers twice")
    _all = _joined(_all, hooks)
    _apps = (*_apps, hooks.app)


def hooks() -> AppHooks:
    """Return what all apps have plugged in, in their order."""
    return _all


def queue(name: str) -> Queue:
    """Return the queue of this name.

    Raises:
        KeyError: there is none.
    """
    return {one.name: one for one in _all.queues}[name]


@contextmanager
def replaced(**parts: Any) -> Iterator[None]:
    """For tests: let the named parts of `hooks()` be these, in every thread, while this lasts.

    `replaced(event_handlers={})` leaves no handler; what is not named stays as it is. What is
    registered meanwhile is forgotten at the end.
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
    return AppHooks(
        app="",
        queues=(*known.queues, *new.queues),
        event_handlers={**known.event_handlers, **new.event_handlers},
        snapshots=(*known.snapshots, *new.snapshots),
        after_applied=(*known.after_applied, *new.after_applied),
        after_missed=(*known.after_missed, *new.after_missed),
        activity=(*known.activity, *new.activity),
        after_gap=(*known.after_gap, *new.after_gap),
        integrity_checks=(*known.integrity_checks, *new.integrity_checks),
        tiles=(*known.tiles, *new.tiles),
        attention=(*known.attention, *new.attention),
    )


def _refuse_taken(app: str, what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ImproperlyConfigured(f"the app {app!r} brings {what} {name!r}, which is taken")
