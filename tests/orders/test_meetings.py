"""Events and people who write the same orders at the same moment."""

import json

import pytest
from django.db import transaction
from django.urls import reverse
from django.utils.timezone import now

from crm_sync.platform.events import parse
from orders.models import Order
from tests.orders.conftest import handled, order_moved
from tests.together import behind

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.rule("I22")
def test_events_and_a_person_who_refreshes_their_orders_meet_and_neither_fails(main, boss):
    for number in range(6):
        columns = {"platform_id": str(number), "status": "PLACED", "created_at": now()}
        Order.objects.create(workspace=main, **columns)
    rows = list(Order.objects.order_by("pk"))
    for row in rows[:3]:  # in their table they stand behind the others now
        Order.objects.filter(pk=row.pk).update(attempts=1)
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
