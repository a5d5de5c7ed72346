"""What is true of one row at any time is refused by the database, by a name that says it (I31)."""

import uuid
from datetime import UTC, datetime, time
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, models, transaction

from crm_sync.models import (
    Alarm,
    ChangeSequence,
    OutgoingMessage,
    ReceivedEvent,
    ReportedChange,
    Slot,
    Subscription,
    WebhookMonitor,
    Workspace,
)
from orders.models import (
    Assignment,
    ChangeRequest,
    Material,
    MaterialFile,
    MaterialSet,
    Order,
    PersonSettings,
    Placement,
    PlatformUser,
    ReminderSettings,
    Target,
    TargetFile,
    UserList,
)
from properties.models import (
    DeliveredFile,
    Fetch,
    Import,
    Property,
    Recurring,
    Sender,
    Source,
    Undo,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TOKEN = uuid.uuid4()
DIGEST = "d" * 64

Columns = dict[str, Any]
SETTLED: Columns = {"state": "IGNORED"}
DUE: Columns = {"due_at": NOW}
PULL: Columns = {"kind": "PULL", "due_at": NOW}
UPLOAD: Columns = {"state": "PREVIEWED", "due_at": NOW}
SET: Columns = {"ready_at": NOW, "fetched_at": NOW}
DRAFT: Columns = {"object_reference_id": "R-1"}
PENDING, SETTLED_AND_DUE = "pending_received_event_is_due", "settled_received_event_is_not_due"
NO_DIGEST, HAS_DIGEST = (
    "understood_received_event_has_a_digest",
    "stuck_received_event_has_no_digest",
)

# The constraint, the table, a row that keeps it, and what would break it.
CONSTRAINTS: list[tuple[str, type[models.Model], Columns, Columns]] = [
    ("received_event_has_no_half_lease", ReceivedEvent, DUE, {"lease_token": TOKEN}),
    ("webhook_monitor_has_no_half_lease", WebhookMonitor, DUE, {"lease_token": TOKEN}),
    ("property_has_no_half_lease", Property, {}, {"lease_token": TOKEN}),
    ("import_has_no_half_lease", Import, UPLOAD, {"lease_token": TOKEN}),
    ("order_has_no_half_lease", Order, {}, {"lease_token": TOKEN}),
    ("material_set_has_no_half_lease", MaterialSet, SET, {"lease_token": TOKEN}),
    ("slot_has_no_half_lease", Slot, {"number": 0}, {"lease_token": TOKEN}),
    ("received_event_has_no_half_lease", ReceivedEvent, DUE, {"lease_until": NOW}),
    ("slot_has_no_half_lease", Slot, {"number": 0}, {"lease_until": NOW}),
    ("received_event_has_a_known_state", ReceivedEvent, DUE, {"state": "LOST"}),
    (PENDING, ReceivedEvent, DUE, {"due_at": None}),
    (PENDING, ReceivedEvent, DUE, {"state": "EARLY", "due_at": None}),
    (SETTLED_AND_DUE, ReceivedEvent, SETTLED, {"due_at": NOW}),
    (SETTLED_AND_DUE, ReceivedEvent, DUE, {"state": "APPLIED", "canonical_digest": DIGEST}),
    (SETTLED_AND_DUE, ReceivedEvent, DUE, {"state": "DUPLICATE", "canonical_digest": DIGEST}),
    (SETTLED_AND_DUE, ReceivedEvent, DUE, {"state": "STALE", "canonical_digest": DIGEST}),
    (SETTLED_AND_DUE, ReceivedEvent, DUE, {"state": "QUARANTINED"}),
    (NO_DIGEST, ReceivedEvent, SETTLED, {"state": "APPLIED"}),
    (NO_DIGEST, ReceivedEvent, SETTLED, {"state": "DUPLICATE"}),
    (NO_DIGEST, ReceivedEvent, SETTLED, {"state": "STALE"}),
    (HAS_DIGEST, ReceivedEvent, DUE, {"state": "EARLY", "canonical_digest": DIGEST}),
    (HAS_DIGEST, ReceivedEvent, DUE, {"state": "FAILED", "canonical_digest": DIGEST}),
    (HAS_DIGEST, ReceivedEvent, SETTLED, {"state": "QUARANTINED", "canonical_digest": DIGEST}),
    ("user_list_has_no_half_lease", UserList, DUE, {"lease_token": TOKEN}),
    ("user_list_is_read_again", UserList, DUE, {"due_at": None}),
    ("recurring_has_no_half_lease", Recurring, PULL, {"lease_token": TOKEN}),
    ("recurring_is_due_again", Recurring, PULL, {"due_at": None}),
    ("user_of_the_platform_has_an_id", PlatformUser, {"platform_id": "1"}, {"platform_id": ""}),
    ("webhook_is_polled_again", WebhookMonitor, DUE, {"due_at": None}),
    ("property_to_be_read_once_more_is_due", Property, {}, {"verify_at": NOW}),
    ("documents_of_a_property_are_objects", Property, {}, {"desired": []}),
    ("import_has_a_known_state", Import, UPLOAD, {"state": "LOST", "ended_at": NOW}),
    ("open_import_is_due", Import, UPLOAD, {"due_at": None}),
    ("running_import_was_released", Import, UPLOAD, {"state": "RUNNING"}),
    ("ended_import_says_when", Import, UPLOAD, {"state": "DONE"}),
    ("announced_materials_are_fetched_or_say_why_not", MaterialSet, SET, {"fetched_at": None}),
    ("placement_has_a_known_state", Placement, DRAFT, {"state": "LOST"}),
    ("placed_placement_has_an_order", Placement, DRAFT, {"state": "PLACED"}),
    (
        *("placement_that_is_sent_says_since_when", Placement, DRAFT),
        {"state": "SENDING", "confirmed_at": NOW, "due_at": NOW},
    ),
    ("placement_to_be_sent_is_confirmed", Placement, DRAFT, {"state": "CONFIRMED", "due_at": NOW}),
    ("placement_for_a_worker_is_due", Placement, DRAFT, {"state": "PREPARING"}),
    (
        *("placement_to_be_sent_is_confirmed", Placement, DRAFT),
        {"state": "SENDING", "sent_at": NOW, "due_at": NOW},
    ),
    (
        *("placement_for_a_worker_is_due", Placement, DRAFT),
        {"state": "CONFIRMED", "confirmed_at": NOW},
    ),
    (
        *("placement_for_a_worker_is_due", Placement, DRAFT),
        {"state": "SENDING", "sent_at": NOW, "confirmed_at": NOW},
    ),
    ("placement_has_no_half_lease", Placement, DRAFT, {"lease_token": TOKEN}),
    ("sender_that_sets_a_state_names_it", Sender, {"name": "A"}, {"missing": "SET_STATE"}),
]
FEED: Columns = {"address": "https://feeds.test/a", "due_at": NOW}


@pytest.fixture
def workspace(db) -> Workspace:
    return Workspace.objects.create(slug="main", base_url="http://platform.invalid")


def refused(row: models.Model, columns: Columns) -> str:
    """Write past the product, as a bug would; what the database says to it."""
    mine = type(row)._default_manager.filter(pk=row.pk)
    before = mine.values().get()
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        mine.update(**columns)
    assert mine.values().get() == before
    return str(caught.value)


@pytest.mark.rule("I31")
@pytest.mark.parametrize(("constraint", "model", "valid", "breaking"), CONSTRAINTS)
def test_the_database_refuses_what_no_row_may_be(workspace, constraint, model, valid, breaking):
    row = model._default_manager.create(workspace=workspace, **valid)
    assert constraint in refused(row, breaking)


def test_a_placement_with_an_order_is_placed(workspace):
    order = Order.objects.create(workspace=workspace, platform_id="1")
    row = Placement.objects.create(workspace=workspace, state="PLACED", order=order)
    assert "placement_with_an_order_is_placed" in refused(row, {"state": "UNCERTAIN"})


def test_an_assignment_has_no_half_lease(workspace):
    order = Order.objects.create(workspace=workspace, platform_id="1")
    row = Assignment.objects.create(workspace=workspace, order=order, platform_id="2")
    assert "assignment_has_no_half_lease" in refused(row, {"lease_token": TOKEN})


def test_a_change_of_an_order_ends_with_its_outcome(workspace):
    order = Order.objects.create(workspace=workspace, platform_id="1")
    row = ChangeRequest.objects.create(order=order, kind="CANCEL", token=TOKEN, sent_at=NOW)
    assert "change_request_ends_with_its_outcome" in refused(row, {"outcome": "DONE"})
    assert "change_request_ends_with_its_outcome" in refused(row, {"ended_at": NOW})


def test_who_wants_mail_has_a_watermark_is_due_and_has_no_half_lease(admin_user):
    row = PersonSettings.objects.create(person=admin_user)
    assert "person_settings_has_no_half_lease" in refused(row, {"lease_token": TOKEN})
    for columns in ({"on_action": True}, DUE, {"told_until": NOW}, {"on_action": True, **DUE}):
        assert "who_wants_mail_is_due_and_nobody_else" in refused(row, columns)


@pytest.mark.parametrize(
    ("constraint", "breaking"),
    [
        ("material_file_has_no_half_lease", {"lease_token": TOKEN}),
        ("stored_file_has_a_name_and_a_digest", {"name": "1.png"}),
        ("stored_file_has_a_name_and_a_digest", {"stored_at": NOW}),
        ("wanted_files_are_stored_or_say_why_not", {"due_at": None}),
    ],
)
def test_a_file_is_wanted_stored_or_says_why_not(workspace, constraint, breaking):
    ready = MaterialSet.objects.create(workspace=workspace, **SET)
    one = Material.objects.create(material_set=ready, platform_id="1")
    row = MaterialFile.objects.create(workspace=workspace, material=one, role="FILE", **DUE)
    assert constraint in refused(row, breaking)


def test_a_source_that_is_fetched_has_one_schedule_and_is_due(workspace):
    sender = Sender.objects.create(workspace=workspace, name="A")
    row = Source.objects.create(workspace=workspace, sender=sender, **FEED)
    assert "source_has_no_half_lease" in refused(row, {"lease_token": TOKEN})
    for columns in ({"every_minutes": None}, {"daily_at": time(6)}):
        assert "source_has_one_schedule" in refused(row, columns)
    assert "source_on_a_schedule_is_due" in refused(row, {"due_at": None})
    assert "source_signs_in_in_a_known_way" in refused(row, {"sign_in": "SMILE"})


def test_a_delivered_file_is_known_once_and_one_at_a_time_is_imported(workspace):
    sender = Sender.objects.create(workspace=workspace, name="A")
    source = Source.objects.create(workspace=workspace, sender=sender, **FEED)
    assert "source_has_known_deliveries" in refused(source, {"delivery": "BY_POST"})
    DeliveredFile.objects.create(source=source, name="1", state="TAKEN")
    row = DeliveredFile.objects.create(source=source, name="2", state="DONE")
    assert "delivered_file_has_a_known_state" in refused(row, {"state": "LOST"})
    for columns in ({"name": "1"}, {"state": "TAKEN"}):
        assert "deliver" in refused(row, columns)


def test_a_fetch_has_a_known_outcome_and_no_half_lease(workspace):
    sender = Sender.objects.create(workspace=workspace, name="A")
    source = Source.objects.create(workspace=workspace, sender=sender, **FEED)
    row = Fetch.objects.create(workspace=workspace, source=source, outcome="UNCHANGED")
    assert "fetch_has_a_known_outcome" in refused(row, {"outcome": "LOST"})
    assert "fetch_has_no_half_lease" in refused(row, {"lease_token": TOKEN})


def test_a_subscription_that_is_enabled_is_due_and_its_messages_while_they_are_pending(workspace):
    to = Subscription.objects.create(workspace=workspace, address="https://x.test", **DUE)
    assert "subscription_has_no_half_lease" in refused(to, {"lease_token": TOKEN})
    assert "enabled_subscription_is_due" in refused(to, {"due_at": None})
    assert "subscription_has_a_known_format" in refused(to, {"format": "XML"})
    row = OutgoingMessage.objects.create(workspace=workspace, subscription=to, **DUE)
    assert "outgoing_has_a_known_state" in refused(row, {"state": "LOST", "due_at": None})
    for columns in ({"due_at": None}, {"state": "DELIVERED"}, {"state": "GIVEN_UP"}):
        assert "outgoing_is_due_as_long_as_it_is_pending" in refused(row, columns)


def test_an_alarm_that_is_over_was_told(workspace):
    known = {"workspace": workspace, "kind": "source_away", "page": "/", "began_at": NOW}
    row = Alarm.objects.create(**known, **DUE)
    assert "alarm_has_no_half_lease" in refused(row, {"lease_token": TOKEN})
    assert "ended_alarm_was_told" in refused(row, {"ended_at": NOW})


def test_reminders_have_an_hour_of_the_day(workspace, admin_user):
    row = ReminderSettings.objects.create(person=admin_user, **DUE)
    assert "reminder_settings_has_no_half_lease" in refused(row, {"lease_token": TOKEN})
    assert "reminder_has_an_hour_of_the_day" in refused(row, {"hour": 24})


def test_a_target_is_of_a_known_kind_and_always_due(workspace):
    row = Target.objects.create(workspace=workspace, name="CRM", address="/a", **DUE)
    assert "target_has_no_half_lease" in refused(row, {"lease_token": TOKEN})
    assert "target_has_a_known_kind" in refused(row, {"kind": "PIGEON"})
    assert "target_takes_known_files" in refused(row, {"quality": "BEST"})
    assert "target_takes_known_files" in refused(row, {"content": "NOTHING"})
    assert "target_has_a_time_for_its_files" in refused(row, {"due_at": None})


def test_a_file_at_a_target_is_there_is_due_or_says_why_not(workspace):
    target = Target.objects.create(workspace=workspace, name="CRM", address="/a", **DUE)
    ready = MaterialSet.objects.create(workspace=workspace, **SET)
    one = Material.objects.create(material_set=ready, platform_id="M-1")
    row = TargetFile.objects.create(workspace=workspace, target=target, material=one, **DUE)
    assert "files_for_a_target_are_there_or_say_why_not" in refused(row, {"due_at": None})
    for columns in ({"digest": DIGEST}, {"digest": DIGEST, "uploaded_at": NOW}):
        assert "uploaded_file_has_a_name_and_a_time" in refused(row, columns)


def test_a_change_has_a_number_of_its_own_and_only_what_was_numbered_is_removed(workspace):
    sequence = ChangeSequence.objects.create(workspace=workspace, last=2)
    assert "removed_change_was_numbered" in refused(sequence, {"removed": 3})
    row, other = (
        ReportedChange.objects.create(workspace=workspace, number=number, occurred_at=NOW)
        for number in (1, None)
    )
    assert "number_of_a_change_is_positive" in refused(other, {"number": 0})
    with pytest.raises(IntegrityError), transaction.atomic():
        ReportedChange.objects.filter(pk=other.pk).update(number=row.number)


def test_an_undo_is_due_until_it_has_ended(workspace):
    row = Undo.objects.create(workspace=workspace, up_to=0, **DUE)
    assert "undo_has_no_half_lease" in refused(row, {"lease_token": TOKEN})
    assert "open_undo_is_due" in refused(row, {"due_at": None})


@pytest.mark.once
def test_each_constraint_of_the_database_is_tried(db):
    ours = [
        constraint.name
        for label in ("crm_sync", "properties", "orders")
        for model in apps.get_app_config(label).get_models()
        for constraint in model._meta.constraints
        if isinstance(constraint, models.CheckConstraint)
    ]
    tried = {name for name, *_ in CONSTRAINTS}
    tried |= {"placement_with_an_order_is_placed", "assignment_has_no_half_lease"}
    tried |= {"change_request_ends_with_its_outcome", "person_settings_has_no_half_lease"}
    tried |= {"who_wants_mail_is_due_and_nobody_else"}
    tried |= {"material_file_has_no_half_lease"}
    tried |= {"stored_file_has_a_name_and_a_digest", "wanted_files_are_stored_or_say_why_not"}
    tried |= {"source_has_no_half_lease", "source_has_one_schedule", "source_on_a_schedule_is_due"}
    tried |= {"source_signs_in_in_a_known_way", "source_has_known_deliveries"}
    tried |= {"delivered_file_has_a_known_state"}
    tried |= {"fetch_has_a_known_outcome", "fetch_has_no_half_lease"}
    tried |= {"subscription_has_no_half_lease", "enabled_subscription_is_due"}
    tried |= {"subscription_has_a_known_format"}
    tried |= {"alarm_has_no_half_lease", "ended_alarm_was_told"}
    tried |= {"reminder_settings_has_no_half_lease", "reminder_has_an_hour_of_the_day"}
    tried |= {"outgoing_has_a_known_state", "outgoing_is_due_as_long_as_it_is_pending"}
    tried |= {"removed_change_was_numbered", "number_of_a_change_is_positive"}
    tried |= {"target_has_no_half_lease", "target_has_a_known_kind", "target_takes_known_files"}
    tried |= {"target_has_a_time_for_its_files", "uploaded_file_has_a_name_and_a_time"}
    tried |= {"files_for_a_target_are_there_or_say_why_not"}
    tried |= {"undo_has_no_half_lease", "open_undo_is_due"}
    assert set(ours) - tried == set()
