"""One id for a request, the task that it rings for, the row, and the call to the platform.

Each line of the log and each stored call has it (`config.logs`, `models.platform_call`). The id of
a callback comes from its bytes. So the worker that applies it, and the read of its order, have the
same id without a column for it.
"""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

LENGTH = 32  # hex digits of our own ids, as of the trace ids of W3C Trace Context
_HARMLESS = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


@dataclass(frozen=True)
class Trace:
    """The current work of this thread.

    Attributes:
        id: "" if no work has begun.
        about: the row in progress, such as "properties.property:17".
        attempt: the number of the attempt, from 1; 0 without a row.
    """

    id: str = ""
    about: str = ""
    attempt: int = 0


_current: ContextVar[Trace] = ContextVar("trace", default=Trace())  # noqa: B039 - it is frozen


def current() -> Trace:
    """Return the current work of this thread."""
    return _current.get()


def begin(key: str = "", *, about: str = "", attempt: int = 0) -> None:
    """Set the work of this thread, with a new id if none is given."""
    _current.set(Trace(key or new(), about, attempt))


def rename(key: str) -> None:
    """Change the id, with the same row."""
    _current.set(replace(_current.get(), id=key))


def end() -> None:
    """Set that this thread has no work."""
    _current.set(Trace())


@contextmanager
def under(key: str) -> Iterator[None]:
    """Use this id within a `with` block."""
    before = _current.set(replace(_current.get(), id=key))
    try:
        yield
    finally:
        _current.reset(before)


def new() -> str:
    """Return a new, unique id."""
    return secrets.token_hex(LENGTH // 2)


def of_digest(digest: str) -> str:
    """Return the id of a callback by the SHA-256 of its bytes."""
    return digest[:LENGTH]


def taken(given: str) -> str:
    """Return the id that a caller sent if it is harmless, else a new one (S4)."""
    return given if _HARMLESS.fullmatch(given) else new()
