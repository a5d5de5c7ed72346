"""The main job on every kind of platform: the same comes of it, however the platform answers."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.utils.timezone import now

from orders.models import Assignment, Material, Order
from properties.domain.editing import create, edit
from properties.models import Property
from sandbox.interface.switches import PLATFORMS

pytestmark = pytest.mark.parametrize("box", PLATFORMS, indirect=True)


def placed(workspace, drain_all) -> Order:
    """Order photos of a new property."""
    title = {"title": "House", "prices.rent": {"net": 1000, "gross": 1200}}
    create(workspace, "H-1", title, origin="API", now=now())
    drain_all()
    words = ("--reference", "H-1", "--user", "AGENT-1", "--product", "GROUND_PHOTO")
    call_command("place_order", "main", *words, stdout=StringIO())
    drain_all()
    return Order.objects.get()


def test_an_order_is_followed_from_the_property_to_its_pictures(box, workspace, drain_all):
    order = placed(workspace, drain_all)
    assert (order.status, order.property_platform_id) == ("PLACED", "1001")
    while box.step():
        box.deliver()
        drain_all()
    order.refresh_from_db()
    assert order.status == "COMPLETED"
    assignment = Assignment.objects.get()
    assert (assignment.status, assignment.assignment_type) == ("DELIVERED", "PHOTO")
    assert assignment.products == ["GROUND_PHOTO"]
    assert assignment.photographer["name"] == "Photographer One"
    assert f"{assignment.scheduled_at:%H:%M}" == "09:00"
    names = Material.objects.filter(material_set__assignment=assignment)
    assert "ground-photo-1.png" in names.values_list("file_name", flat=True)


def test_an_order_that_is_cancelled_is_cancelled_here_too(box, workspace, drain_all):
    order = placed(workspace, drain_all)
    call_command("cancel_order", "main", order.platform_id, "--user", "AGENT-1", stdout=StringIO())
    drain_all()
    order.refresh_from_db()
    assert order.status == "CANCELLED"
    assert Assignment.objects.get().status == "CANCELLED"


@pytest.mark.rule("4.6 rule 3")
def test_an_edit_of_a_leaf_leaves_its_neighbours(box, workspace, drain_all):
    placed(workspace, drain_all)
    row = Property.objects.get()
    edit(row, {"prices.rent": {"net": 1100, "gross": 1200}}, origin="API", now=now())
    drain_all()
    assert box.workspace.properties["1001"]["prices"]["rent"] == {"net": 1100, "gross": 1200}
    row.refresh_from_db()
    assert (row.due_at, row.problem) == (None, {})


def test_what_the_platform_has_is_pulled(box, workspace, drain_all):
    call_command("pull_properties", "main", stdout=StringIO())
    drain_all()
    found = Property.objects.order_by("platform_id").values_list("platform_id", "desired__title")
    there = box.workspace.properties.values()
    assert list(found) == [(one["id"], one["title"]) for one in there]
