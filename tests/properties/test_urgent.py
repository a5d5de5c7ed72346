"""What a person does goes before what a feed made due, and the feed still moves on."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from crm_sync.work import leases, queues
from properties.domain import editing
from properties.models import Property
from properties.models.change import Origin
from properties.push.queue import PROPERTIES

pytestmark = pytest.mark.django_db(transaction=True)
OF_THE_FEED = 50


@pytest.fixture
def backlog(workspace) -> list[Property]:
    """Properties that a feed made due before anybody edited one."""
    long_ago = timezone.now() - timedelta(minutes=1)
    rows = [
        Property(
            workspace=workspace,
            object_reference_id=f"F-{number}",
            due_at=long_ago + timedelta(milliseconds=number),
        )
        for number in range(OF_THE_FEED)
    ]
    return Property.objects.bulk_create(rows)


def edited(workspace, reference: str, origin: Origin = Origin.ADMIN) -> Property:
    now = timezone.now()
    return editing.create(workspace, reference, {"title": "New"}, origin=origin, now=now)


def claimed(workspace, count: int) -> list[str]:
    return [one.row.object_reference_id for one in PROPERTIES.claim(workspace.pk, count)]


def test_an_edit_of_a_person_is_claimed_before_a_long_backlog(workspace, backlog):
    edited(workspace, "API-1", Origin.HTTP_API)
    edited(workspace, "A-1")
    assert claimed(workspace, 4) == ["A-1", "F-0", "F-1", "F-2"]
    assert claimed(workspace, 2) == ["F-3", "F-4"]


def test_half_of_each_claim_is_left_to_a_feed(workspace, backlog):
    for number in range(9):
        edited(workspace, f"A-{number}")
    assert claimed(workspace, 4) == ["A-0", "A-1", "F-0", "F-1"]
    assert claimed(workspace, 1) == ["A-2"]
    assert claimed(workspace, 3) == ["A-3", "A-4", "F-2"]


def test_whatever_is_due_fills_a_claim(workspace):
    for number in range(5):
        edited(workspace, f"A-{number}")
    assert claimed(workspace, 4) == ["A-0", "A-1", "A-2", "A-3"]
    assert claimed(workspace, 4) == ["A-4"]


def test_send_now_goes_first_and_a_row_given_back_is_as_urgent_as_before(workspace, backlog):
    chosen = backlog[-1]
    editing.due_now(Property.objects.filter(pk=chosen.pk))
    (claim,) = PROPERTIES.claim(workspace.pk, 1)
    assert (claim.row.pk, claim.row.is_urgent) == (chosen.pk, False)
    claim.give_back()
    (again, other) = PROPERTIES.claim(workspace.pk, 2)
    assert (again.row.pk, other.row.pk) == (chosen.pk, backlog[0].pk)
    again.finish(due_at=timezone.now())  # once more, and no person asked for it
    assert claimed(workspace, 1) == ["F-1"]


def test_urgency_of_an_edit_during_a_push_outlives_that_push(workspace, backlog):
    row = edited(workspace, "A-1")
    (claim,) = PROPERTIES.claim(workspace.pk, 1)
    editing.edit(row, {"title": "Newer"}, origin=Origin.ADMIN, now=timezone.now())
    claim.finish(due_at=None)
    assert claimed(workspace, 1) == ["A-1"]


def test_what_is_put_off_is_as_urgent_as_before(workspace, backlog):
    edited(workspace, "A-1")
    for _ in range(2):
        (claim,) = PROPERTIES.claim(workspace.pk, 1)
        assert claim.row.object_reference_id == "A-1"
        queues.put_off(claim)
        Property.objects.filter(pk=claim.row.pk).update(due_at=timezone.now())
    assert claimed(workspace, 1) == ["A-1"]


def test_what_a_person_edits_while_it_is_claimed_stays_urgent_when_it_is_given_back(
    workspace, backlog
):
    claims = PROPERTIES.claim(workspace.pk, 1)
    editing.edit(backlog[0], {"title": "New"}, origin=Origin.ADMIN, now=timezone.now())
    assert leases.give_back(claims) == []
    assert claimed(workspace, 1) == ["F-0"]


def test_the_database_finds_what_is_urgent_by_its_index(workspace, backlog):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL reads a table of fifty rows whole")
    rows = Property.objects.filter(workspace=workspace, due_at__lte=timezone.now())
    plan = rows.filter(is_urgent=True).order_by("due_at")[:2].explain()
    assert "USING INDEX property_urgent" in plan
