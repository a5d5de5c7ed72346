"""One read of the platform on its way into the mirror (I23, I29)."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from crm_sync.platform import references
from crm_sync.platform.errors import TransientError
from crm_sync.platform.events import canonical_digest
from crm_sync.platform.responses import Answer
from crm_sync.text import plain
from orders.mirror import timeline_lines
from orders.mirror.forgotten_people import marks, without_contacts
from orders.mirror.lww import LwwField, Stamp
from orders.mirror.unit_of_work import UnitOfWork
from orders.models import EPOCH, Assignment, Order, StatusChange

# A read that contradicts an event younger than this may come from a copy of the platform's data
# that lags behind: it counts, but is repeated (I23).
LAG = timedelta(seconds=10)


class PlatformReading(UnitOfWork):
    """The rows that one read changes.

    Attributes:
        as_of: the platform's clock when it was asked; None where the answer does not say.
        contradicts: the read contradicts something young, so it is to be repeated soon.
    """

    def __init__(
        self,
        workspace_id: int,
        *,
        as_of: datetime | None,
        source: StatusChange.Source,
        now: datetime,
    ) -> None:
        super().__init__(workspace_id, now)
        self.as_of, self.source = as_of, source
        self.contradicts = False

    def observe(
        self,
        row: Order | Assignment,
        lww_field: LwwField,
        value: Any,
        *,
        before: Order | Assignment | None,
        is_listed: bool = True,
    ) -> None:
        """Write one field, and a line if it has changed, unless an event came during the read.

        Args:
            row: locked.
            before: as it was before the read began; None if it was not known.
        """
        held = lww_field.stamp_of(row).at
        was_confirmed = bool(lww_field.confirmed and getattr(row, lww_field.confirmed))
        asked, seen = Stamp(self.as_of or EPOCH), lww_field.stamp_of(before)
        write = self.write_field(row, lww_field, value, asked, seen=seen)
        if not write.is_new:
            return
        if write.is_known:
            if lww_field.confirmed and not was_confirmed:
                timeline_lines.confirm(row, lww_field.fact, value, now=self.now)
            return
        names = [row._meta.label, row.pk, lww_field.value, str(value), str(self.now)]
        stamp = Stamp(self.as_of or self.now, canonical_digest(names))
        origin = timeline_lines.Provenance(stamp, self.source)
        line = timeline_lines.line(
            row,
            lww_field.fact,
            previous=write.before,
            new=value,
            origin=origin,
            is_listed=is_listed,
        )
        self.enter(line)
        if held > EPOCH and (self.as_of is None or self.as_of < held + LAG):
            self.contradicts = True


def readable(row: Order | Assignment, answer: Answer) -> dict[str, Any]:
    """Return the document of an answer without the contacts of forgotten people (S23).

    Raises:
        TransientError: it is no object.
    """
    if not isinstance(answer.cleaned, dict):
        raise TransientError(f"the detail of {row} is not a JSON object", unclear=False)
    document: dict[str, Any] = without_contacts(answer.cleaned, marks(row.workspace_id))
    return document


def word(document: Mapping[str, Any], name: str, limit: int) -> str:
    """Return a text of a document as a column of that width holds it; "" where it is no text."""
    return plain(document.get(name))[:limit]


def key(document: Mapping[str, Any], *names: str) -> str:
    """Return an id or a reference under the first of these names that has one (A7), else "".

    One that is longer than any (§7) is none: cut short it would be another one's.
    """
    found = next(filter(None, (plain(document.get(name)) for name in names)), "")
    return found if len(found) <= references.LIMIT else ""
