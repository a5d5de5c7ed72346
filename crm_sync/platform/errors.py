"""What can go wrong with a remote call: four classes, one reaction each.

    SyncError
    ├── TransientError  try again later (3xx, 408, 412, 423, 429, 5xx); the row's `due_at` moves
    ├── RejectedError   a person must change something first (400, 409, 422, …)
    ├── NotFoundError   the platform has no such thing (404, 410)
    └── AuthError       the credentials are wrong or too weak (401, 403)

The platform's own words stay in the message; what a caller acts on is an attribute.
"""

from dataclasses import dataclass

# What is said of a call without a good answer, behind "GET https://…: ".
CANNOT_CONNECT = "cannot connect"
NOT_IN_TIME = "no whole answer within"
NO_ANSWER = "no answer"
BAD_CERTIFICATE = "the certificate is not accepted"
TOO_MUCH = "the answer is larger than"
# Statuses of a server that does not take such a call there, whatever is in it.
NOT_TAKEN = (405, 415)
# Of a workspace that cannot make a call.
NO_CREDENTIALS = "has no credentials"


class SyncError(Exception):
    """Base of all errors of a remote call."""


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
    ) -> None:
        super().__init__(message)
        self.unclear = unclear
        self.pauses = pauses
        self.retry_after = retry_after


@dataclass(frozen=True)
class FieldError:
    """One field that the platform refused: its path in wire names ("" when it named none)."""

    path: str
    message: str


class RejectedError(SyncError):
    """The platform understood the call and said no; repeating it unchanged is pointless.

    Attributes:
        status: the HTTP status; 409 means that the state does not allow it (A5).
        words: what the platform said; "" where we refused by ourselves.
        fields: the fields that the platform named (A4), perhaps none.
    """

    def __init__(
        self, message: str, *, status: int, words: str = "", fields: tuple[FieldError, ...] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.words = words
        self.fields = fields


class NotFoundError(SyncError):
    """The platform has no such thing (404), or has it no longer (410)."""


class AuthError(SyncError):
    """The platform refused our credentials (401), or they do not reach this far (403).

    Attributes:
        expired: a fresh token may help (401, A6).
    """

    def __init__(self, message: str, *, expired: bool = False) -> None:
        super().__init__(message)
        self.expired = expired
