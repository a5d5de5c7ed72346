"""The import of one upload, step by step, as a person has seen it in its preview."""

from collections.abc import Iterator
from datetime import datetime

from properties.feeds import Profile
from properties.imports.engine import import_feed
from properties.imports.report import ImportReport
from properties.imports.summary import count
from properties.models import Import
from properties.models.import_ import ImportState as State


def steps(row: Import, now: datetime, batch_size: int) -> Iterator[ImportReport]:
    """Import the rest of the file, and yield the report as it grows."""
    dry_run = row.state == State.PREVIEWING
    seen = row.preview.get("profile")
    is_released_by_a_person = not dry_run and row.released_by_id is not None
    at = row.preview.get("seen_at") if is_released_by_a_person else None
    return import_feed(
        row.workspace,
        row.path,
        sender=row.sender,
        profile=Profile(**seen) if seen else None,  # what a person saw is what is imported
        now=now,
        dry_run=dry_run,
        force=row.force,
        skip=0 if row.total is None else row.done,  # until then it counts what was read
        refused=count(row.report, "refused"),
        beside=row.preview.get("beside", ""),
        batch_size=batch_size,
        seen_at=datetime.fromisoformat(at) if at else None,
        keep=True,
    )
