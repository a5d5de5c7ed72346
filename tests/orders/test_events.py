"""All seven events change the right rows, through our real callback view (§6.3)."""

from datetime import UTC, date, datetime, timedelta

import pytest

from crm_sync import hooks
from crm_sync.models import ReceivedEvent
from crm_sync.work import turn
from orders.models import Assignment, Material, MaterialSet, Order, StatusChange
from tests.orders.conftest import effects, mirror, timeline


def hear(box, drain_all) -> None:
    assert box.deliver() > 0
    drain_all()
    assert set(ReceivedEvent.objects.values_list("state", flat=True)) <= {"APPLIED", "STALE"}


@pytest.mark.rule(
    "3.1 PLACED → IN_PROGRESS; IN_PROGRESS → COMPLETED",
    "3.2 CREATED → PHOTOGRAPHER_ASSIGNED; PHOTOGRAPHER_ASSIGNED → SCHEDULED",
    "3.2 SCHEDULED → IN_PRODUCTION; IN_PRODUCTION → DELIVERED",
    "3.3 rule 2",
    "6.2 ORDER_STATUS_UPDATED; ASSIGNMENT_STATUS_UPDATED",
    "6.3 ORDER_STATUS_UPDATED; ASSIGNMENT_STATUS_UPDATED event",
    "6.3 ASSIGNMENT_STATUS_UPDATED assignmentId; ASSIGNMENT_STATUS_UPDATED newStatus",
)
def test_a_photo_order_is_followed_to_its_end(box, place, drain_all):
    order = place()
    assignment = Assignment.objects.get()
    assert (order.status, assignment.status) == ("PLACED", "CREATED")

    box.advance(assignment.platform_id)  # accepted
    hear(box, drain_all)
    order.refresh_from_db()
    assignment.refresh_from_db()
    assert (order.status, assignment.status) == ("IN_PROGRESS", "PHOTOGRAPHER_ASSIGNED")
    assert (
        assignment.photographer == box.workspace.assignments[assignment.platform_id]["photographer"]
    )

    box.advance(assignment.platform_id)  # confirmed
    hear(box, drain_all)
    assignment.refresh_from_db()
    there = box.workspace.assignments[assignment.platform_id]
    assert assignment.status == "SCHEDULED"
    assert assignment.scheduled_at == datetime.fromisoformat(there["scheduledAt"])
    assert assignment.estimated_delivery_date == date.fromisoformat(there["estimatedDeliveryAt"])

    box.advance(assignment.platform_id)  # the shoot is done
    box.advance(assignment.platform_id)  # delivered
    hear(box, drain_all)
    order.refresh_from_db()
    assignment.refresh_from_db()
    assert (order.status, assignment.status) == ("COMPLETED", "DELIVERED")
    assert order.due_at > datetime.now(UTC) + timedelta(hours=23)  # the last read
    assert order.observed["status"] == "COMPLETED"
    assert timeline(fact="ORDER_STATUS", source="CALLBACK") == [
        ("ORDER_STATUS", "PLACED", "IN_PROGRESS"),
        ("ORDER_STATUS", "IN_PROGRESS", "COMPLETED"),
    ]
    assert [new for _, _, new in timeline(fact="ASSIGNMENT_STATUS", source="CALLBACK")] == [
        *("PHOTOGRAPHER_ASSIGNED", "SCHEDULED", "IN_PRODUCTION", "DELIVERED")
    ]
    assert StatusChange.objects.filter(is_listed=False).count() == 0
    assert f"order {order.platform_id}: Placed → In progress" in effects()


