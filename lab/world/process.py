"""What a simulated process does: it serves requests, takes messages, or beats.

Statements, commits, calls and messages are points at which it loses the processor.
"""

import gc
import io
import os
import re
import sqlite3
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from queue import Empty
from types import SimpleNamespace
from typing import Any, NoReturn

from django.conf import settings
from django.core.signals import got_request_exception
from django.db import OperationalError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from kombu.transport import TRANSPORT_ALIASES, virtual

from lab.world import runtime
from lab.world.channel import Channel as Pipe
from tests.wsgi import WsgiAdapter

BUSY = 20.0  # seconds for which a statement waits for SQLite's one writer, as in the settings
TIMEOUT = re.compile(r"PRAGMA busy_timeout ?= ?(\d+)")  # milliseconds
# Milliseconds until it asks again, as SQLite's busy handler does; then always the last one.
AGAIN = (1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100)
SLOTS = ("web", "beat", "worker-1", "worker-2")  # the processes of an installation
Environ = dict[str, Any]
Packed = tuple[Environ, bytes]
Answer = tuple[str, list[tuple[str, str]], bytes]


def point(kind: str, detail: Any = None, until: float | None = None) -> Any:
    """Lose the processor, if this is a simulated process."""
    return runtime.here.point(kind, detail, until) if runtime.here else None


class Channel(virtual.Channel):  # type: ignore[misc] # kombu has no types
    """The broker is the scheduler's, which may lose, repeat and delay each message."""

    def _put(self, queue: str, message: Any, **_: Any) -> None:
        if runtime.here and not point("publish", (queue, message)):
            raise ConnectionError("the broker is away")

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        raise Empty  # the scheduler hands messages to threads itself

    def _size(self, queue: str) -> int:
        size = point("size", queue) if runtime.here else 0
        if size is None:
            raise ConnectionError("the broker is away")
        return int(size)

    def _new_queue(self, queue: str, **_: Any) -> None: ...

    def _has_queue(self, queue: str, **_: Any) -> bool:
        return True

    def _purge(self, queue: str) -> int:
        return 0


class Transport(virtual.Transport):  # type: ignore[misc]
    """`world://`."""

    Channel = Channel
    connection_errors = (*virtual.Transport.connection_errors, ConnectionError)
    driver_type = driver_name = "world"


class WaitingConnection(sqlite3.Connection):
    """A connection that waits for the one writer in seconds of the world, and never for real."""

    patience = BUSY

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        """Run a statement; the time-out is ours."""
        if wanted := TIMEOUT.fullmatch(sql):
            self.patience = int(wanted[1]) / 1_000 or BUSY  # the settings of the world say 0
            return super().execute("PRAGMA busy_timeout")
        return super().execute(sql, *values)


def watch_connection(connection: Any, **_: Any) -> None:
    """Make each statement and each commit of a new connection a point."""
    if _statement in connection.execute_wrappers:  # it was closed, and opened again
        return
    connection.execute_wrappers.append(_statement)
    committing = connection._commit

    def commit() -> None:
        point("commit")
        committing()
        point("committed")

    connection._commit = commit


def leave_open(close: Callable[[Any], None]) -> Callable[[Any], None]:
    """Let a connection stay open that has no transaction: to open one takes as long as a push."""

    def closed(self: Any) -> None:
        opened = self.connection
        if runtime.here is None or opened is None or self.in_atomic_block or opened.in_transaction:
            close(self)

    return closed


