"""The errors of a remote call: five classes, one reaction each.

    SyncError
    ├── TransientError  try again later (3xx, 408, 412, 423, 429, 5xx); the row's `due_at` moves
    ├── RejectedError   a person must change something first (400, 409, 422, …)
    ├── NotFoundError   the platform has no such thing (404, 410)
    ├── AuthError       the credentials are wrong or too weak (401, 403)
    └── OnHold          a person holds such calls: it was not sent (I34)

The message contains the platform's own words. A caller decides by the attributes. An error is
stored as a `Problem`, and `problems.explain` words it for people.
"""

import http.client
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Self, TypedDict, Unpack

from crm_sync.sentence import LONGEST, Sentence
from crm_sync.text import clean

# Statuses of a server that refuses such a call at this address, whatever its content is.
NOT_TAKEN = (405, 415)


class ErrorKind(StrEnum):
    """What went wrong."""

    UNREACHABLE = "UNREACHABLE"
    SLOW = "SLOW"
    BROKEN_OFF = "BROKEN_OFF"
    BAD_CERTIFICATE = "BAD_CERTIFICATE"
    UNREADABLE = "UNREADABLE"
    ELSEWHERE = "ELSEWHERE"
    LOCKED = "LOCKED"
    BUSY = "BUSY"
    DOWN = "DOWN"
    NO_CREDENTIALS = "NO_CREDENTIALS"
    UNAUTHORIZED = "UNAUTHORIZED"
    FORBIDDEN = "FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    NOT_ALLOWED = "NOT_ALLOWED"
    TOO_LARGE = "TOO_LARGE"
    REFUSED = "REFUSED"
    OTHER = "OTHER"  # the text is our own sentence


_STATUSES = {
    401: ErrorKind.UNAUTHORIZED,
    403: ErrorKind.FORBIDDEN,
    404: ErrorKind.NOT_FOUND,
    410: ErrorKind.NOT_FOUND,
    **dict.fromkeys(NOT_TAKEN, ErrorKind.ELSEWHERE),
    408: ErrorKind.SLOW,
    409: ErrorKind.NOT_ALLOWED,
    412: ErrorKind.LOCKED,
    413: ErrorKind.TOO_LARGE,
    423: ErrorKind.LOCKED,
    429: ErrorKind.BUSY,
    504: ErrorKind.SLOW,
}


def kind_of_status(status: int) -> ErrorKind:
    """Return the kind of an answer with this status, which is not 2xx."""
    if status < 400:
        return ErrorKind.ELSEWHERE
    return _STATUSES.get(status, ErrorKind.DOWN if status >= 500 else ErrorKind.REFUSED)


def without_name(status: int, words: str) -> str:
    """Return the platform's words without the HTTP name of the status."""
    name = http.client.responses.get(status, "")
    return "; ".join(part for part in words.split("; ") if part != name)


class Problem(Sentence):
    """An error as it is stored: the text for an operator, with its kind.

    Attributes:
        kind: what it means.
        words: the platform's words about it, or "".
    """

    __slots__ = ("kind", "words")
    kind: ErrorKind
    words: str

    def __new__(cls, text: str = "", kind: ErrorKind = ErrorKind.OTHER, words: str = "") -> Self:
        """Cut both texts to the length that is stored."""
        made = super().__new__(cls, text)
        made.kind, made.words = kind, clean(words)[0][:LONGEST]
        return made

    @classmethod
    def of(cls, stored: "str | dict[str, Any]") -> Self:
        """Return the problem that was stored in this form. A plain text is our own sentence."""
        if isinstance(stored, cls):
            return stored
        if isinstance(stored, str) or "kind" not in stored:
            return cls(Sentence.of(stored))
        return cls(stored["text"], ErrorKind(stored["kind"]), stored["words"])

    @property
    def stored(self) -> "str | dict[str, Any]":
        """The form for a JSON column. Our own sentence is stored without a kind."""
        if self.kind is ErrorKind.OTHER:
            return super().stored
        return {"kind": self.kind.value, "words": self.words, "text": format(self)}


class Said(TypedDict, total=False):
    """Arguments of each error of a remote call; see `SyncError`."""

    kind: ErrorKind
    words: str


class SyncError(Exception):
    """Base of all errors of a remote call.

    Attributes:
        kind: what went wrong.
        words: the platform's words about it, or "" if we refused the call ourselves.
    """

    def __init__(self, message: str, *, kind: ErrorKind = ErrorKind.OTHER, words: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.words = words


def problem_of(error: Exception) -> Problem:
    """Return an error as it is stored. The text of an error of our own code may be a problem."""
    text = str(error) or type(error).__name__
    if isinstance(error, SyncError):
        return Problem(text, error.kind, error.words)
    return Problem.of(text)


class TransientError(SyncError):
    """The platform could not be reached or is busy: the same call may succeed later.

    Attributes:
        unclear: the call may have had its effect although no good answer came.
        pauses: the whole workspace should wait, not just this row (A8: 429 and 503; a redirect).
        retry_after: seconds the platform asked us to wait, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        unclear: bool,
        pauses: bool = False,
        retry_after: float | None = None,
        **said: Unpack[Said],
    ) -> None:
        super().__init__(message, **said)
        self.unclear = unclear
        self.pauses = pauses
        self.retry_after = retry_after


@dataclass(frozen=True)
class FieldError:
    """One field that the platform refused: its path in wire names ("" when it named none)."""

    path: str
    message: str


class RejectedError(SyncError):
    """The platform refused the call, and would refuse the same call again.

    Attributes:
        status: the HTTP status; 409 means that the state does not allow it (A5).
        fields: the fields that the platform named, if any (A4).
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        fields: tuple[FieldError, ...] = (),
        **said: Unpack[Said],
    ) -> None:
        super().__init__(message, **said)
        self.status = status
        self.fields = fields


class NotFoundError(SyncError):
    """The platform has no such thing (404), or has it no longer (410)."""


class AuthError(SyncError):
    """The platform refused our credentials (401), or they do not reach this far (403).

    Attributes:
        expired: a fresh token may help (401, A6).
    """

    def __init__(self, message: str, *, expired: bool = False, **said: Unpack[Said]) -> None:
        super().__init__(message, **said)
        self.expired = expired


class OnHold(SyncError):
    """A person holds this kind of work, so the call was not sent (I34).

    Attributes:
        until: when to try again, if nobody resumes it before.
    """

    def __init__(self, message: str, *, until: datetime) -> None:
        super().__init__(message)
        self.until = until
