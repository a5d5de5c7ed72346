"""The history of a source: one row for each look, and which of them a mail tells."""

from datetime import datetime
from typing import Any

from crm_sync.mail import mails_are_sent
from properties.models import Fetch, Source

BESIDE = 100  # names of files that came with a feed
KEPT = 100  # looks of a source that found nothing new, and as many of the others


def add(source: Source, outcome: str, *, is_alarm: bool, now: datetime, **columns: Any) -> Fetch:
    """Write a look, and remove the oldest of its kind.

    Args:
        is_alarm: a mail tells it at once; that of an import goes when the import has ended.
    """
    is_told = is_alarm and bool(source.mail_to) and mails_are_sent()
    new = Fetch.objects.create(
        workspace_id=source.workspace_id,
        source=source,
        outcome=outcome,
        at=now,
        due_at=now if is_told else None,
        **columns,
    )
    looks = Fetch.objects.filter(source=source)
    nothing = looks.filter(outcome=Fetch.Outcome.UNCHANGED)
    alike = nothing if outcome == Fetch.Outcome.UNCHANGED else looks.exclude(pk__in=nothing)
    kept = alike.order_by("-at", "-pk").values_list("pk", flat=True)[KEPT:]
    Fetch.objects.filter(pk__in=list(kept)).delete()
    return new
