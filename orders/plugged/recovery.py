"""Orders after the restore of a backup: open orders are read, and none is sent again (I9)."""

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from crm_sync.hooks import Counts, Recovery
from crm_sync.models.due import RELEASED
from crm_sync.sentence import sentence
from orders.materials import expectations
from orders.mirror import refresh
from orders.models import Order, Placement, PlacementState as State, UserList
from orders.models.placement import TO_BE_SENT
from orders.models.statuses import ORDER_TERMINAL
from orders.placing import settlement
from orders.platform_users import user_list

WHY = sentence("A backup was restored: the order may have been sent after the backup was made.")


def after_gap(workspace_id: int, now: datetime) -> int:
    """Make everything due that a gap may have hidden (I21). Return the number of open orders."""
    expectations.marketing_after_gap(workspace_id, now)
    return refresh.read_all_open(workspace_id, now)


def unread_after_gap(since: Mapping[int, datetime]) -> dict[int, int]:
    """Return the number of open orders of each workspace that were not read since its moment."""
    chosen = [Q(workspace=one) & _not_read(moment) for one, moment in since.items()]
    rows = Order.objects.exclude(status__in=ORDER_TERMINAL).filter(reduce(or_, chosen)).order_by()
    counted = rows.values("workspace").annotate(count=Count("pk"))
    return dict(counted.values_list("workspace", "count"))


def _not_read(since: datetime) -> Q:
    return Q(read_at=None) | Q(read_at__lt=since)


def begin(workspace_id: int, now: datetime) -> Counts:
    """Make open orders and users due, and mark placements that were about to be sent uncertain."""
    mine = Placement.objects.filter(workspace_id=workspace_id)
    placements = list(mine.filter(state__in=TO_BE_SENT))
    for placement in placements:
        settlement.uncertain(placement, WHY)
    mine.filter(pk__in=[one.pk for one in placements]).update(due_at=None, **RELEASED)
    asked = after_gap(workspace_id, now)
    user_list.ask(workspace_id, now)
    return {"orders to be read": asked, "placements now uncertain": len(placements)}


def unread(workspaces: Collection[int], since: datetime) -> Counts:
    """Count the open orders and the lists of users that were not read since the restore."""
    mine = Order.objects.filter(workspace__in=workspaces).exclude(status__in=ORDER_TERMINAL)
    users = UserList.objects.filter(workspace__in=workspaces)
    return {
        _("orders"): mine.filter(_not_read(since)).count(),
        _("lists of users"): users.exclude(read_at__gte=since).count(),
    }


def for_people(workspaces: Collection[int], since: datetime) -> Counts:
    """Count the uncertain placements."""
    mine = Placement.objects.filter(workspace__in=workspaces)
    return {_("uncertain placements"): mine.filter(state=State.UNCERTAIN).count()}


RECOVERY = Recovery(begin, unread, for_people)
