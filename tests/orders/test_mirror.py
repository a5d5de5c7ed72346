"""What single events do to the mirror: gaps, ties, staleness, the unknown, null and absent."""

from datetime import UTC, date, datetime

import pytest
from django.utils.translation import override

from crm_sync.hooks import Effect, Outcome
from crm_sync.sentence import Sentence
from orders.models import Assignment, MaterialSet, Order, StatusChange
from properties.models import Property
from tests.orders.conftest import (
    appointed,
    at,
    is_due,
    mirror,
    move,
    move_order,
    set_aside,
    tell,
    timeline,
)

FIRST, SECOND = "2026-02-03T09:00:00Z", "2026-02-04T09:00:00Z"


def appoint(workspace, second, scheduled_at) -> Effect:
    return tell(workspace, **appointed(second, scheduled_at))


@pytest.fixture
def order(workspace) -> Order:
    """Return an order that is known to be PLACED, its assignment CREATED, and not due."""
    move_order(workspace, 0, "", "PLACED")
    move(workspace, 0, "", "CREATED", assignmentType="PHOTO")
    known = Order.objects.get()
    set_aside(known)
    return known


def test_an_unknown_order_is_kept_and_read(workspace):
    effect = move_order(workspace, 1, "PLACED", "IN_PROGRESS")
    assert effect == Effect(Outcome.APPLIED, "order 1: Placed → In progress")
    order = Order.objects.get()
    assert (order.platform_id, order.status, order.read_at) == ("1", "IN_PROGRESS", None)
    assert is_due(order)


def test_the_statuses_of_an_effect_are_in_the_language_of_the_reader(workspace, order):
    """Also of one that is not listed. An unknown one stays a word of the platform (A28)."""
    told = move_order(workspace, 1, "PLACED", "COMPLETED")
    odd = move(workspace, 2, "CREATED", "ON_HOLD", assignmentType="PHOTO")
    effects = [Sentence.loaded(one.text.dumped) for one in (told, odd)]
    read = {}
    for language in ("en", "de", "fr", "it"):
        with override(language):
            read[language] = [one.said() for one in effects]
    assert read == {
        "en": [
            "order 1: Placed → Completed (not a listed move)",
            "order 1, assignment 7: Created → ON_HOLD (not a listed move)",
        ],
        "de": [
            "Auftrag 1: Erteilt → Abgeschlossen (kein vorgesehener Wechsel)",
            "Auftrag 1, Teilauftrag 7: Erstellt → ON_HOLD (kein vorgesehener Wechsel)",
        ],
        "fr": [
            "commande 1\xa0: Passée → Terminée (passage non prévu)",
            "commande 1, mission 7\xa0: Créée → ON_HOLD (passage non prévu)",
        ],
        "it": [
            "ordine 1: Inviato → Concluso (passaggio non previsto)",
            "ordine 1, incarico 7: Creato → ON_HOLD (passaggio non previsto)",
        ],
    }
    # An event that an older version applied is shown as it was stored.
    assert Sentence.loaded("order 1: PLACED → COMPLETED").said() == "order 1: PLACED → COMPLETED"


@pytest.mark.rule("6.3 VISUALS_READY realEstatePropertyId; VISUALS_READY objectReferenceId")
def test_an_unknown_order_is_tied_to_its_property_by_either_name(workspace, home):
    said = {"timestamp": at(1), "visualType": "POST", "product": "GROUND_PHOTO"}
    names = [{"objectReferenceId": "SEED-1"}, {"realEstatePropertyId": "201"}, {}]
    for number, name in enumerate(names):
        ids = {"orderId": f"{number}", "assignmentId": f"{number}"}
        tell(workspace, "VISUALS_READY", **said, **ids, **name)
    tied = Order.objects.order_by("platform_id").values_list("real_estate_property", flat=True)
    assert list(tied) == [home.pk, home.pk, None]


def test_an_order_of_another_property_with_the_same_reference_is_not_tied_to_ours(workspace, home):
    names = {"objectReferenceId": "SEED-1", "realEstatePropertyId": "999"}
    ready = {"timestamp": at(1), "assignmentId": "7", "visualType": "POST", "product": "FLOOR_PLAN"}
    tell(workspace, "VISUALS_READY", orderId="1", **ready, **names)
    order = Order.objects.get()
    assert (order.real_estate_property, order.property_platform_id) == (None, "999")
    Property.objects.create(workspace=workspace, platform_id="999")  # as a pull finds it (A44)
    tell(workspace, "VISUALS_READY", orderId="1", **ready, **names)
    assert Order.objects.get().real_estate_property.platform_id == "999"


@pytest.mark.rule("6.3 ASSIGNMENT_STATUS_UPDATED orderId")
def test_an_unknown_assignment_of_a_known_order_is_read(workspace, order):
    tell(
        workspace,
        "ESTIMATED_DELIVERY_UPDATED",
        occurredAt=at(1),
        orderId="1",
        assignmentId="8",
        estimatedDeliveryAt="2026-02-05",
    )
    assert Assignment.objects.get(platform_id="8").order == order
    assert is_due(order)


