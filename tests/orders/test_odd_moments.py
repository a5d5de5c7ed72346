"""Moments at the ends of the calendar, as of an "open end": nothing is lost, and pages open."""

import json

import pytest
from django.core import mail
from django.urls import reverse

from crm_sync import hooks
from crm_sync.inbox import store
from crm_sync.models import ReceivedEvent
from crm_sync.work import turn
from orders.models import Order
from tests.orders.admin_rows import make_order
from tests.orders.conftest import now, tell
from tests.orders.test_notices import HOUR, agent, cancelled, drain, pass_by

LAST = "9999-12-31T23:59:59Z"


@pytest.mark.rule("I33")
def test_an_appointment_at_the_end_of_the_calendar_keeps_no_news_from_a_person(main):
    agent()
    cancelled(make_order(main, "2"))
    tell(
        main,
        "APPOINTMENT_DATE_UPDATED",
        occurredAt="2026-01-31T10:00:00Z",
        orderId="1",
        assignmentId="7",
        scheduledAt=LAST,
    )
    pass_by(HOUR)
    assert drain() == {"sent": 1}
    assert len(mail.outbox) == 1


@pytest.mark.parametrize(
    ("moment", "zone"), [(LAST, "Europe/Zurich"), ("0001-01-01T00:00:00Z", "America/New_York")]
)
def test_pages_open_whatever_the_moment_of_an_event_is(workspace, boss, settings, moment, zone):
    settings.TIME_ZONE = zone
    ids = {"orderId": "1", "assignmentId": "7", "scheduledAt": moment}
    tell(workspace, "APPOINTMENT_DATE_UPDATED", occurredAt="2026-01-31T10:00:00Z", **ids)
    event = {"event": "APPOINTMENT_DATE_UPDATED", "occurredAt": moment, **ids}
    source = ReceivedEvent.Source.CALLBACK
    body = json.dumps(event).encode()
    store.store(workspace.pk, body, headers={}, method="POST", source=source, now=now())
    turn.take(hooks.queue("received_events"), workspace.pk, seconds=20.0)
    for row in (Order.objects.get(), ReceivedEvent.objects.get()):
        name = f"admin:{row._meta.label_lower.replace('.', '_')}_change"
        assert boss.get(reverse(name, args=[row.pk])).status_code == 200