@pytest.mark.rule(
    "6.2 VISUALS_READY",
    "6.3 VISUALS_READY event; VISUALS_READY orderId; VISUALS_READY assignmentId",
)
def test_visuals_that_are_ready_are_fetched(box, place, drain_all):
    order = place()
    for _ in range(4):
        box.advance(Assignment.objects.get().platform_id)
    hear(box, drain_all)
    ready = MaterialSet.objects.get(visual_type="POST")
    assert (ready.product, ready.visual_type, ready.order) == ("GROUND_PHOTO", "POST", order)
    assert (ready.due_at, ready.problem) == (None, "")
    assert ready.fetched_at is not None
    material = Material.objects.get(material_set=ready)
    there = box.workspace.materials[ready.assignment.platform_id][0]
    assert (material.platform_id, material.file_name) == (there["id"], there["fileName"])
    assert (material.size, material.mime_type) == (there["size"], "image/png")
    assert material.url == f"http://sandbox.test{there['url']}"
    assert material.modified_at == datetime.fromisoformat(there["modifiedAt"])


@pytest.mark.rule(
    "4.5 GET marketing materials", "6.2 MARKETING_MATERIALS_READY", "6.3 MARKETING_MATERIALS_READY"
)
def test_marketing_materials_that_are_ready_are_fetched(box, home, drain_all):
    box.marketing_ready("201", "INSTAGRAM")
    box.marketing_ready("201", "LINKEDIN")
    hear(box, drain_all)
    sets = MaterialSet.objects.order_by("target_platform")
    assert [(one.target_platform, one.real_estate_property, one.due_at) for one in sets] == [
        ("INSTAGRAM", home, None),
        ("LINKEDIN", home, None),
    ]
    assert [one.target_platform for one in Material.objects.order_by("target_platform")] == [
        *("INSTAGRAM", "LINKEDIN")
    ]
    assert effects()[0] == "property 201: INSTAGRAM is ready"


@pytest.mark.rule("I27")
def test_a_new_announcement_fetches_the_set_again(box, home, drain_all):
    for _ in range(2):
        box.marketing_ready("201", "INSTAGRAM")
        hear(box, drain_all)
    assert MaterialSet.objects.count() == 1
    assert Material.objects.count() == 2


@pytest.mark.rule("6.2 APPOINTMENT_DATE_UPDATED", "6.3 APPOINTMENT_DATE_UPDATED")
def test_an_appointment_is_set_moved_and_cleared(box, place, drain_all):
    place()
    assignment = Assignment.objects.get()
    for wanted in ("2026-12-01T09:00:00Z", "2026-12-02T09:00:00Z", None):
        box.set_appointment(assignment.platform_id, wanted)
        hear(box, drain_all)
        assignment.refresh_from_db()
        assert assignment.scheduled_at == (datetime.fromisoformat(wanted) if wanted else None)
    assert timeline(fact="APPOINTMENT") == [
        ("APPOINTMENT", "", "2026-12-01T09:00:00+00:00"),
        ("APPOINTMENT", "2026-12-01T09:00:00+00:00", "2026-12-02T09:00:00+00:00"),
        ("APPOINTMENT", "2026-12-02T09:00:00+00:00", ""),
    ]
    assert effects()[-1].endswith("appointment cleared")


@pytest.mark.rule("6.2 ESTIMATED_DELIVERY_UPDATED", "6.3 ESTIMATED_DELIVERY_UPDATED")
def test_an_estimate_is_set(box, place, drain_all):
    place()
    assignment = Assignment.objects.get()
    box.set_estimate(assignment.platform_id, "2026-12-05")
    hear(box, drain_all)
    assignment.refresh_from_db()
    assert assignment.estimated_delivery_date == date(2026, 12, 5)
    assert timeline(fact="ESTIMATE") == [("ESTIMATE", "", "2026-12-05")]


@pytest.mark.rule(
    "3.2 values; CREATED → ACTION_REQUIRED; ACTION_REQUIRED → CREATED",
    "3.2 CREATED → IN_PROCESS; IN_PROCESS → DELIVERED",
    "6.3 ASSIGNMENT_STATUS_UPDATED actionRequired",
)
def test_a_document_order_asks_for_input_and_goes_on(box, place, drain_all):
    place("ENERGY_CERTIFICATE")
    assignment = Assignment.objects.get()
    box.advance(assignment.platform_id)
    hear(box, drain_all)
    assignment.refresh_from_db()
    assert assignment.status == "ACTION_REQUIRED"
    assert assignment.action_required == "DOCUMENT_UPLOAD_REQUIRED"
    box.advance(assignment.platform_id)
    hear(box, drain_all)
    assignment.refresh_from_db()
    assert (assignment.status, assignment.action_required) == ("CREATED", "")
    for status in ("IN_PROCESS", "DELIVERED"):
        box.advance(assignment.platform_id)
        hear(box, drain_all)
        assignment.refresh_from_db()
        assert assignment.status == status
    assert StatusChange.objects.filter(is_listed=False).count() == 0


