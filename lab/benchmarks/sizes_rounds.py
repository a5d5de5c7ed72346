"""The bytes of `sizes` as JSON: python -m lab.benchmarks.sizes_rounds

A line `{"what": text, "bytes": of each}` for each kind of row: what the whole database grew by,
with indexes, divided by the number of rows.
"""

import json
from io import StringIO

import django

django.setup()

from django.core.management import call_command  # noqa: E402 - Django is set up only now
from django.db import connection, models  # noqa: E402
from django.utils import timezone  # noqa: E402

from crm_sync.models import ReceivedEvent, WebhookMonitor, Workspace  # noqa: E402
from crm_sync.webhook import sample_events  # noqa: E402
from lab.benchmarks.stock import copies  # noqa: E402
from orders.models import Assignment, Order, StatusChange, UserList  # noqa: E402
from properties.models import Change, Property  # noqa: E402

MANY = 20_000
FEED = "examples/swissrets.xml"


def main() -> None:
    """Print the bytes of each kind."""
    now = timezone.now()
    workspace = Workspace.objects.create(
        slug="bench", base_url="http://platform.test", fixed_token="bench", auth_secret="s" * 40
    )
    call_command("import_properties", "bench", FEED, verbosity=0, stdout=StringIO())
    row = max(Property.objects.all(), key=lambda one: len(json.dumps(one.desired)))
    row.observed, row.due_at, row.platform_id, row.read_at = row.desired, None, "1", now
    row.save()
    report(
        "a property in sync, the largest of examples/swissrets.xml",
        row,
        *("object_reference_id",),
        "platform_id",
    )
    edit = Change.objects.create(
        real_estate_property=row,
        path="title",
        old="A title",
        new="Another title",
        origin="ADMIN",
        revision=2,
        at=now,
    )
    report("an edit of one field in the history", edit)
    payload = sample_events.sample("ASSIGNMENT_STATUS_UPDATED", at=now, fields={})
    event = ReceivedEvent.objects.create(
        workspace=workspace,
        digest="d",
        canonical_digest="c",
        body=json.dumps(payload).encode(),
        headers={"Content-Type": "application/json", "User-Agent": "platform/1.0"},
        method="POST",
        state=ReceivedEvent.State.APPLIED,
        kind="ASSIGNMENT_STATUS_UPDATED",
        order_platform_id="1",
        occurred_at=now,
        applied_at=now,
        effect="status of assignment 1",
    )
    report("an applied event", event, "digest", "canonical_digest")
    event.body, event.headers, event.cleared_at = b"", {}, now
    event.digest, event.canonical_digest = "e", "f"
    event.save()
    report("an event whose payload was removed", event, "digest", "canonical_digest")
    order = Order.objects.create(
        workspace=workspace,
        platform_id="1",
        object_reference_id="MH-1001",
        real_estate_property=row,
        status="IN_PROGRESS",
        due_at=now,
        observed=payload,
    )
    report("an order", order, "platform_id")
    report(
        "an assignment of it",
        Assignment.objects.create(workspace=workspace, order=order, platform_id="1"),
        "platform_id",
    )
    report(
        "a line of its timeline",
        StatusChange.objects.create(
            order=order,
            fact=StatusChange.Fact.ORDER_STATUS,
            new="PLACED",
            occurred_at=now,
            digest="d",
            source=StatusChange.Source.CALLBACK,
        ),
        "digest",
    )
    before = size()
    Workspace.objects.bulk_create(
        Workspace(
            slug=f"w{n}",
            base_url="http://platform.test",
            fixed_token="t" * 40,
            auth_secret="s" * 40,
        )
        for n in range(1_000)
    )
    rows = list(Workspace.objects.exclude(pk=workspace.pk))
    WebhookMonitor.objects.bulk_create(WebhookMonitor(workspace=one, due_at=now) for one in rows)
    UserList.objects.bulk_create(UserList(workspace=one, due_at=now) for one in rows)
    tell("a workspace with its webhook", (size() - before) / 1_000)


def report(what: str, row: models.Model, *numbered: str) -> None:
    """Store many like this row, and print what one takes."""
    before = size()
    copies(row, MANY, *numbered)
    tell(what, (size() - before) / MANY)


def tell(what: str, count: float) -> None:
    print(json.dumps({"what": what, "bytes": count}), flush=True)


def size() -> int:
    """Return the bytes of all tables and indexes, without what was deleted."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("select page_count * page_size from pragma_page_count, pragma_page_size")
        else:
            cursor.execute("vacuum")
            cursor.execute("select pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


if __name__ == "__main__":
    main()
