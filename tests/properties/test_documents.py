"""The database takes no document that no code could read: one such row would stop all others."""

import json

import pytest
from django.db import IntegrityError, connection, transaction

from properties.models import DriftCheck, Property
from tests.properties.recurring import Kind, take


@pytest.mark.parametrize("column", ["desired", "observed", "inflight", "problem"])
@pytest.mark.parametrize("value", ["text", [1], 5, True, None], ids=repr)
def test_what_is_no_object_is_refused_however_it_is_written(workspace, column, value):
    row = Property.objects.create(workspace=workspace, object_reference_id="A-1")
    sql = f"UPDATE properties_property SET {column} = %s WHERE id = %s"
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, [json.dumps(value), row.pk])
    setattr(row, column, value)
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save()
    row.refresh_from_db()
    assert getattr(row, column) == {}
    assert take(Kind.SWEEP, workspace) == {"done": 1}
    check = DriftCheck.objects.get()
    assert (check.compared, check.unexplained) == (1, 0)
