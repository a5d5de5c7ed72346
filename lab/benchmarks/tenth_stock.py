"""The stock of `tenth`: many rows of each kind, each with values of its own, made by the server.

One row of each kind is made by the product's own code. The server multiplies it, and replaces the
numbers in it, so that each copy has its own reference, phone, words of the search and keys.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection, models
from django.utils import timezone

from crm_sync.models import ReceivedEvent, WebhookMonitor, Workspace
from crm_sync.webhook import sample_events
from orders.models import Assignment, Order, StatusChange, UserList
from properties.models import Change, Property, Recurring

NUMBER, PHONE, NAME = "7777777", "5555555", "Nachname"
FIRST = 1_000_000  # so that each number has as many digits as NUMBER
DAYS = 100  # over which events are spread: a tenth of them is older than they are kept
TEXT = "Hell und ruhig, mit Blick auf den See und die Berge. " * 6
STREETS = ("Seestrasse", "Bahnhofstrasse", "Dorfweg", "Kirchgasse", "Im Grünen Hof")
PLACES = ("Zürich", "Bern", "Winterthur", "Basel", "Luzern", "Genève", "Thun")
# What no constraint stands on is dropped while many rows are stored, and made again over all.
INDEXES = """
select indexname, indexdef from pg_indexes where schemaname = 'public' and tablename = any(%s)
and indexname not in (select conname from pg_constraint) and indexdef not like '%%UNIQUE%%'
"""


@dataclass(frozen=True)
class Size:
    """How much is stored in all."""

    workspaces: int
    properties: int
    events: int

    @property
    def orders(self) -> int:
        return self.properties // 2

    @property
    def rows(self) -> int:
        """All rows but the few of each workspace: what a backup and an audit go through."""
        of_orders = 4 * self.orders  # the order, an assignment, two lines of its timeline
        return self.properties + 2 * self.properties + of_orders + self.events


def grow(there: Size, wanted: Size) -> None:
    """Store what is missing, in new workspaces, and let the planner know of it."""
    new = Size(
        wanted.workspaces - there.workspaces,
        wanted.properties - there.properties,
        wanted.events - there.events,
    )
    now = timezone.now()
    _workspaces(there.workspaces, new.workspaces)
    with _without_indexes(Property, Change, Order, Assignment, StatusChange, ReceivedEvent):
        last = Property.objects.aggregate(last=models.Max("pk"))["last"] or 0
        _properties(there.properties, new)
        _changes(last)
        last = Order.objects.aggregate(last=models.Max("pk"))["last"] or 0
        _orders(there, new)
        _of_orders(last)
        _events(there, new, now)
    run("drop table new_workspace")
    run("vacuum analyze")
    run("checkpoint")  # what was stored does not write on beside us


def _workspaces(there: int, count: int) -> None:
    """Each is polled, read and swept later than this benchmark takes."""
    later = timezone.now() + timedelta(hours=6)
    Workspace.objects.bulk_create(
        Workspace(slug=f"w{there + n}", base_url="http://platform.test", fixed_token="bench")
        for n in range(count)
    )
    run(
        "create table new_workspace as select id, row_number() over (order by id) - 1 as n"
        " from crm_sync_workspace where slug like 'w%%' order by id desc limit %s",
        count,
    )
    run("update new_workspace set n = n - %s", there)
    rows = list(Workspace.objects.filter(slug__startswith="w").order_by("-pk")[:count])
    WebhookMonitor.objects.bulk_create(WebhookMonitor(workspace=one, due_at=later) for one in rows)
    UserList.objects.bulk_create(UserList(workspace=one, due_at=later) for one in rows)
    Recurring.objects.bulk_create(
        Recurring(workspace=one, kind=kind, due_at=later) for one in rows for kind in Recurring.Kind
    )


def _properties(there: int, new: Size) -> None:
    now, templates = timezone.now(), Workspace.objects.create(slug="templates", base_url="http://x")
    numbers = range(len(STREETS) * len(PLACES))
    made = [_template(templates, number, now) for number in numbers]
    # A property has its own number in everything by which it is found.
    own = f"replace(replace(t.{{}}::text, '{NUMBER}', k.g::text), '{PHONE}', k.g::text)"
    moved = {one: own.format(one) for one in ("search", "address_key")}
    documents = {one: f"{own.format(one)}::jsonb" for one in ("desired", "observed")}
    multiply(
        Property,
        f"(select {FIRST + there} + s as g, s % {new.workspaces} as w,"
        f" s / {new.workspaces} % {len(made)} as one"
        f" from generate_series(0, {new.properties - 1}) s) k"
        " join new_workspace w on w.n = k.w"
        f" join {Property._meta.db_table} t on t.id = {made[0].pk} + k.one",
        workspace_id="w.id",
        platform_id="k.g::text",
        object_reference_id="'R' || k.g",
        created_at=f"now() - interval '{DAYS} days' * random()",
        read_at="now() - interval '1 day' * random()",
        **moved,
        **documents,
    )
    Property.objects.filter(workspace=templates).delete()
    templates.delete()


def _template(workspace: Workspace, number: int, now: Any) -> Property:
    offer = {"prices": {"currency": "CHF", "rent": {"net": 1_000 + number * 40}}}
    document = {
        "objectReferenceId": f"R{NUMBER}",
        "title": f"Wohnung {NUMBER}, hell",
        "descriptionText": TEXT,
        "propertyType": "APARTMENT",
        "offerType": "RENT",
        "address": {
            "street": STREETS[number % len(STREETS)],
            "streetNumber": NUMBER,
            "postalCode": str(1_000 + number),
            "locality": PLACES[number % len(PLACES)],
        },
        "numberOfRooms": number % 15 / 2,
        **offer,
        "owner": {"givenName": "Anna", "familyName": NAME},
        "seller": {"contactPerson": {"familyName": NAME, "phone": f"044 {PHONE}"}},
    }
    return Property.objects.create(
        workspace=workspace,
        platform_id=f"T{number}",
        desired=document,
        observed=document,
        read_at=now,
    )


def _changes(last: int) -> None:
    """Two edits of each property that is new."""
    first = Property.objects.filter(pk__gt=last).order_by("pk").first()
    row = Change.objects.create(
        real_estate_property=first,
        path="title",
        old="A title",
        new="Another title",
        origin=Change.Origin.FEED,
        cause="import:1",
        revision=1,
    )
    multiply(
        Change,
        f"{Property._meta.db_table} p cross join generate_series(1, 2) s"
        f" join {Change._meta.db_table} t on t.id = {row.pk} where p.id > {last}",
        real_estate_property_id="p.id",
        revision="s",
        at=f"now() - interval '{DAYS} days' * random()",
    )
    row.delete()


def _orders(there: Size, new: Size) -> None:
    """One for every second property; one of sixteen is open and read again later."""
    now = timezone.now()
    first = Property.objects.order_by("pk").first()
    row = Order.objects.create(
        workspace=first.workspace,
        platform_id="template",
        real_estate_property=first,
        status="COMPLETED",
        observed={"id": "1", "assignments": [{"id": "1-1", "status": "DELIVERED"}]},
        placed_at=now,
        read_at=now,
        is_confirmed=True,
    )
    # Workspaces get properties in turn: this is the how manieth one of its workspace.
    g = r"case when platform_id ~ '^\d+$' then platform_id::int end"
    nth = f"({g} - {FIRST + there.properties}) / {new.workspaces}"
    is_open = "k.nth % 32 = 0"
    multiply(
        Order,
        f"(select id, workspace_id, object_reference_id, {g} as g, {nth} as nth"
        f" from {Property._meta.db_table} where {g} >= {FIRST + there.properties}"
        f" and {nth} % 2 = 0) k join {Order._meta.db_table} t on t.id = {row.pk}",
        workspace_id="k.workspace_id",
        real_estate_property_id="k.id",
        object_reference_id="k.object_reference_id",
        property_platform_id="k.g::text",
        platform_id="'O-' || k.g",
        status=f"case when {is_open} then 'IN_PROGRESS' else 'COMPLETED' end",
        due_at=f"case when {is_open} then now() + interval '6 hours' end",
        created_at=f"now() - interval '{DAYS} days' * random()",
    )
    row.delete()


def _of_orders(last: int) -> None:
    first = Order.objects.filter(pk__gt=last).order_by("pk").first()
    now = timezone.now()
    row = Assignment.objects.create(
        workspace=first.workspace,
        order=first,
        platform_id="template",
        status="DELIVERED",
        is_confirmed=True,
        products=["GROUND_PHOTO"],
        scheduled_at=now,
    )
    line = StatusChange.objects.create(
        order=first, fact="ORDER_STATUS", new="PLACED", occurred_at=now, digest="d", source="READ"
    )
    of = f"{Order._meta.db_table} o"
    multiply(
        Assignment,
        f"{of} join {Assignment._meta.db_table} t on t.id = {row.pk} where o.id > {last}",
        workspace_id="o.workspace_id",
        order_id="o.id",
        platform_id="o.platform_id || '-1'",
        scheduled_at="o.created_at + interval '7 days'",
        status="case when o.status = 'COMPLETED' then 'DELIVERED' else 'SCHEDULED' end",
    )
    multiply(
        StatusChange,
        f"{of} cross join generate_series(1, 2) s"
        f" join {StatusChange._meta.db_table} t on t.id = {line.pk} where o.id > {last}",
        order_id="o.id",
        digest="md5(o.platform_id || s)",
        occurred_at="o.created_at + s * interval '1 day'",
        created_at="o.created_at + s * interval '1 day'",
    )
    row.delete()
    line.delete()


def _events(there: Size, new: Size, now: Any) -> None:
    """Applied events, which come in turn from all workspaces, the newest last."""
    first = Workspace.objects.order_by("pk").first()
    payload = sample_events.sample("ORDER_STATUS_UPDATED", at=now, fields={})
    row = ReceivedEvent.objects.create(
        workspace=first,
        digest="template",
        canonical_digest="template",
        body=json.dumps(payload).encode(),
        headers={"Content-Type": "application/json", "User-Agent": "platform/1.0"},
        method="POST",
        state=ReceivedEvent.State.APPLIED,
        kind="ORDER_STATUS_UPDATED",
        occurred_at=now,
        applied_at=now,
        effect="as before",
    )
    at = f"now() - interval '{DAYS} days' * (1 - k.s::float / {new.events})"
    # Twenty for each order of its workspace. Properties are dealt out to workspaces in turn, too.
    each = new.properties // new.workspaces
    order = f"{FIRST + there.properties} + k.w + {new.workspaces} * 2 * (k.s / {new.workspaces}"
    order += f" % {each // 2})"
    multiply(
        ReceivedEvent,
        f"(select s, s % {new.workspaces} as w from generate_series(0, {new.events - 1}) s) k"
        " join new_workspace w on w.n = k.w"
        f" join {ReceivedEvent._meta.db_table} t on t.id = {row.pk}",
        workspace_id="w.id",
        digest=f"md5('a{there.events}' || k.s) || md5('b' || k.s)",
        canonical_digest=f"md5('c{there.events}' || k.s) || md5('d' || k.s)",
        order_platform_id=f"'O-' || {order}",
        received_at=at,
        occurred_at=at,
        applied_at=at,
    )
    row.delete()


def multiply(model: type[models.Model], source: str, **own: str) -> None:
    """Store a row for each row of the source, with the values of its template `t`.

    Args:
        source: what stands behind FROM; it names the template `t`.
        own: column → the expression of its value, where it is not that of the template.
    """
    fields = model._meta.concrete_fields
    names = [one.column for one in fields if not (one.primary_key or one.generated)]
    values = [own.get(name, f't."{name}"') for name in names]
    columns = ", ".join(f'"{name}"' for name in names)
    table = model._meta.db_table
    run(f'insert into "{table}" ({columns}) select {", ".join(values)} from {source}')


@contextmanager
def _without_indexes(*tables: type[models.Model]) -> Iterator[None]:
    """Make the indexes of these tables once over all rows, and check no foreign key."""
    names = [one._meta.db_table for one in tables]
    with connection.cursor() as cursor:
        cursor.execute(INDEXES, [names])
        indexes = cursor.fetchall()
    run("set session_replication_role = replica")
    for name, _ in indexes:
        run(f'drop index "{name}"')
    yield
    run("set maintenance_work_mem = '1GB'")
    for _, definition in indexes:
        run(definition)
    run("set session_replication_role = origin")


def run(statement: str, *values: Any) -> None:
    """Run a statement that may take minutes."""
    with connection.cursor() as cursor:
        cursor.execute("set statement_timeout = 0")
        cursor.execute(statement, values or None)
        cursor.execute("reset statement_timeout")
