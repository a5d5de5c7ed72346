"""Mirrored fields are last-write-wins, by the platform's clock (I22, I23, I29).

Of two writes the one with the greater (occurredAt, digest of the event) stays, in whatever order
and however often they come. Events write to rows that they have locked (`rows`). A read cannot lock
a row during its call, so it writes with a conditional UPDATE.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Model


@dataclass(frozen=True)
class LwwField:
    """The columns of a field.

    Attributes:
        value: what it says.
        at: when it was set, by the platform's clock.
        digest: of the event; breaks ties.
        confirmed: whether a read has shown this value, "" where nobody asks that. An event says
            what a read has to confirm (S10).
    """

    value: str
    at: str
    digest: str
    confirmed: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(filter(None, (self.value, self.at, self.digest, self.confirmed)))


# Of orders and of assignments.
STATUS = LwwField("status", "status_at", "status_digest", "is_confirmed")
APPOINTMENT = LwwField("scheduled_at", "scheduled_watermark", "scheduled_digest")
ESTIMATE = LwwField("estimated_delivery_date", "estimate_watermark", "estimate_digest")
ACTION = LwwField("action_required", "action_watermark", "action_digest")
PHOTOGRAPHER = LwwField("photographer", "photographer_watermark", "photographer_digest")
OF_ORDERS = (STATUS,)
OF_ASSIGNMENTS = (STATUS, APPOINTMENT, ESTIMATE, ACTION, PHOTOGRAPHER)


def columns(fields: Iterable[LwwField]) -> list[str]:
    """Return the names of all columns of these fields."""
    return [name for one in fields for name in one.columns]


@dataclass(frozen=True)
class Stamp:
    """When an event happened, by the platform's clock, and its digest."""

    at: datetime
    digest: str


@dataclass(frozen=True)
class Write:
    """The result of a write.

    Attributes:
        before: the value that the row had before.
        is_new: the value was written; else the row holds that of another event or read, which is
            newer or the same.
        is_known: the row had this value already.
        is_tie: another event has another value for the same moment. Only a read can show which one
            is right.
    """

    before: Any
    is_new: bool
    is_tie: bool
    is_known: bool = False


def write(row: Model, lww_field: LwwField, value: Any, stamp: Stamp) -> Write:
    """Set the field of a locked row, in memory, unless it holds something newer."""
    before, mark = getattr(row, lww_field.value), getattr(row, lww_field.at)
    digest = getattr(row, lww_field.digest)
    is_new = (mark, digest) < (stamp.at, stamp.digest)
    is_tie = mark == stamp.at and digest != stamp.digest and before != value
    if is_new:
        columns = {lww_field.value: value, lww_field.at: stamp.at, lww_field.digest: stamp.digest}
        if lww_field.confirmed and before != value:
            columns[lww_field.confirmed] = False
        for name, new in columns.items():
            setattr(row, name, new)
    return Write(before, is_new, is_tie, is_known=before == value)


def observe(row: Model, lww_field: LwwField, value: Any, *, as_of: datetime | None) -> bool:
    """Set the field to what was read, unless an event has set it since `row` was loaded.

    Args:
        row: as it was before the read began (I23).
        as_of: when the platform was asked, by its clock. `at` is set to it if that is later; it is
            left alone if `as_of` is None (I29).

    Returns:
        True when the row now holds the value that was read.
    """
    mark: datetime = getattr(row, lww_field.at)
    columns: dict[str, Any] = {lww_field.value: value}
    if lww_field.confirmed:
        columns[lww_field.confirmed] = True
    if as_of is not None and as_of > mark:
        # An empty digest: an event of the same moment is more precise and wins.
        columns |= {lww_field.at: as_of, lww_field.digest: ""}
    unchanged = {lww_field.at: mark, lww_field.digest: getattr(row, lww_field.digest)}
    return bool(_rows(row).filter(**unchanged).update(**columns))


def _rows(row: Model) -> Any:
    return type(row)._base_manager.filter(pk=row.pk)
