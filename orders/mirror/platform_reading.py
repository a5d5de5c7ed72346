"""One read of the platform on its way into the mirror (I23, I29)."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from crm_sync.platform import references
from crm_sync.platform.errors import TransientError
from crm_sync.platform.events import canonical_digest
from crm_sync.platform.responses import LAG, Answer
from crm_sync.sentence import sentence
from crm_sync.text import plain
from orders.mirror import timeline_lines
from orders.mirror.forgotten_people import marks, without_contacts
from orders.mirror.lww import LwwField, Stamp
from orders.mirror.unit_of_work import UnitOfWork
from orders.models import EPOCH, Assignment, Order, StatusChange

MILLISECOND = timedelta(milliseconds=1)  # of a message: what it replaces is dated before


class PlatformReading(UnitOfWork):
    """The rows that one read changes.

    Attributes:
        as_of: the platform's time of the request; None if the answer does not contain it.
        contradicts: the read contradicts a recent value, so it is repeated soon.
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
        """Write one field, and a line if it has changed, unless an event arrived during the read.

        Args:
            row: locked.
            before: the row before the read began, or None if it was unknown.
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
        stamp = Stamp(max(self.as_of or self.now, held + MILLISECOND), canonical_digest(names))
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


def detail(row: Order | Assignment, answer: Answer) -> dict[str, Any]:
    """Return the document of an answer.

    Raises:
        TransientError: it is not a JSON object.
    """
    if not isinstance(answer.cleaned, dict):
        raise TransientError(
            sentence("the detail of %(row)s is not a JSON object", row=str(row)), unclear=False
        )
    return answer.cleaned


def readable(row: Order | Assignment, document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without the contacts of forgotten people (S23).

    Read after the lock of the rows: whoever is forgotten from then on is blanked once they are
    written.
    """
    cleaned: dict[str, Any] = without_contacts(document, marks(row.workspace_id))
    return cleaned


def word(document: Mapping[str, Any], name: str, limit: int) -> str:
    """Return a text of a document, cut to the width of its column, or "" if it is not a text."""
    return plain(document.get(name))[:limit]


def key(document: Mapping[str, Any], *names: str) -> str:
    """Return the id or reference under the first of these names that has one (A7), or "".

    A value that is longer than allowed (§7) is ignored: cut, it could be the id of another object.
    """
    found = next(filter(None, (plain(document.get(name)) for name in names)), "")
    return found if len(found) <= references.LIMIT else ""
