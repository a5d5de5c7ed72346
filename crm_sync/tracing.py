"""One id for a request, the task that it rings for, the row, and the call to the platform.

Each line of the log and each stored call has it (`config.logs`, `models.platform_call`). The id of
a callback comes from its bytes. So the worker that applies it, and the read of its order, have the
same id without a column for it.

With a recorder (`observing.recording`) the same work is recorded as spans of OpenTelemetry, and the
id is that of their trace (decision 37). Where work goes on elsewhere, a `traceparent` of W3C Trace
Context names the span that caused it: in calls, in messages of the broker, and in two tables.
"""

import hashlib
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

LENGTH = 32  # hex digits of our own ids, as of the trace ids of W3C Trace Context
HEADER = "traceparent"  # of a call, and of a message of the broker
SAMPLED = 1  # the flag of a span that is recorded
_HARMLESS = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
# A later version may add fields behind those of version 00.
_TRACEPARENT = re.compile(
    r"(?:00|(?P<later>(?!00|ff)[0-9a-f]{2}))-(?P<id>(?!0{32})[0-9a-f]{32})"
    r"-(?P<span>(?!0{16})[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(?(later)(?:-.*)?)"
)


@dataclass(frozen=True)
class Trace:
    """The current work of this thread.

    Attributes:
        id: "" if no work has begun.
        about: the row in progress, such as "properties.property:17".
        attempt: the number of the attempt, from 1; 0 without a row.
        span: the id of the span that is open, or of one elsewhere that caused this work; "" if
            nothing is recorded.
        parent: the recorded span before the open one, or `span` if that is not open here.
    """

    id: str = ""
    about: str = ""
    attempt: int = 0
    span: str = ""
    parent: str = ""

    @property
    def is_recorded(self) -> bool:
        """Whether the spans of this work are recorded."""
        if _recorder is None or not self.span:
            return False
        return bool(self.parent) or _recorder.is_sampled(trace_id(self.id))

    @property
    def traceparent(self) -> str:
        """The `traceparent` of what this work causes, "" if nothing is recorded here."""
        if _recorder is None or not self.span:
            return ""
        return f"00-{trace_id(self.id)}-{self.span}-{SAMPLED if self.is_recorded else 0:02x}"


class SpanKind(StrEnum):
    """The side of a span, by the names of OpenTelemetry."""

    SERVER = "SERVER"
    CLIENT = "CLIENT"
    CONSUMER = "CONSUMER"


@dataclass
class Span:
    """One piece of work that is recorded when it ends.

    Attributes:
        name: "" if it is not worth a record.
        trace: its own id is `trace.span`.
        began, ended: nanoseconds since 1970.
        error: the kind of the failure, never its text; "" if there was none.
    """

    name: str
    kind: SpanKind
    trace: Trace
    began: int
    ended: int = 0
    attributes: dict[str, str | int] = field(default_factory=dict)
    error: str = ""


class Recorder(Protocol):
    """Takes the spans that have ended."""

    def is_sampled(self, trace: str) -> bool:
        """Return whether a trace that begins here is recorded, by its id."""

    def record(self, span: Span) -> None:
        """Take a span. It must not wait."""


_current: ContextVar[Trace] = ContextVar("trace", default=Trace())  # noqa: B039 - it is frozen
_recorder: Recorder | None = None


def current() -> Trace:
    """Return the current work of this thread."""
    return _current.get()


def begin(key: str = "", *, cause: str = "") -> None:
    """Set the work of this thread, with a new id if none is given.

    Args:
        cause: the `traceparent` of the span that caused it; see `after`.
    """
    found = _after(Trace(key), cause)
    _current.set(found if found.id else replace(found, id=new()))


def work_on(about: str, attempt: int) -> None:
    """Set the row in progress; the id stays, or is a new one if there is none."""
    now = _current.get()
    _current.set(replace(now, id=now.id or new(), about=about, attempt=attempt))


