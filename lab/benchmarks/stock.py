"""Many rows like one, by one statement: what a benchmark stands on is there in a second."""

from django.db import connection, models

from crm_sync.models import ReceivedEvent, Workspace
from properties.models import Property

ADDRESS = {"street": "Lane", "streetNumber": "1", "postalCode": "3000", "locality": "Bern"}
DOCUMENT = {"title": "House", "propertyType": "HOUSE", "address": ADDRESS}
COPY = """
with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < %s)
insert into {table} ({columns}) select {values} from {table}, numbers where id = %s
"""


def copies(row: models.Model, count: int, *numbered: str) -> None:
    """Store `count` copies of a stored row.

    Args:
        numbered: the columns of text in which each copy has its number behind what stands there.
    """
    quote = connection.ops.quote_name
    fields = row._meta.concrete_fields
    names = [one.column for one in fields if not (one.primary_key or one.generated)]
    values = [f"{quote(one)} || n" if one in numbered else quote(one) for one in names]
    statement = COPY.format(
        table=quote(row._meta.db_table),
        columns=", ".join(quote(one) for one in names),
        values=", ".join(values),
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [count, row.pk])


def a_property(workspace: Workspace, name: str, **columns: object) -> Property:
    """Store one property that is in step, unless `columns` say something else."""
    given = {"platform_id": name, "desired": DOCUMENT, "observed": DOCUMENT} | columns
    return Property.objects.create(workspace=workspace, object_reference_id=name, **given)


def a_received_event(workspace: Workspace, name: str, **columns: object) -> ReceivedEvent:
    """Store one event: one that waits where `due_at` is given, else one that is settled."""
    if "due_at" not in columns:
        columns["state"] = ReceivedEvent.State.IGNORED
    return ReceivedEvent.objects.create(
        workspace=workspace, digest=name, body=b"{}", headers={}, method="POST", **columns
    )
