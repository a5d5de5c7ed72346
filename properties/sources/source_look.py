"""Fetch a source in a worker. A new file becomes an import, and each fetch a row of the history.

The first import of a source waits for a person. Later imports are released automatically, unless
the guard of full feeds refuses them.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crm_sync import permits
from crm_sync.platform.work_kind import WorkKind
from crm_sync.work import leases
from crm_sync.work.leases import Claim
from crm_sync.work.queues import RowQueue, Turn
from properties.imports import upload
from properties.models import Fetch, Import, Source
from properties.models.source import Delivery
from properties.sources.arrival import Arrived
from properties.sources.fetch.transfer import FileVersion
from properties.sources.in_turn_look import InTurnLook
from properties.sources.look import LookOutcome, SourceLook, came, remembered

QUEUE = Source.QUEUE
LONGEST_WAIT = timedelta(days=8)  # a schedule has at most a week between two fetches
WELL = (Import.State.DONE, Import.State.UNCHANGED, *Import.OPEN)


def work(claims: Sequence[Claim[Source]], turn: Turn) -> list[LookOutcome]:
    """Fetch some sources; the `work` of the queue.

    Raises:
        LeaseLost: another worker holds the row now. Nothing was written.
        Stop: this process ends. Nothing was written.
    """
    return [_LOOKS[Delivery(claim.row.delivery)](claim).run() for claim in claims]


SOURCES = RowQueue(
    name=QUEUE,
    title=_("sources"),
    rows=lambda now: Source.objects.all(),
    work=work,
    calls=False,
    lease=leases.SHORT_LEASE,
    wait=LONGEST_WAIT,
    work_kind=WorkKind.IMPORTS,
    # The secret is read later: so an unreadable secret affects only its own row.
    columns=[one.name for one in Source._meta.concrete_fields if one.name != "secret"],
)


class ReplacedLook(SourceLook):
    """One fetch of a source whose file is replaced by the next one."""

    def fetched(self) -> LookOutcome:
        """Fetch the file if it is new."""
        place, known = self.place(), self._known()
        with permits.away():
            arrived = self.files.take(place, known, self.check)
        if arrived is None or self._is_same(arrived):
            return self._unchanged(arrived)
        return self._import(arrived)

    def _known(self) -> FileVersion:
        row = self.row
        if row.is_asked or row.read_as != self.read_as:
            return FileVersion()
        return FileVersion(row.etag, row.modified, row.size)

    def _is_same(self, arrived: Arrived) -> bool:
        """Return whether a file is the same as the last one.

        If a person requested the fetch, the last import must also be open or without problems.
        """
        row = self.row
        if row.insists or (arrived.digest, self.read_as) != (row.digest, row.read_as):
            return False
        last = Import.objects.filter(source=row).order_by("-pk").first()
        return not row.is_asked or (last is not None and last.state in WELL)

    def _unchanged(self, arrived: Arrived | None) -> LookOutcome:
        found = came(arrived) if arrived else {}
        stamp = remembered(arrived.fetched) if arrived else {}
        self.end(Fetch.Outcome.UNCHANGED, found, {"attempts": 0, "problem": "", **stamp})
        return LookOutcome.UNCHANGED

    def _import(self, arrived: Arrived) -> LookOutcome:
        row, now = self.row, timezone.now()
        stands: dict[str, Any] = {"digest": arrived.digest, "read_as": self.read_as}
        stands |= {"changed_at": now, "away_since": None, "attempts": 0, "problem": ""}
        waiting = Import.objects.filter(source=row, state__in=[*Import.OPEN], released_at=None)
        with transaction.atomic():
            upload.cancel(waiting, now=now)
            with self.importing(arrived.unpacked.name, arrived, now) as new:
                columns = came(arrived) | {"imported": new}
                self.end(Fetch.Outcome.IMPORT, columns, stands | remembered(arrived.fetched))
        return LookOutcome.NEW


_LOOKS: dict[Delivery, type[SourceLook]] = {
    Delivery.REPLACED: ReplacedLook,
    Delivery.IN_TURN: InTurnLook,
}
