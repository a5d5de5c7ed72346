"""Pure: turn a raw HTTP answer into a value or one of our errors (A4, A5, A8)."""

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

# A read may come from a copy of the platform's data that lags behind. What contradicts a younger
# event (I23) or call of ours (I4) is read again.
LAG = timedelta(seconds=10)
RETRY_AFTER_LIMIT = 24 * 3600.0  # seconds; a longer pause is a mistake of the platform


@dataclass(frozen=True)
class Answer:
    """A good answer of the platform.

    Attributes:
        status: the HTTP status, 2xx.
        document: the decoded JSON body, or None when there was none (204).
        as_of: a time on the platform's clock before it read its data: its `Date` less the time
            that the call took. None without a `Date`. So a read never counts as too new (I29).
        clock: the reading of the clock; None without a `Date`, and from a cache (`Age`).
        is_clean: whether every database of ours can store the document as it is.
        location: the header `Location` with the address of a created object, or "".
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
    """Return the answer of `call` ("PATCH /v1/…"), or raise the error that it means.

    Args:
        took: seconds from sending to the last byte.
        now: our clock when the last byte arrived.
        hide: removes our secrets from the texts and documents of the platform.

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
    # These do not concern the content: the address is wrong, or a proxy has answered. A GET is
    # exempt, because a list that the platform does not offer may answer 405.
    is_redirect = 300 <= status < 400
    is_elsewhere = is_redirect or (status in NOT_TAKEN and not call.startswith("GET "))
    if is_elsewhere or status in (408, 412, 423, 429) or status >= 500:
        raise TransientError(
            message,
            # Many servers redirect after a change that they have carried out. Only 307 and 308
            # request the same call at another address (RFC 9110, 15.4).
            unclear=(is_redirect and status not in (307, 308)) or status == 408 or status >= 500,
            pauses=is_elsewhere or status in (429, 503),
            retry_after=retry_after(headers, now),
            **said,
        )
    raise RejectedError(message, status=status, fields=fields, **said)


def _document(call: str, status: int, body: bytes, hide: Redactor) -> Any:
    if not body.strip():
        return None
    try:
        read = json.loads(body, parse_constant=_no_number, parse_float=_finite)
        return hide.document(read, body)
    except (ValueError, RecursionError) as error:
        # The call has had its effect, only its description is unreadable.
        text = f"{call}: {status}, but the body is not JSON"
        raise TransientError(text, unclear=True, kind=ErrorKind.UNREADABLE) from error


def _no_number(word: str) -> None:
    """Refuse NaN and Infinity: Python reads them, but JSON and the databases do not have them."""
    raise ValueError(word)


def _finite(number: str) -> float | str:
    """Leave 1e400 a text: it is JSON, but as the infinite float no database could store it."""
    value = float(number)
    return value if math.isfinite(value) else number


@functools.lru_cache(maxsize=256)  # all answers of one second have the same date
def http_date(text: str) -> datetime | None:
    """Read the date of a header, or return None if it is not a date."""
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds of `Retry-After`, which names them or a date; None if it says neither.

    A date is by the clock of whoever answered, which their `Date` shows (I29).
    """
    text = headers.get("Retry-After", "")
    try:
        seconds = float(text)
    except ValueError:
        moment = http_date(text)
        theirs = http_date(headers.get("Date", "")) or now
        seconds = (moment - theirs).total_seconds() if moment else math.nan
    return None if math.isnan(seconds) else min(max(0.0, seconds), RETRY_AFTER_LIMIT)
