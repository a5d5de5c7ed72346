"""Pure functions that parse the trigger history and compare configurations (§2.1, §2.2)."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from crm_sync.platform.events import NotUnderstood, canonical_digest, parse_document, read_moment
from crm_sync.text import clean, plain

KEPT = 10  # records that the platform keeps (§8)
SHOWN = 300  # characters of the platform's texts that a person needs
LONG_AGO = datetime.min.replace(tzinfo=UTC)

Document = dict[str, Any]


@dataclass(frozen=True)
class HistoryRecord:
    """One attempt of the platform to call us.

    Attributes:
        key: its id, or a digest of the record if it has none.
        at: the time of the attempt by the platform's clock, or None if it cannot be read.
        payload: the event, None if the record has no JSON object.
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
        """The canonical digest of the event: the same for any spelling of its JSON."""
        return canonical_digest(self.payload)

    @property
    def body(self) -> bytes:
        """The event as JSON, always the same bytes for the same event."""
        return json.dumps(self.payload, sort_keys=True).encode()

    @property
    def failure(self) -> str:
        """The failure in one line."""
        answered = f"answered {self.status}" if self.status else "no answer"
        return f"{answered}: {self.message}" if self.message else answered


def record(document: Document) -> HistoryRecord:
    """Parse one record. Invalid values become None or empty (§2.2)."""
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
    """Return an object, or parse the text of one; return None for a text that was cut off."""
    if isinstance(value, str):
        try:
            value = parse_document(value.encode("utf-8", "replace"))
        except NotUnderstood:
            return None
    return value if isinstance(value, dict) and value else None


def in_order(records: Iterable[HistoryRecord]) -> list[HistoryRecord]:
    """Sort by the platform's clock, records without a time first."""
    return sorted(records, key=lambda one: one.at or LONG_AGO)


def moment(value: Any) -> datetime | None:
    """Parse a timestamp, or return None if it is invalid."""
    try:
        return read_moment("", value)
    except NotUnderstood:
        return None


def words(value: Any) -> str:
    """Return a value of the platform as a short text for a person."""
    told = json.dumps(value) if isinstance(value, dict | list) else plain(value)
    text: str = clean(told)[0]
    return " ".join(text.split())[:SHOWN]


def differences(theirs: Document, ours: Document) -> dict[str, dict[str, str]]:
    """Compare the platform's configuration with ours and return name → both values.

    A value that the platform does not return is no difference. Header names are compared without
    case (§5.2).
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
