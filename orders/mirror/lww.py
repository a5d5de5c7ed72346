"""A mirrored fact: the last writer wins, by the platform's clock (I22, I23, I29).

The order of two writes is that of (occurredAt, digest of the event), so whatever order, repetition
or replay they come in, the same one stays. Events write rows that they have locked (`rows`); what a
read says is one conditional UPDATE, since a call lies between.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Model


@dataclass(frozen=True)
class LwwField:
    """The columns of one fact: its value, its watermark, and the digest that breaks a tie."""

    value: str
    at: str
    digest: str


STATUS = LwwField("status", "status_at", "status_digest")  # of orders and of assignments
APPOINTMENT = LwwField("scheduled_at", "scheduled_watermark", "scheduled_digest")
ESTIMATE = LwwField("estimated_delivery_date", "estimate_watermark", "estimate_digest")
ACTION = LwwField("action_required", "action_watermark", "action_digest")
PHOTOGRAPHER = LwwField("photographer", "photographer_watermark", "photographer_digest")
OF_ORDERS = (STATUS,)
OF_ASSIGNMENTS = (STATUS, APPOINTMENT, ESTIMATE, ACTION, PHOTOGRAPHER)


def columns(fields: Iterable[LwwField]) -> list[str]:
    """Return the columns of fields."""
    return [name for one in fields for name in (one.value, one.at, one.digest)]


@dataclass(frozen=True)
class Stamp:
    """When a fact happened on the platform's clock, and the digest of the event that says so."""

    at: datetime
    digest: str


@dataclass(frozen=True)
class Write:
    """What became of a fact.

    Attributes:
        before: the value that the row had until then.
        is_new: it is the value now.
        is_tie: another event tells another value for the very same moment; only a read can tell
            which of them is true.
    """

    before: Any
    is_new: bool
    is_tie: bool


def write(row: Model, lww_field: LwwField, value: Any, stamp: Stamp) -> Write:
    """Set the field of a row that is locked, in memory, unless it holds something newer."""
    before, mark = getattr(row, lww_field.value), getattr(row, lww_field.at)
    digest = getattr(row, lww_field.digest)
    is_new = (mark, digest) < (stamp.at, stamp.digest)
    is_tie = mark == stamp.at and digest != stamp.digest and before != value
    if is_new:
        columns = {lww_field.value: value, lww_field.at: stamp.at, lww_field.digest: stamp.digest}
        for name, new in columns.items():
            setattr(row, name, new)
    return Write(before, is_new, is_tie)


def observe(row: Model, lww_field: LwwField, value: Any, *, as_of: datetime | None) -> bool:
    """Set the field to what a read says, unless its watermark has moved since `row` was loaded.

    Args:
        row: as it was before the read began (I23).
        as_of: the platform's clock when it was asked; the watermark rises to it and never sinks,
            and stays where it is without it (I29).

    Returns:
        True when the value is now the one that was read.
    """
    mark: datetime = getattr(row, lww_field.at)
    columns: dict[str, Any] = {lww_field.value: value}
    if as_of is not None and as_of > mark:
        # No digest: an event of the same moment is more precise than a read.
        columns |= {lww_field.at: as_of, lww_field.digest: ""}
    unmoved = {lww_field.at: mark, lww_field.digest: getattr(row, lww_field.digest)}
    return bool(_rows(row).filter(**unmoved).update(**columns))


def _rows(row: Model) -> Any:
    return type(row)._base_manager.filter(pk=row.pk)