@pytest.mark.rule(
    "3.3 rule 3", "6.2 ASSIGNMENT_STATUS_UPDATED", "6.3 ASSIGNMENT_STATUS_UPDATED scheduledAt"
)
def test_a_nudge_refreshes_the_logistics_and_moves_nothing(box, place, drain_all):
    place()
    assignment = Assignment.objects.get()
    there = box.workspace.assignments[assignment.platform_id]
    there["scheduledAt"], there["estimatedDeliveryAt"] = "2026-12-01T09:00:00Z", "2026-12-03"
    box.nudge(assignment.platform_id)
    hear(box, drain_all)
    assignment.refresh_from_db()
    assert assignment.status == "CREATED"
    assert assignment.scheduled_at == datetime(2026, 12, 1, 9, tzinfo=UTC)
    assert assignment.estimated_delivery_date == date(2026, 12, 3)
    assert StatusChange.objects.filter(is_listed=False).count() == 0


@pytest.mark.rule("3.2 UNKNOWN", "9 rule 3")
@pytest.mark.parametrize("status", ["IN_REVIEW", "IN_PRODUCTION"])
def test_a_move_that_is_not_listed_is_applied_and_flagged(box, place, drain_all, status):
    place()
    assignment = Assignment.objects.get()
    box.set_status(assignment.platform_id, status)
    hear(box, drain_all)
    assignment.refresh_from_db()
    assert assignment.status == status
    flagged = StatusChange.objects.get(is_listed=False)
    assert (flagged.previous, flagged.new) == ("CREATED", status)
    if status == "IN_REVIEW":
        assert assignment.status_shown == "Unknown (IN_REVIEW)"


@pytest.mark.rule("6.1 rule 2")
@pytest.mark.parametrize("header", ["VISUALS_READY", "SOMETHING_NEW", None])
def test_the_body_says_which_event_it_is_whatever_its_header_says(
    box, workspace, place, client, drain_all, header
):
    order = place()
    payload = {
        "event": "ORDER_STATUS_UPDATED",
        "occurredAt": datetime.now(UTC).isoformat(),
        "orderId": order.platform_id,
        "previousStatus": "PLACED",
        "newStatus": "IN_PROGRESS",
    }
    headers = {"X-API-Key": workspace.auth_secret, "X-Something-New": "x"}
    headers |= {"X-Event-Type": header} if header else {}
    path = f"/webhooks/{workspace.uuid}/"
    answer = client.post(path, payload, "application/json", headers=headers)
    assert answer.status_code == 200
    turn.take(hooks.queue("received_events"), workspace.pk, seconds=20.0)
    order.refresh_from_db()
    assert order.status == "IN_PROGRESS"
    stored = ReceivedEvent.objects.get()
    assert (stored.kind, stored.headers.get("X-Event-Type")) == ("ORDER_STATUS_UPDATED", header)


@pytest.mark.rule("6.1 rule 5")
def test_a_history_that_comes_once_more_changes_nothing(box, workspace, place, drain_all):
    place("GROUND_PHOTO", "LAND_REGISTER_EXTRACT")
    while box.step():
        box.deliver()
    drain_all()
    before, lines = mirror(), StatusChange.objects.count()
    # As if none of it had been applied: the handlers see every event a second time.
    again = ReceivedEvent.objects.filter(workspace=workspace)
    past = datetime.now(UTC) - timedelta(seconds=1)
    again.update(state="RECEIVED", due_at=past, canonical_digest="")
    Order.objects.update(due_at=None)
    drain_all()
    assert mirror() == before
    assert StatusChange.objects.count() == lines
    assert set(again.values_list("state", flat=True)) == {"STALE"}
