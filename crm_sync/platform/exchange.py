"""Pure: one call to the platform, for the log and for the doctor.

It holds the raw status, headers and bytes, from which the client makes values and errors.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from crm_sync.platform.errors import (
    AuthError,
    NotFoundError,
    Problem,
    RejectedError,
    SyncError,
    problem_of,
)
from crm_sync.platform.redaction import Redactor
from crm_sync.text import clean

_OF_SECRETS = "/auth/token"  # the request and the answer of this call contain secrets


class Result(StrEnum):
    """The result of a call."""

    OK = "ok"
    NOT_FOUND = "not_found"
    REFUSED = "refused"
    AUTH = "not_allowed"
    BUSY = "busy"
    FAILED = "failed"
    NO_ANSWER = "no_answer"


_OF_ERRORS = (
    (NotFoundError, Result.NOT_FOUND),
    (RejectedError, Result.REFUSED),
    (AuthError, Result.AUTH),
)


@dataclass(frozen=True)
class Exchange:
    """One request and its answer.

    Attributes:
        path: with the path of the base address, without host and query.
        query: the parameters behind the `?`.
        sent: the JSON document of the request, or None.
        status: of the answer, or None if there was no answer.
        headers, body: of the answer, unchanged, so that they may contain secrets.
        took: seconds.
        error: the error that the answer means, or why there is none; None for a good answer.
        hide: removes our secrets.
    """

    method: str
    path: str
    query: Mapping[str, Any]
    sent: Any
    status: int | None
    headers: Mapping[str, str]
    body: bytes
    took: float
    error: SyncError | None
    hide: Redactor

    @property
    def result(self) -> Result:
        """The result of the call."""
        if self.error is None:
            return Result.OK
        for kind, result in _OF_ERRORS:
            if isinstance(self.error, kind):
                return result
        if self.status is None:
            return Result.NO_ANSWER
        return Result.BUSY if self.status in (429, 503) else Result.FAILED

    @property
    def document(self) -> Any:
        """The JSON of the answer with clean texts, or None if the body is not JSON."""
        try:
            return clean(json.loads(self.body))[0]
        except (ValueError, RecursionError):
            return None

    def address(self, limit: int) -> str:
        """Return path and query for people, masked and cut (S5)."""
        query = "&".join(f"{name}={value}" for name, value in self.query.items())
        return self._text(f"{self.path}?{query}" if query else self.path, limit)

    def bodies(self, limit: int) -> dict[str, str]:
        """Return the bodies `sent` and `answer` for people, masked and cut (S5)."""
        if self.path.endswith(_OF_SECRETS):
            return {"sent": "", "answer": ""}
        sent = b"" if self.sent is None else json.dumps(self.sent).encode()
        return {"sent": self._body(sent, limit), "answer": self._body(self.body, limit)}

    def problem(self, limit: int) -> Problem:
        """Return what went wrong, masked and cut; empty for a good answer."""
        if self.error is None:
            return Problem()
        masked = self.hide.problem(problem_of(self.error))
        return Problem(self._cut(masked, limit), masked.kind, masked.words[:limit])

    def _body(self, body: bytes, limit: int) -> str:
        """Return a body as text. In JSON, secrets are masked in the decoded values."""
        try:
            shown = self.hide.shown(json.loads(body))
        except (ValueError, RecursionError):
            return self._text(body.decode("utf-8", "replace"), limit)
        return self._text(json.dumps(shown, ensure_ascii=False), limit)

    def _text(self, text: str, limit: int) -> str:
        # Cut last: half a secret would not be recognised.
        return self._cut(clean(self.hide.text(text))[0], limit)

    def _cut(self, text: str, limit: int) -> str:
        return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


Observer = Callable[[Exchange], object]
