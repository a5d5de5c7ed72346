"""A mirrored fact is a last-writer register on the platform's clock (design §5, I22, I23, I29).

The order of two writes is that of (occurredAt, digest of the event), so whatever order, repetition
or replay they come in, the same one stays. One conditional UPDATE, no lock, on any database.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Model

from crm_sync import statements


@dataclass(frozen=True)
class Register:
    """The columns of one fact: its value, its watermark, and the digest that breaks a tie."""

    value: str
    at: str
    digest: str


STATUS = Register("status", "status_at", "status_digest")  # of orders and of assignments
APPOINTMENT = Register("scheduled_at", "scheduled_watermark", "scheduled_digest")
ESTIMATE = Register("estimated_delivery_date", "estimate_watermark", "estimate_digest")
ACTION = Register("action_required", "action_watermark", "action_digest")
PHOTOGRAPHER = Register("photographer", "photographer_watermark", "photographer_digest")


@dataclass(frozen=True)
class Stamp:
    """When a fact happened on the platform's clock, and the digest of the event that tells it."""

    at: datetime
    digest: str


@dataclass(frozen=True)
class Write:
    """What became of a fact.

    Attributes:
        before: the value that the row had when it was loaded.
        is_new: it is the value now.
        is_tie: another event tells another value for the very same moment; only a read can tell
            which of them is true.
    """

    before: Any
    is_new: bool
    is_tie: bool


def write(row: Model, register: Register, value: Any, stamp: Stamp) -> Write:
    """Set the register unless it holds something newer; `row` is as it was loaded before."""
    columns = {register.value: value, register.at: stamp.at, register.digest: stamp.digest}
    older = {register.at: stamp.at, register.digest: stamp.digest}
    before = getattr(row, register.value)
    is_new = statements.update(type(row), columns, {"id": row.pk}, below=older) == 1
    if not is_new:
        row.refresh_from_db(fields=list(columns))
    is_tie = (
        getattr(row, register.at) == stamp.at
        and getattr(row, register.digest) != stamp.digest
        and getattr(row, register.value) != value
    )
    return Write(before, is_new, is_tie)


def observe(row: Model, register: Register, value: Any, *, as_of: datetime | None) -> bool:
    """Set the register to what a read says, unless its watermark has moved since `row` was loaded.

    Args:
        row: as it was before the read began (I23).
        as_of: the platform's clock when it was asked; the watermark rises to it and never sinks,
            and stays where it is without it (I29).

    Returns:
        True when the value is now the one that was read.
    """
    mark: datetime = getattr(row, register.at)
    columns: dict[str, Any] = {register.value: value}
    if as_of is not None and as_of > mark:
        # No digest: an event of the same moment is more precise than a read.
        columns |= {register.at: as_of, register.digest: ""}
    unmoved = {register.at: mark, register.digest: getattr(row, register.digest)}
    return bool(_rows(row).filter(**unmoved).update(**columns))


def _rows(row: Model) -> Any:
    return type(row)._base_manager.filter(pk=row.pk)
