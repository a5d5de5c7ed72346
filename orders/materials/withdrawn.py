"""What the platform no longer lists is marked as withdrawn, and never deleted (A38, A40)."""

from collections.abc import Collection
from datetime import datetime

from orders.models import MaterialSet


def mark(ready: MaterialSet, listed: Collection[str], *, now: datetime) -> None:
    """Mark the materials of a set that its lists, read as a whole, do not name.

    One that is listed again is withdrawn no more: see `files.COLUMNS`.

    Args:
        listed: the ids in all of its lists.
    """
    gone = ready.materials.filter(withdrawn_at=None).exclude(platform_id__in=listed)
    gone.update(withdrawn_at=now)