def rename(key: str, cause: str = "") -> None:
    """Change the id, and what caused the work that goes on, with the same row and open span."""
    now = _current.get()
    is_open = now.span != now.parent
    found = _after(replace(now, id=key, span="", parent=""), cause)
    _current.set(replace(found, span=now.span) if is_open else found)


def end() -> None:
    """Set that this thread has no work."""
    _current.set(Trace())


@contextmanager
def kept() -> Iterator[None]:
    """Go on with the current work after a `with` block, whatever begins in it."""
    before = _current.get()
    try:
        yield
    finally:
        _current.set(before)


@contextmanager
def under(key: str) -> Iterator[None]:
    """Use this id within a `with` block, and record nothing of it as part of the open span."""
    with kept():
        _current.set(replace(_current.get(), id=key, span="", parent=""))
        yield


@contextmanager
def after(cause: str | None) -> Iterator[None]:
    """Let a `with` block be the work that the span of a `traceparent` caused.

    Nothing changes if it is not well-formed, or if that span is not recorded.
    """
    with kept():
        _current.set(_after(_current.get(), cause))
        yield


def _after(trace: Trace, cause: str | None) -> Trace:
    found = _TRACEPARENT.fullmatch(cause) if cause and _recorder is not None else None
    if found is None or not int(found["flags"], 16) & SAMPLED:
        return trace
    key = trace.id if trace.id and trace_id(trace.id) == found["id"] else found["id"]
    return replace(trace, id=key, span=found["span"], parent=found["span"])


def new() -> str:
    """Return a new, unique id."""
    return secrets.token_hex(LENGTH // 2)


def of_digest(digest: str, cause: str | None = None) -> str:
    """Return the id of a callback by the SHA-256 of its bytes.

    Args:
        cause: the `traceparent` of its row. It names another trace if the platform brought one.
    """
    return cause.split("-")[1] if cause else digest[:LENGTH]


def taken(given: str) -> str:
    """Return the id that a caller sent if it is harmless, else a new one (S4)."""
    return given if _HARMLESS.fullmatch(given) else new()


def trace_id(key: str) -> str:
    """Return the trace id of OpenTelemetry for an id: the same, if it has that form."""
    if _TRACE_ID.fullmatch(key):
        return key
    return hashlib.sha256(key.encode()).hexdigest()[:LENGTH]


def record_with(recorder: Recorder | None) -> None:
    """Let a recorder take all spans of this process from now on; None takes none."""
    global _recorder  # noqa: PLW0603 - of this process
    _recorder = recorder


def is_recording() -> bool:
    """Return whether this process records spans."""
    return _recorder is not None


def opened(name: str, kind: SpanKind) -> Span:
    """Return a span that begins now, for the current work."""
    before = _current.get()
    mine = replace(
        before,
        id=before.id or new(),
        span=secrets.token_hex(8),
        parent=before.span if before.is_recorded else "",
    )
    return Span(name, kind, mine, time.time_ns())


def close(span: Span) -> None:
    """End a span and record it."""
    span.ended = time.time_ns()
    if _recorder is not None and span.name and span.trace.is_recorded:
        _recorder.record(span)


@contextmanager
def recorded(name: str, kind: SpanKind) -> Iterator[Span | None]:
    """Record a `with` block as a span, which the block may describe; None if nothing is recorded.

    The id of the block stays after it.
    """
    if _recorder is None:
        yield None
        return
    with inside(opened(name, kind)) as span:
        yield span


@contextmanager
def inside(span: Span) -> Iterator[Span]:
    """Let a `with` block be the work of an open span, and end it; `rename` moves it, too."""
    before = _current.get()
    _current.set(span.trace)
    try:
        yield span
    except BaseException as error:
        span.error = span.error or type(error).__name__
        raise
    finally:
        span.trace = _current.get()
        _current.set(replace(span.trace, span=before.span, parent=before.parent))
        close(span)
