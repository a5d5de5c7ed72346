"""PREPARING and CONFIRMED were combinations of columns, and become states."""

from datetime import UTC, datetime

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

BEFORE, AFTER = "0008_problems_with_their_kind", "0009_states_of_placements"
AT = datetime(2026, 3, 1, tzinfo=UTC)
SAME = {"due_at": None, "confirmed_at": None, "sent_at": None}
# The state before, its columns, the state after.
ROWS = [
    ("DRAFT", {}, "DRAFT"),
    ("DRAFT", {"due_at": AT}, "PREPARING"),
    ("READY", {}, "READY"),
    ("READY", {"due_at": AT, "confirmed_at": AT}, "CONFIRMED"),
    ("SENDING", {"due_at": AT, "confirmed_at": AT, "sent_at": AT}, "SENDING"),
    ("UNCERTAIN", {"confirmed_at": AT, "sent_at": AT}, "UNCERTAIN"),
    ("FAILED", {"confirmed_at": AT}, "FAILED"),
]


def rows_at(name: str):
    apps = MigrationLoader(connection).project_state(("orders", name)).apps
    return apps.get_model("orders", "Placement").objects.order_by("pk")


@pytest.mark.django_db(transaction=True)
def test_two_combinations_of_columns_become_states_and_go_back(workspace):
    columns = [*SAME, "state"]
    try:
        call_command("migrate", "orders", BEFORE, verbosity=0)
        before = rows_at(BEFORE)
        for state, changed, _ in ROWS:
            before.create(workspace_id=workspace.pk, state=state, **changed)
        first = list(before.values_list(*columns))
        call_command("migrate", "orders", AFTER, verbosity=0)
        after = [dict(SAME, **changed) | {"state": state} for _, changed, state in ROWS]
        assert list(rows_at(AFTER).values(*columns)) == after
        call_command("migrate", "orders", BEFORE, verbosity=0)
        assert list(before.all().values_list(*columns)) == first
    finally:
        call_command("migrate", "orders", verbosity=0)
