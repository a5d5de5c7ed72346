"""The sweep: finds, once a day and without a call, rows that differ but are not due (I7).

Only `editing.edit` and the merge may write `desired`. A write that bypasses them
(`QuerySet.update`, a fixture, SQL) makes no row due and would never reach the platform. The sweep
finds it. It also finds rows in which a newer rule of the workspace has to take effect, and writes
the words of the search and the keys of a match again where they are not those of the row.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from crm_sync.models import Workspace
from properties.domain import owners
from properties.domain.difference import undecided
from properties.drift.comparison import forgotten, idle, make_due
from properties.drift.findings import NAMED, DriftVerdict, by_count, entry
from properties.models import DriftCheck, Property
from properties.models.match_columns import MAKERS, keys_of
from properties.models.search_column import SOURCES, text_of

log = logging.getLogger(__name__)

CHUNK = 200  # rows held in memory
READ = (
    *("pk", *SOURCES, "search", *MAKERS),
    *("revision", "observed", "inflight", "problem", "read_at"),
)


def sweep(
    workspace: Workspace,
    *,
    clock: Callable[[], datetime] = timezone.now,
    chunk: int = CHUNK,
) -> Iterator[DriftCheck]:
    """Go through the rows of a workspace, or continue an unfinished sweep.

    Yield the check after each chunk of rows; the last one yielded is finished.
    """
    check, _ = DriftCheck.objects.get_or_create(
        workspace=workspace,
        kind=DriftCheck.Kind.SWEEP,
        finished_at=None,
        defaults={"started_at": clock()},
    )
    while check.finished_at is None:
        _take(check, workspace, chunk, clock())
        check.refresh_from_db()
        yield check


def _take(check: DriftCheck, workspace: Workspace, chunk: int, now: datetime) -> None:
    """Compare one chunk, unless another worker continues this sweep."""
    mine = Property.objects.filter(workspace=workspace)
    rows = mine.filter(pk__gt=check.position).order_by("pk")
    pks = list(rows.values_list("pk", flat=True)[:chunk])
    untouched = mine.filter(idle(now), pk__in=pks)
    rows_read = list(untouched.only(*READ).order_by("pk"))
    rules = owners.of_key(workspace.pk)  # they may change between two chunks
    found = {row: paths for row in rows_read if (paths := forgotten(row, rules))}
    # A rule that was changed is no write that bypassed `edit`.
    ruled = [row.pk for row in rows_read if row not in found and undecided(row, rules)]
    fields = Counter(check.fields)
    fields.update(path for paths in found.values() for path in paths)
    named = check.found + [
        entry(row.pk, str(row), DriftVerdict.UNEXPLAINED, paths) for row, paths in found.items()
    ]
    with transaction.atomic():
        begun = {"started_at": check.started_at, "position": check.position}
        ours = DriftCheck.objects.filter(pk=check.pk, finished_at=None, **begun)
        if not ours.update(
            position=pks[-1] if pks else check.position,
            compared=F("compared") + len(pks),
            differing=F("differing") + len(found),
            unexplained=F("unexplained") + len(found),
            fields=dict(by_count(fields)[:NAMED]),
            found=named[:NAMED],
            finished_at=None if len(pks) == chunk else now,
        ):
            return
        make_due(workspace, [*(row.pk for row in found), *ruled], now=now)
        for row in rows_read:
            if stale := _stale(row):
                mine.filter(pk=row.pk, revision=row.revision).update(**stale)
    if found:
        log.warning(
            "%s: found %d that differed though nothing had made them due; due now: %s",
            workspace,
            len(found),
            ", ".join(str(row) for row in list(found)[:NAMED]),
        )


def _stale(row: Property) -> dict[str, str | None]:
    """Return the derived columns that are not those of the document, with their right value."""
    right = {"search": text_of(row), **keys_of(row.desired)}
    return {name: value for name, value in right.items() if getattr(row, name) != value}
