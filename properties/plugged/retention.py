"""The rows of this app that are old enough to be removed (S23).

Properties, their changes and their conflicts are kept.
"""

from datetime import datetime

from django.conf import settings
from django.db.models import Exists, OuterRef, Q

from crm_sync.expiry import Part, deletion, older
from properties.models import DeliveredFile, DriftCheck, Import, Undo
from properties.sources.look import KNOWN

DRIFT_DAYS = 90


def expired(now: datetime) -> dict[str, Part]:
    """Return the deletions, by name.

    The last good import of a source stays: it proves that a person has seen a feed from there. A
    delivered file is remembered while it lies in its folder: else it would be imported again.
    """
    later = Import.objects.filter(
        source=OuterRef("source"), pk__gt=OuterRef("pk"), state__in=KNOWN, released_at__isnull=False
    )
    ended = Import.objects.exclude(state__in=Import.OPEN).filter(Q(source=None) | Exists(later))
    days = settings.KEEP_DAYS["imports"]
    checks = older(DriftCheck.objects.order_by("pk"), "started_at", days=DRIFT_DAYS, now=now)
    return {
        "checks for drift": deletion(checks),
        "undos": deletion(older(Undo.objects.order_by("pk"), "ended_at", days=days, now=now)),
        "delivered files": deletion(
            older(DeliveredFile.objects.order_by("pk"), "gone_at", days=days, now=now)
        ),
        "imports": deletion(older(ended.order_by("pk"), "ended_at", days=days, now=now)),
    }
