"""Selects the rows of this app that are old enough to be removed (S23).

Orders, their timelines and placements are never removed.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from crm_sync import expiry
from crm_sync.expiry import Part, deletion, older
from orders.materials.download import delete
from orders.models import MaterialFile, Order, Placement, PlatformUser, Reminder
from orders.models.statuses import OrderStatus

REMINDED = timedelta(days=1)  # a reminder of an appointment that is over is kept


def expired(now: datetime) -> dict[str, Part]:
    """Return the functions that remove them, by name."""
    ended = MaterialFile.objects.filter(
        due_at=None,
        material__material_set__order__status__in=(OrderStatus.COMPLETED, OrderStatus.CANCELLED),
    )
    files = older(ended, "stored_at", days=settings.KEEP_DAYS["files"], now=now)
    users = older(_unnamed(), "gone_at", days=settings.KEEP_DAYS["users"], now=now)
    past = Reminder.objects.filter(at__lt=now - REMINDED).order_by("at")
    return {
        "reminders": deletion(past),
        "files of materials": _removal(files.order_by("pk")),
        "users of the platform": deletion(users.order_by("pk")),
    }


def _unnamed() -> QuerySet[PlatformUser]:
    """Return the users that no order or placement names and that no person has tied (I32)."""
    mine = {"workspace": OuterRef("workspace")}
    by_id = Q(user_platform_id=OuterRef("platform_id"))
    by_reference = ~Q(user_reference_id="") & Q(user_reference_id=OuterRef("user_reference_id"))
    return PlatformUser.objects.filter(
        ~Exists(Order.objects.filter(by_id, **mine)),
        ~Exists(Placement.objects.filter(by_id | by_reference, **mine)),
        is_tied_by_hand=False,
    )


def _removal(files: QuerySet[MaterialFile]) -> Part:
    def remove() -> int:
        batch = dict(files.values_list("pk", "name")[: expiry.BATCH])
        # First, because only the row leads to its file. One that cannot be removed keeps its row.
        removed = [key for key, name in batch.items() if delete(name)]
        return files.filter(pk__in=removed).delete()[0] if removed else 0

    return remove
