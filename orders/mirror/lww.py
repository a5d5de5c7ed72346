"""Last writer wins, for events and reads (I22, I23, I29).

Each mirrored field holds the value with the greatest stamp, no matter in which order and how often
values arrive. The stamp of an event is its `occurredAt`. A read is newer than everything that was
known when it began, and older than everything that has arrived since.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Model

from orders.models import EPOCH, StatusChange

Fact = StatusChange.Fact


class Stamp(NamedTuple):
    """The time of a value, by the platform's clock. The digest of its event breaks ties."""

    at: datetime = EPOCH
    digest: str = ""


@dataclass(frozen=True)
class LwwField:
    """The columns of a field, and its name in the timeline.

    Attributes:
        value: the platform's value.
        at, digest: its stamp.
        confirmed: whether a read has shown this value; "" for a field without this column. A read
            has to confirm the value of an event (S10).
    """

    fact: StatusChange.Fact
    value: str
    at: str
    digest: str
    confirmed: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(filter(None, (self.value, self.at, self.digest, self.confirmed)))

    def stamp_of(self, row: Model | None) -> Stamp:
        """Return the stamp of the value in a row, or the lowest stamp if there is no row."""
        return Stamp() if row is None else Stamp(getattr(row, self.at), getattr(row, self.digest))


_STATUS = ("status", "status_at", "status_digest", "is_confirmed")
ORDER_STATUS = LwwField(Fact.ORDER_STATUS, *_STATUS)
ASSIGNMENT_STATUS = LwwField(Fact.ASSIGNMENT_STATUS, *_STATUS)
APPOINTMENT = LwwField(Fact.APPOINTMENT, "scheduled_at", "scheduled_watermark", "scheduled_digest")
ESTIMATE = LwwField(
    Fact.ESTIMATE, "estimated_delivery_date", "estimate_watermark", "estimate_digest"
)
ACTION = LwwField(Fact.ACTION, "action_required", "action_watermark", "action_digest")
PHOTOGRAPHER = LwwField(
    Fact.PHOTOGRAPHER, "photographer", "photographer_watermark", "photographer_digest"
)
OF_ORDERS = (ORDER_STATUS,)
OF_ASSIGNMENTS = (ASSIGNMENT_STATUS, APPOINTMENT, ESTIMATE, ACTION, PHOTOGRAPHER)


def columns(fields: Iterable[LwwField]) -> list[str]:
    """Return the names of all columns of these fields."""
    return [name for one in fields for name in one.columns]


@dataclass(frozen=True)
class Write:
    """The result of a write.

    Attributes:
        before: the value that the row had before.
        columns: the columns to write; empty if the row holds a newer value or the same event.
        is_known: the row had this value already.
        is_tie: another event has another value for the same moment. Only a read can show which one
            is right.
    """

    before: Any
    columns: dict[str, Any]
    is_known: bool
    is_tie: bool

    @property
    def is_new(self) -> bool:
        """Whether the value is written."""
        return bool(self.columns)


def write(
    row: Model, lww_field: LwwField, value: Any, stamp: Stamp, *, seen: Stamp | None = None
) -> Write:
    """Return what a value changes in a row. Nothing is written here.

    Args:
        row: locked until the columns are written.
        stamp: for a read, the platform's time of the request; `Stamp()` if it is unknown.
        seen: for a read, the stamp of the field when the read began; None for an event.
    """
    before, held = getattr(row, lww_field.value), lww_field.stamp_of(row)
    is_known, is_read = before == value, seen is not None
    is_tie = not is_read and held.at == stamp.at and held != stamp and not is_known
    columns: dict[str, Any] = {}
    if held == seen if is_read else held < stamp:
        columns = dict(zip(lww_field.columns, (value, *max(held, stamp)), strict=False))
        if lww_field.confirmed:
            was_confirmed = is_known and getattr(row, lww_field.confirmed)
            columns[lww_field.confirmed] = is_read or was_confirmed
    return Write(before, columns, is_known, is_tie)
