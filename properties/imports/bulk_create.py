"""Create many properties at once that are new in the CRM.

The rows and the history are the same as by `editing.create`, in two INSERTs and one transaction.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection, models, transaction

from crm_sync.models import Workspace
from crm_sync.platform import references
from crm_sync.work.doorbell import doorbell
from properties import merge
from properties.catalog import FieldFault, is_empty
from properties.domain import editing
from properties.domain.editing import QUEUE, REFERENCE
from properties.models import Change, Property
from properties.models.change import Origin
from properties.models.match_columns import keys_of
from properties.models.search_column import stored
from properties.search_text import search_text

# How each database reads rows from one JSON document: a value as text, a value as JSON, the source.
_ROWS = {
    "sqlite": ("value->>{}", "value->{}", "json_each(%s)"),
    "postgresql": ("value->>{}", "value->{}", "jsonb_array_elements(%s::jsonb) AS item(value)"),
}
ENOUGH = 1_000  # rows with which a bad query plan becomes slow


@dataclass(frozen=True)
class NewProperty:
    """A property to be created.

    Attributes:
        wanted: the desired values by leaf, clean and without `faults`.
        columns: the other values of its row, by column of the model. All rows need the same ones.
    """

    reference: str
    wanted: Mapping[str, Any]
    columns: Mapping[str, Any] = field(default_factory=dict)


def faults(reference: str, wanted: Mapping[str, Any]) -> list[FieldFault]:
    """Return why a property cannot be created: its reference (A14), or its values (§4.6, §7)."""
    fault = references.fault(reference)
    found = [FieldFault(REFERENCE, fault)] if fault else []
    return found + editing.faults(dict(wanted), {})


def create_all(
    workspace: Workspace,
    found: Sequence[NewProperty],
    *,
    origin: Origin,
    now: datetime,
    cause: str = "",
) -> None:
    """Create properties, due for a push at once.

    Args:
        cause: see `Change.cause`.

    Raises:
        IntegrityError: one of the references exists already. Nothing was created.
    """
    rows = [_columns(one) for one in found]
    with transaction.atomic():
        keys = _insert(Property(workspace=workspace, revision=1, due_at=now), rows)
        made = {"origin": origin, "cause": cause, "revision": 1, "at": now}
        _record(keys, Change(path=Change.CREATION, **made))
        doorbell.ring(QUEUE, workspace.pk)


def _columns(new: NewProperty) -> dict[str, Any]:
    document = _document(new)
    return {
        "object_reference_id": new.reference,
        "desired": document,
        "search": stored(search_text(document, new.reference)),
        **keys_of(document),
        **new.columns,
    }


def _document(new: NewProperty) -> merge.Document:
    whole = {**new.wanted, REFERENCE: new.reference}
    return merge.document({path: v for path, v in whole.items() if not is_empty(path, v)})


def _insert(like: Property, rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Insert rows that are copies of `like` except for their own columns; return their keys.

    They are sent as one JSON document: a parameter for each value costs more than all other work.
    """
    own = list(rows[0])
    names, shared = _shared(like, leave_out={*own, "id"})
    text, document, source = _ROWS[connection.vendor]
    kinds = [isinstance(_field(like, name), models.JSONField) for name in own]
    values = [(document if kind else text).format(n) for n, kind in enumerate(kinds)]
    columns = ", ".join(_quoted(like, name) for name in (*names, *own))
    selected = ", ".join([*(["%s"] * len(shared)), *values])
    table = connection.ops.quote_name(like._meta.db_table)
    head = f"INSERT INTO {table} ({columns})"  # names of our models, no value
    sql = f"{head} SELECT {selected} FROM {source} RETURNING id"  # noqa: S608
    sent = json.dumps([list(row.values()) for row in rows])
    with connection.cursor() as cursor:
        cursor.execute(sql, [*shared, sent])
        return [key for (key,) in cursor.fetchall()]


def _record(keys: Sequence[int], like: Change) -> None:
    """Record the creation of each property, copied from its row within the database."""
    names, shared = _shared(like, leave_out={"id", "real_estate_property", "new"})
    columns = ", ".join(_quoted(like, n) for n in (*names, "real_estate_property", "new"))
    marks, table = ", ".join(["%s"] * len(shared)), connection.ops.quote_name(like._meta.db_table)
    made = Property.objects.filter(pk__in=keys).order_by("pk").values("pk", "desired")
    inner, parameters = made.query.sql_with_params()
    head = f"INSERT INTO {table} ({columns})"  # names of our models, no value
    sql = f"{head} SELECT {marks}, made.* FROM ({inner}) AS made"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql, [*shared, *parameters])


def _shared(row: models.Model, leave_out: set[str]) -> tuple[list[str], list[Any]]:
    """Return the names of the columns to write, and their values for the database."""
    fields = [
        one for one in row._meta.concrete_fields if not one.generated and one.name not in leave_out
    ]
    values = [one.get_db_prep_save(getattr(row, one.attname), connection) for one in fields]
    return [one.name for one in fields], values


def _field(row: models.Model, name: str) -> Any:
    return row._meta.get_field(name)


def _quoted(row: models.Model, name: str) -> str:
    return connection.ops.quote_name(str(_field(row, name).column))


def analyze(made: int) -> None:
    """Analyze the tables without statistics if an import has created enough rows.

    A table that is being analyzed or vacuumed at the moment is skipped.
    """
    if connection.vendor != "postgresql" or made < ENOUGH:
        return
    with connection.cursor() as cursor:
        for model in (Property, Change):
            table = connection.ops.quote_name(model._meta.db_table)
            cursor.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [table])
            if cursor.fetchone()[0] < ENOUGH:
                cursor.execute(f"ANALYZE (SKIP_LOCKED) {table}")
