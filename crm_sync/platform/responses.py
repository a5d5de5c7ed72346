"""Pure: a raw HTTP answer becomes a value or one of our errors (A4, A5, A8)."""

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from crm_sync.platform import error_body
from crm_sync.platform.clock import ClockReading
from crm_sync.platform.errors import (
    NOT_TAKEN,
    AuthError,
    ErrorKind,
    NotFoundError,
    RejectedError,
    Said,
    TransientError,
    kind_of_status,
    without_name,
)
from crm_sync.platform.redaction import NOTHING, Redactor
from crm_sync.text import clean, is_clean

RETRY_AFTER_LIMIT = 24 * 3600.0  # seconds; a longer pause is a mistake that somebody must look at


@dataclass(frozen=True)
class Answer:
    """A good answer of the platform.

    Attributes:
        status: the HTTP status, 2xx.
        document: the decoded JSON body, None when there was none (204).
        as_of: the platform's own clock when it cannot yet have looked (its `Date` less the time
            that the call took), or None without a `Date`; a read never counts as newer (I29).
        clock: the same beside our clock; None without a `Date`, and from a cache (`Age`).
        is_clean: the document holds nothing that no database of ours can store.
        location: where what was created is, by its header `Location`; "" without one.
    """

    status: int
    document: Any
    as_of: datetime | None
    clock: ClockReading | None = None
    is_clean: bool = field(default=False, compare=False)
    location: str = ""

    @property
    def cleaned(self) -> Any:
        """The document as every database of ours can store it (`text.clean`)."""
        return self.document if self.is_clean else clean(self.document)[0]


def read_answer(
    *,
    call: str,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    took: float,
    now: datetime,
    hide: Redactor = NOTHING,
) -> Answer:
    """Return the answer of `call` ("PATCH /v1/…"), or raise what it means.

    Args:
        took: seconds from sending to the last byte.
        now: our clock when the last byte was here.
        hide: takes our secrets out of all that the platform says.

    Raises:
        TransientError, RejectedError, NotFoundError, AuthError: as their docstrings say.
    """
    if 200 <= status < 300:
        theirs = http_date(headers.get("Date", ""))
        as_of = theirs - timedelta(seconds=took) if theirs else None
        clock = ClockReading(theirs, now, took) if theirs and "Age" not in headers else None
        document = _document(call, status, body, hide)
        location = headers.get("Location", "")
        return Answer(status, document, as_of, clock, is_clean(body), location)
    words, fields = error_body.read(body, hide, status=status)
    message = f"{call}: {status} {words}".rstrip()
    said: Said = {"kind": kind_of_status(status), "words": without_name(status, words)}
    if status in (401, 403):
        raise AuthError(message, expired=status == 401, **said)
    if status in (404, 410):
        raise NotFoundError(message, **said)
    # No word about what was sent: the address is wrong, or a proxy stands before the platform. A
    # list that is not offered may answer 405 alone.
    is_redirect = 300 <= status < 400
    is_elsewhere = is_redirect or (status in NOT_TAKEN and not call.startswith("GET "))
    if is_elsewhere or status in (408, 412, 423, 429) or status >= 500:
        raise TransientError(
            message,
            # Many servers redirect after a change that they have carried out. Only 307 and 308 ask
            # for the same call at another address (RFC 9110, 15.4).
            unclear=(is_redirect and status not in (307, 308)) or status == 408 or status >= 500,
            pauses=is_elsewhere or status in (429, 503),
            retry_after=_retry_after(headers.get("Retry-After", ""), now),
            **said,
        )
    raise RejectedError(message, status=status, fields=fields, **said)


def _document(call: str, status: int, body: bytes, hide: Redactor) -> Any:
    if not body.strip():
        return None
    try:
        return hide.document(json.loads(body, parse_constant=_no_number), body)
    except (ValueError, RecursionError) as error:
        # The effect has happened, only its description is unreadable.
        text = f"{call}: {status}, but the body is not JSON"
        raise TransientError(text, unclear=True, kind=ErrorKind.UNREADABLE) from error


def _no_number(word: str) -> None:
    """Refuse NaN and Infinity: Python reads them, JSON has none, and no database stores them."""
    raise ValueError(word)


@functools.lru_cache(maxsize=256)  # the many answers of one second say the same
def http_date(text: str) -> datetime | None:
    """Read the date of a header; None where it is none."""
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _retry_after(text: str, now: datetime) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        moment = http_date(text)
        seconds = (moment - now).total_seconds() if moment else math.nan
    return None if math.isnan(seconds) else min(max(0.0, seconds), RETRY_AFTER_LIMIT)