@pytest.mark.rule("S10", "3.1 PLACED → CANCELLED", "6.3 ORDER_STATUS_UPDATED")
def test_an_order_that_ends_is_read_once(workspace, order):
    move_order(workspace, 2, "PLACED", "CANCELLED")
    assert is_due(order)
    set_aside(order)
    move_order(workspace, 2, "PLACED", "CANCELLED")
    assert not is_due(order)


@pytest.mark.rule("6.3 ASSIGNMENT_STATUS_UPDATED occurredAt")
def test_a_stale_event_enters_the_timeline_and_nothing_else(workspace, order):
    move(workspace, 5, "CREATED", "PHOTOGRAPHER_ASSIGNED")
    before = mirror()
    effect = move(workspace, 3, "CREATED", "ACTION_REQUIRED")
    assert effect.outcome is Outcome.STALE
    assert effect.text.startswith("order 1, assignment 7: Created → Action required")
    assert mirror() == before
    assert not is_due(order)
    line = StatusChange.objects.get(was_stale=True)
    assert (line.previous, line.new, line.occurred_at) == (
        *("CREATED", "ACTION_REQUIRED"),
        datetime(2026, 1, 31, 10, 0, 3, tzinfo=UTC),
    )


def test_the_same_event_again_changes_nothing(workspace, order):
    move_order(workspace, 1, "PLACED", "IN_PROGRESS")
    before, lines = mirror(), timeline()
    assert move_order(workspace, 1, "PLACED", "IN_PROGRESS").outcome is Outcome.STALE
    assert mirror() == before
    assert timeline() == lines
    assert not is_due(order)


@pytest.mark.parametrize("moments", [(FIRST, SECOND), (SECOND, FIRST)])
def test_two_values_of_one_moment_are_settled_by_a_read(workspace, order, moments):
    appoint(workspace, 1, moments[0])
    assert not is_due(order)
    appoint(workspace, 1, moments[1])
    assert is_due(order)


def test_one_value_told_by_two_events_of_one_moment_is_no_question(workspace, order):
    appoint(workspace, 1, FIRST)
    set_aside(order)
    move(workspace, 1, "CREATED", "CREATED", scheduledAt=FIRST)
    assert not is_due(order)


@pytest.mark.rule("2 optional", "6.3 ASSIGNMENT_STATUS_UPDATED scheduledAt")
def test_an_absent_appointment_keeps_and_an_explicit_null_clears(workspace, order):
    move(workspace, 1, "CREATED", "CREATED", scheduledAt=FIRST)
    move(workspace, 2, "CREATED", "CREATED")
    assert Assignment.objects.get().scheduled_at == datetime.fromisoformat(FIRST)
    appoint(workspace, 3, None)
    assert Assignment.objects.get().scheduled_at is None
    move(workspace, 4, "CREATED", "CREATED", scheduledAt=SECOND)
    move(workspace, 5, "CREATED", "CREATED", scheduledAt=None)
    assert Assignment.objects.get().scheduled_at is None


@pytest.mark.rule("6.3 ASSIGNMENT_STATUS_UPDATED estimatedDeliveryAt")
def test_every_fact_of_an_assignment_has_a_clock_of_its_own(workspace, order):
    appoint(workspace, 9, SECOND)
    effect = move(
        workspace,
        5,
        "CREATED",
        "PHOTOGRAPHER_ASSIGNED",
        scheduledAt=FIRST,
        estimatedDeliveryAt="2026-02-05",
    )
    assert effect.outcome is Outcome.APPLIED
    row = Assignment.objects.get()
    assert row.status == "PHOTOGRAPHER_ASSIGNED"
    assert row.scheduled_at == datetime.fromisoformat(SECOND)
    assert row.estimated_delivery_date == date(2026, 2, 5)


@pytest.mark.rule("6.3 ASSIGNMENT_STATUS_UPDATED assignmentType")
@pytest.mark.parametrize("first", ["DOCUMENT", ""])
def test_an_assignment_is_of_the_type_that_its_events_say(workspace, first):
    said = {"assignmentType": first} if first else {}
    move(workspace, 1, "", "CREATED", **said)
    assert Assignment.objects.get().assignment_type == first
    move(workspace, 2, "CREATED", "ACTION_REQUIRED", assignmentType="DOCUMENT")
    assert Assignment.objects.get().assignment_type == "DOCUMENT"
    assert not StatusChange.objects.filter(is_listed=False).exists()
    move(workspace, 3, "ACTION_REQUIRED", "SCHEDULED")  # a step of photos alone
    assert StatusChange.objects.get(is_listed=False).new == "SCHEDULED"


