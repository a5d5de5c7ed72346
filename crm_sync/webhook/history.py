"""Pure: what two readings of the trigger history and of the configuration show (§2.1, §2.2)."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from crm_sync.platform.events import NotUnderstood, canonical_digest, parse_document, read_moment
from crm_sync.text import clean, plain

KEPT = 10  # §8: the platform keeps so many records
SHOWN = 300  # characters of the platform's words that a person needs
LONG_AGO = datetime.min.replace(tzinfo=UTC)

Document = dict[str, Any]


@dataclass(frozen=True)
class HistoryRecord:
    """One attempt of the platform to call us.

    Attributes:
        key: its id, or a digest of it where it has none.
        at: when it was tried, by the platform's clock; None where that cannot be read.
        payload: the event, None where the record holds no JSON object.
    """

    key: str
    at: datetime | None
    payload: Document | None
    headers: dict[str, str]
    is_success: bool | None
    status: int | None
    message: str

    @property
    def digest(self) -> str:
        """The canonical digest of the event: the same however it was written."""
        return canonical_digest(self.payload)

    @property
    def body(self) -> bytes:
        """The event as JSON; the same bytes for the same event."""
        return json.dumps(self.payload, sort_keys=True).encode()

    @property
    def failure(self) -> str:
        """What went wrong, in one line."""
        answered = f"answered {self.status}" if self.status else "no answer"
        return f"{answered}: {self.message}" if self.message else answered


def record(document: Document) -> HistoryRecord:
    """Read one record tolerantly (§2.2)."""
    status, success, headers = (document.get(key) for key in ("statusCode", "success", "headers"))
    key = document.get("id")
    return HistoryRecord(
        key=str(key) if key else canonical_digest(document),
        at=moment(document.get("triggeredAt")),
        payload=_payload(document.get("payload")),
        headers={str(name): str(value) for name, value in headers.items()}
        if isinstance(headers, dict)
        else {},
        is_success=success if isinstance(success, bool) else None,
        status=status if isinstance(status, int) and not isinstance(status, bool) else None,
        message=words(document.get("errorMessage")),
    )


def _payload(value: Any) -> Document | None:
    """Take an object, or the text of one; what was cut off is none."""
    if isinstance(value, str):
        try:
            value = parse_document(value.encode("utf-8", "replace"))
        except NotUnderstood:
            return None
    return value if isinstance(value, dict) and value else None


def in_order(records: Iterable[HistoryRecord]) -> list[HistoryRecord]:
    """Sort by the platform's clock, what has no moment first."""
    return sorted(records, key=lambda one: one.at or LONG_AGO)


def moment(value: Any) -> datetime | None:
    """Read a timestamp, None where there is none."""
    try:
        return read_moment("", value)
    except NotUnderstood:
        return None


def words(value: Any) -> str:
    """Return the platform's words as a person reads them, bounded."""
    told = json.dumps(value) if isinstance(value, dict | list) else plain(value)
    text: str = clean(told)[0]
    return " ".join(text.split())[:SHOWN]


def differences(theirs: Document, ours: Document) -> dict[str, dict[str, str]]:
    """Compare the configuration that the platform shows with ours: name → both values.

    A name that it does not show says nothing; header names do not depend on their case (§5.2).
    """
    found = {}
    for name, wanted in ours.items():
        value = theirs.get(name)
        if value is None or value == wanted:
            continue
        if name == "authHeaderName" and str(value).lower() == str(wanted).lower():
            continue
        found[name] = {"theirs": words(value), "ours": words(wanted)}
    return found
