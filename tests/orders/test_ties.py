"""Which property of ours an order is for: the one with its id, else with its reference (A43)."""

import pytest

from orders.models import Order
from properties.models import Property
from tests.orders.conftest import at, now, tell
from tests.placing import place_at_once

STEP = {"previousStatus": "PLACED", "newStatus": "IN_PROGRESS"}


def two_claimants(workspace, home) -> Property:
    """Let another property of ours have the reference by which the platform calls `home`."""
    Property.objects.filter(pk=home.pk).update(object_reference_id="OLD-1")
    return Property.objects.create(
        workspace=workspace, object_reference_id="SEED-1", platform_id="202"
    )


def test_an_order_that_two_properties_could_claim_is_of_the_one_with_its_id(
    box, workspace, home, drain_all
):
    other = two_claimants(workspace, home)
    placed = place_at_once(
        workspace, reference="SEED-1", user="AGENT-1", products=["GROUND_PHOTO"], now=now()
    )
    told = box.workspace.orders[placed.order.platform_id]
    told |= {"realEstatePropertyId": "201", "objectReferenceId": "SEED-1"}
    Order.objects.update(real_estate_property=None, property_platform_id="", object_reference_id="")
    Order.objects.update(due_at=now())
    drain_all()
    order = Order.objects.get()
    assert (order.object_reference_id, order.property_platform_id) == ("SEED-1", "201")
    assert order.real_estate_property == home
    assert not Order.objects.filter(real_estate_property=other).exists()


@pytest.mark.parametrize("has_rival", [True, False])
def test_an_event_is_of_the_property_with_its_id_else_with_its_reference(
    workspace, home, has_rival
):
    if has_rival:
        two_claimants(workspace, home)
    else:
        Property.objects.filter(pk=home.pk).update(platform_id=None)
    ids = {"orderId": "77", "realEstatePropertyId": "201", "objectReferenceId": "SEED-1"}
    tell(workspace, "ORDER_STATUS_UPDATED", occurredAt=at(0), **ids, **STEP)
    assert Order.objects.get().real_estate_property == home