@pytest.mark.rule("3.2 ACTION_REQUIRED → CREATED", "6.3 ASSIGNMENT_STATUS_UPDATED actionRequired")
def test_a_required_action_ends_with_its_status(workspace, order):
    move(workspace, 1, "CREATED", "ACTION_REQUIRED", actionRequired="POWER_OF_ATTORNEY_REQUIRED")
    move(workspace, 2, "ACTION_REQUIRED", "ACTION_REQUIRED")
    assert Assignment.objects.get().action_required == "POWER_OF_ATTORNEY_REQUIRED"
    move(workspace, 3, "ACTION_REQUIRED", "CREATED")
    assert Assignment.objects.get().action_required == ""


@pytest.mark.rule("3.2 terminal")
def test_a_terminal_status_that_is_left_is_believed_and_flagged_and_read(workspace, order):
    move_order(workspace, 1, "PLACED", "CANCELLED")
    set_aside(order)
    move_order(workspace, 2, "CANCELLED", "IN_PROGRESS")
    order.refresh_from_db()
    assert order.status == "IN_PROGRESS"
    assert is_due(order)
    assert StatusChange.objects.get(is_listed=False).previous == "CANCELLED"


@pytest.mark.rule("3.1 UNKNOWN", "9 rule 3")
def test_an_unknown_status_is_kept_as_it_came(workspace, order):
    effect = move_order(workspace, 1, "PLACED", "IN_REVIEW")
    assert effect.text == "order 1: Placed → IN_REVIEW (not a listed move)"
    order.refresh_from_db()
    assert (order.status, order.status_shown) == ("IN_REVIEW", "Unknown (IN_REVIEW)")


def test_text_that_no_database_stores_is_cleaned(workspace):
    move_order(workspace, 1, "PLACED", "IN\x00_\ud800PROGRESS")
    assert Order.objects.get().status == "IN_PROGRESS"


@pytest.mark.rule("6.3 PHOTOGRAPHER_BOOKED")
def test_a_booked_photographer_is_noted_and_the_assignment_read(workspace, order):
    book = {"orderId": "1", "assignmentId": "7"}
    tell(workspace, "PHOTOGRAPHER_BOOKED", timestamp=at(2), photographerId="51", **book)
    assert Assignment.objects.get().photographer == {"id": "51"}
    assert Assignment.objects.get().due_at <= datetime.now(UTC)
    assert not is_due(order)
    Assignment.objects.update(photographer={"id": "51", "name": "Photographer One"})
    tell(workspace, "PHOTOGRAPHER_BOOKED", timestamp=at(3), photographerId="51", **book)
    assert Assignment.objects.get().photographer == {"id": "51", "name": "Photographer One"}
    tell(workspace, "PHOTOGRAPHER_BOOKED", timestamp=at(1), photographerId="50", **book)
    assert Assignment.objects.get().photographer["id"] == "51"


@pytest.mark.rule("6.3 PHOTOGRAPHER_BOOKED")
def test_a_photographer_of_no_named_assignment_makes_the_order_due(workspace, order):
    effect = tell(
        workspace, "PHOTOGRAPHER_BOOKED", timestamp=at(2), photographerId="51", orderId="1"
    )
    assert effect == Effect(Outcome.APPLIED, "order 1: photographer 51 booked")
    assert Assignment.objects.get().photographer == {}
    assert is_due(order)


@pytest.mark.rule("6.3 VISUALS_READY timestamp")
def test_an_older_announcement_of_the_same_visuals_fetches_nothing(workspace, order):
    said = {
        "orderId": "1",
        "assignmentId": "7",
        "visualType": "POST",
        "product": "GROUND_PHOTO",
    }
    assert tell(workspace, "VISUALS_READY", timestamp=at(5), **said).outcome is Outcome.APPLIED
    MaterialSet.objects.update(due_at=None, fetched_at=datetime.now(UTC))
    assert tell(workspace, "VISUALS_READY", timestamp=at(4), **said).outcome is Outcome.STALE
    assert tell(workspace, "VISUALS_READY", timestamp=at(5), **said).outcome is Outcome.STALE
    assert MaterialSet.objects.get().due_at is None
    told = StatusChange.objects.filter(fact="MATERIALS").values_list("new", "new_name")
    assert list(told) == [("GROUND_PHOTO", "POST")] * 2


@pytest.mark.rule("S12")
def test_two_workspaces_may_have_the_same_ids(workspace):
    from crm_sync.models import Workspace

    other = Workspace.objects.create(slug="other", base_url="http://other.test")
    move_order(workspace, 1, "PLACED", "IN_PROGRESS")
    move_order(other, 1, "PLACED", "CANCELLED")
    move_order(workspace, 2, "IN_PROGRESS", "COMPLETED")
    assert sorted(Order.objects.values_list("workspace__slug", "status")) == [
        ("main", "COMPLETED"),
        ("other", "CANCELLED"),
    ]
