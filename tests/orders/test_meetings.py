"""Events and people who write the same orders at the same moment."""

import json

import pytest
from django.db import transaction
from django.urls import reverse
from django.utils.timezone import now

from crm_sync.models import Workspace
from crm_sync.platform.events import parse
from orders.mirror.refresh import read_all_open
from orders.models import Order
from tests.orders.conftest import handled, order_moved
from tests.together import behind

pytestmark = pytest.mark.django_db(transaction=True)


def orders_that_were_written(workspace: Workspace) -> list[Order]:
    """Return six orders; the first three stand behind the others in their table and its indexes."""
    for number in range(6):
        columns = {"platform_id": str(number), "status": "PLACED", "created_at": now()}
        reference = f"R-{9 - number}"
        Order.objects.create(workspace=workspace, object_reference_id=reference, **columns)
    rows = list(Order.objects.order_by("pk"))
    for row in rows[:3]:
        Order.objects.filter(pk=row.pk).update(attempts=1)
    return rows


@pytest.mark.rule("I22")
def test_events_and_a_person_who_refreshes_their_orders_meet_and_neither_fails(main, boss):
    rows = orders_that_were_written(main)
    moved = order_moved(1, "PLACED", "IN_PROGRESS")
    events = [parse(json.dumps(moved | {"orderId": row.platform_id}).encode()) for row in rows]

    def apply() -> None:
        with transaction.atomic():
            handled(main.pk, *events)

    page = reverse("admin:orders_order_changelist")
    act = {"action": "read_again", "_selected_action": [row.pk for row in rows]}
    third = Order.objects.filter(pk=rows[2].pk)
    _, answer = behind(apply, lambda: boss.post(page, act), locked=third)
    assert answer.status_code == 302
    assert Order.objects.filter(status="IN_PROGRESS", due_at__lte=now()).count() == len(rows)


@pytest.mark.rule("I21", "I22")
def test_events_and_a_gap_after_which_all_open_orders_are_read_meet_and_neither_fails(main):
    rows = orders_that_were_written(main)
    moved = order_moved(1, "PLACED", "IN_PROGRESS")
    events = [parse(json.dumps(moved | {"orderId": row.platform_id}).encode()) for row in rows]

    def apply() -> None:
        with transaction.atomic():
            handled(main.pk, *events)

    third = Order.objects.filter(pk=rows[2].pk)
    behind(apply, lambda: read_all_open(main.pk, now()), locked=third)
    assert Order.objects.filter(status="IN_PROGRESS", due_at__lte=now()).count() == len(rows)
