"""Many properties at once that the CRM has and we do not know yet.

The rows and the history are those of `sync.create`, in two INSERTs and one transaction.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from crm_sync import merge, references
from crm_sync.dispatch import doorbell
from crm_sync.merge import Leaves
from properties.catalog import Fault, equal, validate
from properties.models import Change, Property
from properties.models.change import Origin
from properties.sync import QUEUE, REFERENCE

# How each database reads rows of (property, path, new value as JSON) from one JSON document.
_ROWS = {
    "sqlite": "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'),"
    " json_extract(value, '$[2]'), {same} FROM json_each(%s)",
    "postgresql": "SELECT (value->>0)::bigint, value->>1, (value->>2)::jsonb, {same}"
    " FROM jsonb_array_elements(%s::jsonb) AS item(value)",
}


def faults(reference: str, wanted: Mapping[str, Any]) -> list[Fault]:
    """Return why a property cannot be made: its reference (A14), or its values (§4.6, §7)."""
    fault = references.fault(reference)
    found = [Fault(REFERENCE, f"the reference {fault}")] if fault else []
    return found + [f for path, value in wanted.items() for f in validate(path, value)]


def create_all(
    arrivals: Sequence[tuple[Property, Mapping[str, Any]]], *, origin: Origin, now: datetime
) -> None:
    """Make the properties; they are due for a push at once.

    Args:
        arrivals: rows that are not saved yet, each with what is wanted of it, leaf by leaf: clean,
            and without `faults`.

    Raises:
        IntegrityError: one of the references is there already; nothing was made.
    """
    real = [(row, _said(row, wanted)) for row, wanted in arrivals]
    for row, leaves in real:
        row.desired, row.revision, row.due_at = merge.document(leaves), 1, now
    with transaction.atomic():
        Property.objects.bulk_create([row for row, _ in real])
        _record(real, origin=origin, now=now)
        for workspace_id in {row.workspace_id for row, _ in real}:
            doorbell.ring(QUEUE, workspace_id)


def _record(real: Sequence[tuple[Property, Leaves]], *, origin: Origin, now: datetime) -> None:
    """Write the history straight from the leaves: a record has dozens, and a model each costs."""
    same = {"origin": origin.value, "note": "", "revision": 1, "at": now}
    fields = {field.name: field for field in Change._meta.concrete_fields}
    names = [fields[name].column for name in ("real_estate_property", "path", "new", *same)]
    columns = ", ".join(connection.ops.quote_name(str(name)) for name in names)
    table = connection.ops.quote_name(Change._meta.db_table)
    values = [fields[name].get_db_prep_save(value, connection) for name, value in same.items()]
    rows = _ROWS[connection.vendor].format(same=", ".join(["%s"] * len(values)))
    leaves = [(row.pk, path, json.dumps(v)) for row, said in real for path, v in said.items()]
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} ({columns}) {rows}", [*values, json.dumps(leaves)])


def _said(row: Property, wanted: Mapping[str, Any]) -> Leaves:
    """Return the leaves that say something, the reference among them."""
    whole = {**wanted, REFERENCE: row.object_reference_id}
    return {path: value for path, value in whole.items() if not equal(path, value, None)}
