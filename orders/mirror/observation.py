"""One read of the platform on its way into fields and timeline (I23, I29)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from crm_sync.platform import references
from crm_sync.platform.events import canonical_digest
from crm_sync.text import plain
from orders.mirror import lww, status_messages, timeline_lines
from orders.mirror.lww import LwwField, Stamp
from orders.models import EPOCH, Assignment, Order, StatusChange

# A read that contradicts an event younger than this may come from a copy of the platform's data
# that lags behind: it counts, but is repeated (I23).
LAG = timedelta(seconds=10)
FACT_OF = {  # of assignments
    lww.STATUS: StatusChange.Fact.ASSIGNMENT_STATUS,
    lww.APPOINTMENT: StatusChange.Fact.APPOINTMENT,
    lww.ESTIMATE: StatusChange.Fact.ESTIMATE,
    lww.ACTION: StatusChange.Fact.ACTION,
    lww.PHOTOGRAPHER: StatusChange.Fact.PHOTOGRAPHER,
}


@dataclass
class OrderObservation:
    """One read.

    Attributes:
        as_of: the platform's clock when it was asked; None where the answer does not say.
        now: our clock.
        contradicts: it contradicts something young, so it is to be repeated soon.
    """

    as_of: datetime | None
    source: StatusChange.Source
    now: datetime
    contradicts: bool = False
    _lines: list[dict[str, Any]] = field(default_factory=list)

    def write(
        self,
        row: Order | Assignment,
        lww_field: LwwField,
        fact: StatusChange.Fact,
        value: Any,
        *,
        is_listed: bool = True,
    ) -> None:
        """Write one fact, and a line where it is news, unless something newer has come since.

        Args:
            row: as it was before the read began.
        """
        before, mark = getattr(row, lww_field.value), getattr(row, lww_field.at)
        if not lww.observe(row, lww_field, value, as_of=self.as_of):
            return
        if value == before:
            if lww_field.confirmed and not getattr(row, lww_field.confirmed):
                timeline_lines.confirm(row, fact, value, now=self.now)
            return
        stamp = Stamp(self.as_of or self.now, self._digest(row, lww_field, value))
        origin = timeline_lines.Provenance(stamp, self.source)
        line = timeline_lines.line(
            row, fact, previous=before, new=value, origin=origin, is_listed=is_listed
        )
        timeline_lines.enter(line)
        self._lines.append(line)
        if mark > EPOCH and (self.as_of is None or self.as_of < mark + LAG):
            self.contradicts = True

    def tell(self, workspace_id: int) -> None:
        """Tell other systems, last of all in the transaction, when the rows stand as they will."""
        status_messages.tell(workspace_id, self._lines, now=self.now)

    def _digest(self, row: Order | Assignment, lww_field: LwwField, value: Any) -> str:
        seen = [row._meta.label, row.pk, lww_field.value, str(value), str(self.now)]
        return canonical_digest(seen)


def word(document: Mapping[str, Any], name: str, limit: int) -> str:
    """Return a text of a document as a column of that width holds it; "" where it is no text."""
    return plain(document.get(name))[:limit]


def key(document: Mapping[str, Any], *names: str) -> str:
    """Return an id or a reference under the first of these names that has one (A7), else "".

    One that is longer than any (§7) is none: cut short it would be another one's.
    """
    found = next(filter(None, (plain(document.get(name)) for name in names)), "")
    return found if len(found) <= references.LIMIT else ""
