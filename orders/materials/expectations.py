"""Materials that may exist without an announcement: it was lost, or fell into a gap (I18)."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q, QuerySet

from crm_sync.models import due
from crm_sync.work.doorbell import doorbell
from orders.materials import announcements, file_requests
from orders.models import Assignment, MaterialSet, Order
from orders.models.statuses import ORDER_TERMINAL, AssignmentStatus

# (workspace, id on the platform) → our primary key, if we know it.
Properties = dict[tuple[int, str], int | None]
CHUNK = 500  # rows at a time
RECENT = timedelta(days=30)  # after its end, an order may get marketing materials for this long


def after_read(order_pk: int, *, is_last: bool, now: datetime) -> None:
    """Make the lists due that an order must have after a read, or may have at its end.

    Args:
        is_last: no other read follows. Materials that were announced in a gap are found now or
            never.
    """
    delivered(Assignment.objects.filter(order=order_pk), again=is_last, now=now)
    marketing(Order.objects.filter(pk=order_pk, status__in=ORDER_TERMINAL), now=now)


def delivered(assignments: QuerySet[Assignment], *, again: bool = False, now: datetime) -> None:
    """Make a list due for each product of the delivered assignments.

    Each list is read once more after the delivery, because the last announcement may have been
    lost. A delivered assignment has materials for each of its products.

    Args:
        again: include lists that were already requested after the delivery.
    """
    done = assignments.filter(status=AssignmentStatus.DELIVERED, withdrawn_at=None)
    some = done.select_related("order").prefetch_related("material_sets").order_by("pk")
    for assignment in some.iterator(chunk_size=CHUNK):
        sets = assignment.material_sets.all()
        products = {str(product)[:100] for product in assignment.products if product}
        products |= {one.product for one in sets}
        asked = set() if again else {one.product for one in sets if one.was_expected}
        for product in sorted(products - asked):
            _expect(assignment, product, now=now)


def _expect(assignment: Assignment, product: str, *, now: datetime) -> None:
    mine = MaterialSet.objects.filter(assignment=assignment, product=product)
    if not file_requests.ask(mine, now=now):
        announcements.announce_visuals(
            assignment.order,
            assignment,
            product=product,
            visual_type="",
            at=assignment.status_at,
            now=now,
        )
    mine.update(was_expected=True)


def marketing(orders: QuerySet[Order], *, now: datetime, a_minute: int | None = None) -> None:
    """Make the lists of marketing materials due for the properties of some orders.

    Args:
        a_minute: the most lists per minute. By default all are due at once.
    """
    named = list(properties(orders).items())
    size = a_minute or CHUNK
    for number, first in enumerate(range(0, len(named), size)):
        due_at = now + timedelta(minutes=number if a_minute else 0)
        of_properties(dict(named[first : first + size]), now=now, due_at=due_at)


def properties(orders: QuerySet[Order]) -> Properties:
    """Return the properties of some orders, beginning with the newest orders."""
    columns = ("workspace", "property_platform_id", "real_estate_property")
    rows = orders.order_by("-created_at", "-pk")
    named: Properties = {}
    for *own, known in rows.values_list(*columns, "real_estate_property__platform_id"):
        workspace_id, told, pk = own
        if name := told or known:
            named.setdefault((workspace_id, name), pk)
    return named


def of_properties(named: Properties, *, now: datetime, due_at: datetime | None = None) -> None:
    """Make a list of marketing materials due for each property.

    Such a list is a set without a target platform. Its items are stored in the sets of their target
    platforms. An empty list is not an error.

    Args:
        due_at: when; by default now.
    """
    due_at = due_at or now
    rows = [
        MaterialSet(
            workspace_id=workspace_id,
            property_platform_id=name,
            real_estate_property_id=pk,
            ready_at=now,
            created_at=now,
            due_at=due_at,
        )
        for (workspace_id, name), pk in named.items()
    ]
    MaterialSet.objects.bulk_create(rows, ignore_conflicts=True)
    later = MaterialSet.objects.filter(due.later(due_at), target_platform="")
    for workspace_id in {workspace_id for workspace_id, _ in named}:
        names = [name for owner, name in named if owner == workspace_id]
        mine = later.filter(workspace=workspace_id, assignment=None, property_platform_id__in=names)
        mine.update(due_at=due_at, **announcements.ANEW)
        doorbell.ring(announcements.QUEUE, workspace_id)


def marketing_after_gap(workspace_id: int, now: datetime) -> None:
    """Make the marketing materials of open and recently ended orders due (I21).

    They are read at half the rate, like the orders themselves.
    """
    mine = Order.objects.filter(workspace=workspace_id)
    may_have = mine.filter(~Q(status__in=ORDER_TERMINAL) | Q(status_at__gte=now - RECENT))
    marketing(may_have, now=now, a_minute=max(1, settings.ORDER_READS_A_MINUTE // 2))


def read_again(orders: QuerySet[Order], *, now: datetime) -> None:
    """Make all lists of some orders due, and the marketing materials of their properties."""
    file_requests.ask(MaterialSet.objects.filter(order__in=orders.values("pk")), now=now)
    delivered(Assignment.objects.filter(order__in=orders.values("pk")), now=now)
    marketing(orders, now=now)
