"""Store a person's assignment of the columns of a foreign table with the sender."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext

from crm_sync.work.doorbell import doorbell
from properties.feeds.table.table_columns import column
from properties.imports.upload import QUEUE
from properties.models import Import, Sender

LONGEST = 80  # characters of the name of a sender


@dataclass(frozen=True)
class TableMapping:
    """A person's choice for a foreign table.

    Attributes:
        columns: name in the file to our column; "" sets it aside.
        sender: the name of a new sender, needed if the import has no sender.
        sheet, header_row: see `Profile`.
    """

    columns: Mapping[str, str]
    sender: str = ""
    sheet: str = ""
    header_row: int = 0


class Unusable(Exception):
    """The choice cannot be stored. `faults` has the reasons."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def correct(row: Import, answer: TableMapping, *, now: datetime) -> Sender:
    """Store the choice with the sender, and queue a new preview.

    Raises:
        Unusable: a column is unknown or chosen twice, the name of the sender is missing or too
            long, another person changed the sender, or the import no longer waits for a person.
            Nothing was changed.
    """
    if faults := list(_faults(row, answer)):
        raise Unusable(faults)
    with transaction.atomic():
        sender = _sender(row, answer)
        waiting = Import.objects.filter(pk=row.pk, state=Import.State.PREVIEWED)
        looked_at = waiting.update(
            sender=sender,
            state=Import.State.PREVIEWING,
            **{"preview": {}, "done": 0, "total": None, "problem": "", "attempts": 0},
            due_at=now,
        )
        if not looked_at:
            raise Unusable([gettext("The import does not wait for a person any more.")])
        doorbell.ring(QUEUE, row.workspace_id)
    return sender


def _faults(row: Import, answer: TableMapping) -> Iterator[str]:
    said = [ours for ours in answer.columns.values() if ours]
    for ours in said:
        if column(ours) is None:
            text = gettext("“%(name)s” is none of our columns.")
            yield text % {"name": ours[:LONGEST]}
    for ours, times in Counter(said).items():
        if times > 1:
            text = gettext("“%(name)s” is chosen for %(count)s columns of the file.")
            yield text % {"name": ours, "count": times}
    if row.sender_id is None and not answer.sender:
        yield gettext("Name the sender: what you say is kept with it.")
    if len(answer.sender) > LONGEST:
        text = gettext("The name of the sender is longer than %(most)s characters.")
        yield text % {"most": LONGEST}


def _sender(row: Import, answer: TableMapping) -> Sender:
    """Return the sender with the choice stored; a new sender if the import has none."""
    sender = row.sender
    if sender is None:
        sender, _ = Sender.objects.get_or_create(workspace=row.workspace, name=answer.sender)
    before = Sender.objects.filter(pk=sender.pk, columns=sender.columns)
    kept = {name: ours for name, ours in sender.columns.items() if name not in answer.columns}
    kept |= {name: ours for name, ours in answer.columns.items() if name != ours}
    written = before.update(columns=kept, sheet=answer.sheet, header_row=answer.header_row)
    if not written:
        raise Unusable([gettext("Somebody else changed the sender at this moment: do it again.")])
    return sender