def _statement(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
    if runtime.here is None or sql.startswith("PRAGMA"):
        return execute(sql, params, many, context)
    point("statement", "crm_sync_hold" if "crm_sync_hold" in sql else sql[:48])
    end = runtime.here.now + context["connection"].connection.patience
    for tried in count():
        try:
            return execute(sql, params, many, context)
        except OperationalError as error:
            if "locked" not in str(error) or runtime.here.now >= end:
                raise
        pause = AGAIN[min(tried, len(AGAIN) - 1)] / 1_000
        point("sleep", "the database is locked", runtime.here.now + pause)


def packed(environ: Environ) -> Packed:
    """Return a request that can go to another process: without its streams, and its body."""
    plain = {
        name: value for name, value in environ.items() if isinstance(value, str | bool | tuple)
    }
    return plain, environ["wsgi.input"].read()


def answer_of(application: Any, environ: Environ, content: bytes) -> Answer:
    """Let a WSGI application serve a packed request; return status line, headers and body."""
    started: list[Any] = []
    streams = {"wsgi.input": io.BytesIO(content), "wsgi.errors": sys.stderr}
    chunks = application(environ | streams, lambda *begun: started.append(begun[:2]))
    body = b"".join(chunks)
    if close := getattr(chunks, "close", None):
        close()
    status, headers = started[0]
    return status, headers, body


def call_out(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Send a call to the scheduler, which is the platform and every other host."""
    end = runtime.here.now + settings.CALL_DEADLINE if runtime.here else 0.0
    answer = point("call", packed(environ), end)
    if answer is None:
        raise TimeoutError
    status, headers, body = answer
    start_response(status, headers)
    return [body]


@contextmanager
def reading(path: Path, profile: Any) -> Iterator[Any]:
    """Read a feed in a fork: new interpreters would take a third of a play."""
    output, end = os.pipe()
    pid = os.fork()
    if pid == 0:
        _read(path.absolute(), profile, end)
    os.close(end)
    try:
        with os.fdopen(output, "rb") as lines:
            yield SimpleNamespace(stdout=lines, wait=lambda: 0)
    finally:
        os.waitpid(pid, 0)


def _read(path: Path, profile: Any, end: int) -> NoReturn:
    """Write the items of a feed, and end as its own process does."""
    from properties.feeds import child

    runtime.here = None
    with os.fdopen(end, "wb") as output:
        child.main(path, profile, output)
    os._exit(0)


def prepare() -> None:
    """Make Django ready, in the process from which all others are forked."""
    TRANSPORT_ALIASES["world"] = "lab.world.process:Transport"
    import django

    django.setup()
    options = settings.DATABASES["default"].setdefault("OPTIONS", {})
    options |= {"timeout": 0, "factory": WaitingConnection}
    connection_created.connect(watch_connection)
    BaseDatabaseWrapper.close = leave_open(BaseDatabaseWrapper.close)  # type: ignore[method-assign]
    # Imported now, and not by each process again.
    for name in (
        "config.celery",
        "config.wsgi",
        "config.urls",
        "crm_sync.tasks",
        "crm_sync.work.local",
        "django.contrib.messages.storage.fallback",
        "icalendar.timezone.zoneinfo",
        "orders.management.commands.settle_placement",
        "properties.feeds.child",
        "properties.management.commands.import_properties",
        "properties.management.commands.pull_properties",
    ):
        import_module(name)
    from django.urls import get_resolver

    get_resolver().url_patterns  # noqa: B018 - loads all views


def run(kind: str, channel: Pipe, name: str, seed: int, now: float, path: str) -> None:
    """Be a process of this kind until it is killed."""
    os.chdir(Path(path).parent)  # its name is another one in each play, so no story may know it
    runtime.become(runtime.Process(channel, name, seed, now))
    gc.disable()  # it lives for seconds, and a collection copies what it shares with the others
    from crm_sync.platform import outside, transport
    from properties.feeds import isolation

    isolation._process = reading
    connections.settings["default"]["NAME"] = path
    settings.DATA_DIR = Path(path).parent
    settings.STORAGES["materials"]["OPTIONS"]["location"] = str(settings.DATA_DIR / "materials")
    transport.MOUNTS = {"http": WsgiAdapter(call_out)}
    outside.Adapter = partial(WsgiAdapter, call_out)  # type: ignore[misc, assignment]
    process = runtime.here
    assert process
    process.adopt()
    try:
        KINDS[kind](name)
    except BaseException:
        channel.send((0, "crash", traceback.format_exc(), None))
        raise
    os._exit(0)


def _web(name: str) -> None:
    _jobs(threads=2)


def _worker(name: str) -> None:
    from crm_sync import permits
    from crm_sync.tasks import poll_at_once
    from crm_sync.work import heartbeat

    permits.share_connections()
    heartbeat.keep(heartbeat.Kind.WORKER, name)
    poll_at_once()
    connection.close()
    _jobs(threads=4)


def _beat(name: str) -> None:
    from crm_sync import tasks
    from crm_sync.work import heartbeat

    heartbeat.keep(heartbeat.Kind.BEAT, name)
    threading.Thread(target=tasks.watch, name="alarms", daemon=True).start()
    tasks.send_ticks()


KINDS: dict[str, Callable[[str], None]] = {"web": _web, "worker": _worker, "beat": _beat}


def _jobs(threads: int) -> None:
    for number in range(threads - 1):
        threading.Thread(target=_work, name=f"job-{number}", daemon=True).start()
    _work()


def _work() -> None:
    while True:
        kind, *arguments = point("idle")
        try:
            result = JOBS[kind](*arguments)
        except Exception:  # noqa: BLE001 - the scheduler judges it
            result = ("failed", traceback.format_exc())
        point("done", result)


def _task(name: str, args: list[Any]) -> Any:
    from celery import current_app

    try:
        current_app.tasks[name](*args)
        return ("returned",)
    finally:
        connection.close()


def _request(environ: Environ, content: bytes) -> Any:
    from config.wsgi import application

    failures: list[str] = []

    def failed(**_: Any) -> None:
        failures.append(traceback.format_exc())

    got_request_exception.connect(failed)
    status, headers, body = answer_of(application, environ, content)
    if status.startswith("500"):
        return ("failed", "".join(failures))
    return ("answered", int(status[:3]), headers, body)


def _command(*words: str) -> Any:
    from django.core.management import CommandError, call_command

    out = io.StringIO()
    try:
        call_command(*words, stdout=out, stderr=out)
    except SystemExit as ended:
        return ("ended", ended.code or 0, out.getvalue())
    except CommandError as error:
        return ("ended", error.returncode, str(error))
    return ("ended", 0, out.getvalue())


def _push_now(*references: str) -> Any:
    """Do what the action *Push and read now* of the list does; for all properties without names."""
    from django.utils import timezone

    from properties.domain.editing import due_now
    from properties.models import Property

    chosen = {"object_reference_id__in": references} if references else {}
    return ("ended", due_now(Property.objects.filter(**chosen), now=timezone.now()))


def _set_apart(reference: str) -> Any:
    """Say that the platform has no such property, as an agent does on the tab *Match* (I36)."""
    from django.utils import timezone

    from properties.domain.candidates import apart
    from properties.models import Property

    keys = Property.objects.filter(object_reference_id=reference).values_list("pk", "workspace")
    return ("ended", sum(apart(home, [key], now=timezone.now()) for key, home in keys))


def _send_again() -> Any:
    """Do what *Send again* in the list does, for all messages to programs that are pending."""
    from django.utils import timezone

    from crm_sync.models import OutgoingMessage, Subscription

    now, programs = timezone.now(), Subscription.objects.filter(format="JSON")
    waiting = OutgoingMessage.objects.filter(state="PENDING", subscription__in=programs)
    count = waiting.update(due_at=now, first_tried_at=None, attempts=0)
    programs.update(due_at=now)
    return ("ended", 0, count)


def _fetch_now() -> Any:
    """Do what *Fetch now* in the list of sources does."""
    from django.utils import timezone

    from properties.models import Source

    return ("ended", 0, Source.objects.update(is_asked=True, due_at=timezone.now()))


def _choose_mail(address: str, wanted: bool) -> Any:
    """Let a person want mail of all news, or of none, as on the page of their settings."""
    from django.utils import timezone

    from lab.world import mail

    mail.choose(address, wanted=wanted, now=timezone.now())
    return ("ended", 0)


def _take_callers(network: str) -> Any:
    """Let callbacks come from one network alone, as an operator does on the page of a workspace."""
    from crm_sync.models import Workspace

    Workspace.objects.filter(slug="main").update(callback_sources=network)
    return ("ended", 0)


def _set_owner(field: str, owner: str) -> Any:
    """Say who owns a field, as an operator does on the page of the rules."""
    from django.utils import timezone

    from crm_sync.models import Workspace
    from properties.domain.owner_change import set_owner
    from properties.merge import Owner

    main = Workspace.objects.get(slug="main")
    set_owner(main.pk, field, Owner[owner], now=timezone.now())
    return ("ended", 0)


def _allow(calls: int) -> Any:
    """Change how many calls a workspace may have under way."""
    from crm_sync.models import Workspace

    Workspace.objects.update(max_under_way=calls)
    return ("ended", 0)


def _lock(seconds: float) -> Any:
    """Hold SQLite's one write lock, as a backup or a person in a shell may do."""
    from django.db import transaction

    from crm_sync.models import Workspace

    with transaction.atomic():
        Workspace.objects.filter(slug="main").update(slug="main")
        point("sleep", "the lock is held", (runtime.here.now if runtime.here else 0.0) + seconds)
    return ("ended", 0)


JOBS: dict[str, Callable[..., Any]] = {
    "task": _task,
    "request": _request,
    "command": _command,
    "push now": _push_now,
    "send again": _send_again,
    "fetch now": _fetch_now,
    "set apart": _set_apart,
    "choose mail": _choose_mail,
    "take callers": _take_callers,
    "set owner": _set_owner,
    "allow": _allow,
    "lock": _lock,
}
