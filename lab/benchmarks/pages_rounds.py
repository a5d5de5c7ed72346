"""The pages of `pages` as JSON: python -m lab.benchmarks.pages_rounds

A line of `visits.visit` for each page.
"""

from datetime import timedelta

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402 - Django is set up only now
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import reverse  # noqa: E402
from django.utils import timezone  # noqa: E402

from crm_sync.models import ReceivedEvent, WebhookMonitor, Workspace  # noqa: E402
from lab.benchmarks import stock  # noqa: E402
from lab.benchmarks.stock import a_property, a_received_event, copies  # noqa: E402
from lab.benchmarks.visits import visit  # noqa: E402
from orders.models import Assignment, Order  # noqa: E402
from properties.models import Property  # noqa: E402
from properties.models.property import WaitReason  # noqa: E402

PROPERTIES, ORDERS, EVENTS = 100_000, 50_000, 1_000_000
UNMATCHED = 100_000  # of a workspace of their own: half only here, half only on the platform
PROBLEMS = 1_000  # properties with a field that waits for a person
ROUNDS = 5
# Each row at a time of its own, as in life: the lists are sorted by it.
SPREAD = "update {table} set {column} = now() - id * interval '{step}'"


def main() -> None:
    """Fill the database, then open each page."""
    fill()
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.create_superuser("operator"))
    for what, address in pages().items():
        visit(client, what, address, rounds=ROUNDS)
    # After the others, whose lists would grow by these rows.
    visit(client, f"workspace, match, {UNMATCHED:,} unmatched", unmatched(), rounds=ROUNDS)


def fill() -> None:
    """Store properties, orders and received events, most of them in step and settled."""
    now = timezone.now()
    workspace = Workspace.objects.create(slug="main", base_url="https://platform.test")
    WebhookMonitor.objects.create(workspace=workspace, due_at=now + timedelta(hours=1))
    # The number behind the words of the search makes the last one of each row its own: "house77".
    named = ("object_reference_id", "platform_id", "search", "address_key")
    copies(a_property(workspace, "P-", read_at=now), PROPERTIES - PROBLEMS, *named)
    blocked = {"REFUSED": {"title": "is too long"}}
    copies(a_property(workspace, "Q-", read_at=now, problem=blocked), PROBLEMS, *named)
    order = Order.objects.create(
        workspace=workspace, platform_id="O-", status="COMPLETED", placed_at=now, read_at=now
    )
    copies(order, ORDERS, "platform_id")
    Assignment.objects.bulk_create(
        (
            Assignment(workspace=workspace, order_id=pk, platform_id=f"A-{pk}", status="DELIVERED")
            for pk in Order.objects.values_list("pk", flat=True)
        ),
        batch_size=2_000,
    )
    copies(a_received_event(workspace, "E-"), EVENTS, "digest")
    with connection.cursor() as cursor:
        cursor.execute("set statement_timeout = 0")  # a million rows in one statement
        for model, column, step in (
            (Order, "created_at", "1 minute"),
            (ReceivedEvent, "received_at", "1 second"),
        ):
            table = connection.ops.quote_name(model._meta.db_table)
            cursor.execute(SPREAD.format(table=table, column=column, step=step))
        cursor.execute("vacuum analyze")
        cursor.execute("reset statement_timeout")


def unmatched() -> str:
    """Store properties of which each is on both sides once, unlinked; the address to match them."""
    workspace = Workspace.objects.create(slug="new", base_url="https://platform.test")
    place = {"street": "Street", "postalCode": "8000"}
    document = stock.DOCUMENT | {"address": place}
    waits = {"due_at": timezone.now(), "wait_reason": WaitReason.MATCH}
    here = a_property(workspace, "N-", desired=document, observed={}, platform_id=None, **waits)
    there = a_property(workspace, "T-", desired=document, observed=document)
    # The number behind its key makes the address of each row its own.
    named = ("object_reference_id", "address_key", "search")
    copies(here, UNMATCHED // 2 - 1, *named)
    copies(there, UNMATCHED // 2 - 1, *named, "platform_id")
    with connection.cursor() as cursor:
        cursor.execute("vacuum analyze" if connection.vendor == "postgresql" else "analyze")
    return reverse("admin:properties_property_match", args=[workspace.pk])


def pages() -> dict[str, str]:
    """Return the addresses: each list, its twentieth page and a search, and a page of each kind."""
    found = {"overview": "/admin/"}
    for words, name, searched, model in (
        ("properties", "properties/property", "house77", Property),
        ("orders", "orders/order", "O-4711", Order),
        ("received events", "crm_sync/receivedevent", "O-4711", ReceivedEvent),
    ):
        listed = f"/admin/{name}/"
        found[f"list of {words}"] = listed
        found[f"list of {words}, the twentieth page"] = f"{listed}?p=20"
        found[f"list of {words}, a search"] = f"{listed}?q={searched}"
        found[f"one of the {words}"] = f"{listed}{model.objects.order_by('pk').first().pk}/change/"
    for words, name in (
        ("conflicts", "properties/conflict"),
        ("drift", "properties/driftcheck"),
        ("imports", "properties/import"),
        ("placements", "orders/placement"),
        ("workspaces", "crm_sync/workspace"),
    ):
        found[f"list of {words}"] = f"/admin/{name}/"
    workspace = Workspace.objects.order_by("pk").first().pk
    for tab in ("webhook", "gaps", "pause"):
        found[f"workspace, {tab}"] = f"/admin/crm_sync/workspace/{workspace}/{tab}/"
    found["workspace, fields"] = reverse("admin:properties_property_owners", args=[workspace])
    found["workspace, match"] = reverse("admin:properties_property_match", args=[workspace])
    found["calendar"] = reverse("admin:orders_order_calendar")
    return found


if __name__ == "__main__":
    main()
