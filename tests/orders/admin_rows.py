"""Rows for the tests of the order screens, made by hand so that each column can be odd."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.test import Client
from django.urls import reverse

from crm_sync.models import Workspace
from orders.models import Assignment, Material, MaterialSet, Order, Placement, StatusChange
from properties.models import Property

LIST = "/admin/orders/order/"
PLACEMENTS = "/admin/orders/placement/"
GROUND_PHOTO = [{"id": "11", "product": "GROUND_PHOTO", "quantity": 1}]
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
Fact = StatusChange.Fact


def make_order(workspace: Workspace, platform_id: str = "5000", **columns: Any) -> Order:
    return Order.objects.create(
        workspace=workspace,
        platform_id=platform_id,
        **({"status": "PLACED", "is_confirmed": True} | columns),
    )


def make_assignment(order: Order, platform_id: str = "a1", **columns: Any) -> Assignment:
    return Assignment.objects.create(
        workspace=order.workspace,
        order=order,
        platform_id=platform_id,
        **({"status": "CREATED", "is_confirmed": True, "products": ["GROUND_PHOTO"]} | columns),
    )


def note(order: Order, new: str, *, previous: str = "", minutes: int = 0, **columns: Any) -> None:
    StatusChange.objects.create(
        order=order,
        previous=previous,
        new=new,
        occurred_at=NOW + timedelta(minutes=minutes),
        digest=f"{StatusChange.objects.count():064}",
        **({"fact": Fact.ORDER_STATUS, "source": "CALLBACK"} | columns),
    )


def make_full_order(workspace: Workspace, number: int) -> Order:
    home = Property.objects.create(
        workspace=workspace,
        object_reference_id=f"R-{number}",
        platform_id=f"{number}",
        desired={"title": f"Flat {number}"},
    )
    order = make_order(workspace, f"{number}", real_estate_property=home)
    for part in range(3):
        assignment = make_assignment(order, f"{number}-{part}", scheduled_at=NOW)
        note(order, "CREATED", fact=Fact.ASSIGNMENT_STATUS, assignment=assignment, minutes=part)
        ready = MaterialSet.objects.create(
            workspace=workspace, order=order, assignment=assignment, ready_at=NOW, due_at=NOW
        )
        Material.objects.create(material_set=ready, platform_id=f"{number}-{part}")
    Placement.objects.create(
        workspace=workspace,
        object_reference_id=f"R-{number}",
        user_platform_id="1",
        state="PLACED",
        order=order,
    )
    return order


def make_placement(home: Property, state: str, **columns: Any) -> Placement:
    return Placement.objects.create(
        workspace=home.workspace,
        real_estate_property=home,
        object_reference_id=home.object_reference_id,
        state=state,
        **(
            {"products": GROUND_PHOTO, "confirmed_at": NOW, "sent_at": NOW, "due_at": NOW} | columns
        ),
    )


def page(row: Order | Placement) -> str:
    return reverse(f"admin:orders_{row._meta.model_name}_change", args=[row.pk])


def context_of(client: Client, row: Order | Placement) -> Any:
    response = client.get(page(row))
    assert response.status_code == 200
    return response.context
