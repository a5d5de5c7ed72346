"""Edits that are made together: the same rows and the same history as one after the other (I1)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from crm_sync.models import Workspace
from properties import merge
from properties.domain import owners
from properties.domain.editing import Invalid, RowEdit, edit, edit_all
from properties.models import Change, Conflict, Property
from properties.models.change import Origin
from tests.properties.form_page import make
from tests.properties.test_bulk_edit_laws import DOCUMENTS, SETTINGS, is_valid

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
FAULTY = {"numberOfRooms": "many"}  # `edit` refuses it
NEWER = {"conditions": ["UNKNOWN", "WELL_KEPT"]}  # the platform knows a value that we do not
STOCK = st.fixed_dictionaries(
    {
        "desired": DOCUMENTS.filter(is_valid),
        "is_read": st.booleans(),
        "holds_unknown": st.booleans(),
        "conflict": st.none() | st.sampled_from(["title", "prices.rent"]),
        "changes": DOCUMENTS | st.just(FAULTY),
        "columns": st.sampled_from([{}, {"fed_digest": "1"}]),
        "is_meanwhile": st.booleans(),  # somebody edits it after it was read
    }
)


def stock(workspace: Workspace, number: int, drawn: dict[str, Any]) -> Property:
    row = make(workspace, f"A-{number}")
    edit(row, drawn["desired"], origin=Origin.ADMIN, now=NOW)
    there = NEWER if drawn["holds_unknown"] else {}
    columns: dict[str, Any] = {"is_urgent": False, "observed": there, "due_at": NOW}
    columns["desired"] = row.desired | there
    columns["read_at"] = NOW if drawn["is_read"] else None
    if path := drawn["conflict"]:
        columns["problem"] = {"CONFLICT": {path: "which?"}}
        Conflict.objects.create(
            real_estate_property=row, path=path, base=None, ours="a", theirs="b", created_at=NOW
        )
    Property.objects.filter(pk=row.pk).update(**columns)
    Change.objects.filter(real_estate_property=row).delete()  # at the time of this run
    return Property.objects.get(pk=row.pk)


def state(workspace: Workspace) -> list[Any]:
    """All that an edit can write, by reference, without keys."""
    return [
        (
            {
                name: value
                for name, value in Property.objects.filter(pk=row.pk).values()[0].items()
                if name not in {"id", "workspace_id", "created_at"}
            },
            sorted(map(repr, _of(Change, row))),
            sorted(map(repr, _of(Conflict, row))),
        )
        for row in Property.objects.filter(workspace=workspace).order_by("object_reference_id")
    ]


def _of(model: Any, row: Property) -> list[dict[str, Any]]:
    found = model.objects.filter(real_estate_property=row).values()
    return [
        {name: one[name] for name in one if name not in {"id", "real_estate_property_id"}}
        for one in found
    ]


@pytest.mark.rule("I1")
@SETTINGS
@given(drawn=st.lists(STOCK, min_size=1, max_size=5))
def test_edits_made_together_leave_what_edits_one_after_the_other_leave(main, drawn):
    Property.objects.all().delete()
    other, _ = Workspace.objects.get_or_create(slug="other", base_url="http://platform.test")
    ways = {}
    for workspace in (main, other):
        rows = [stock(workspace, n, one) for n, one in enumerate(drawn)]
        for row, one in zip(rows, drawn, strict=True):
            if one["is_meanwhile"]:
                fresh = Property.objects.get(pk=row.pk)
                edit(fresh, {"title": "Meanwhile"}, origin=Origin.ADMIN, now=NOW)
        ways[workspace] = rows
    rules = owners.of_workspace(main)
    by: dict[str, Any] = {"origin": Origin.FEED, "now": LATER, "cause": "import:1"}
    edits = [
        RowEdit(row, one["changes"], one["columns"])
        for row, one in zip(ways[main], drawn, strict=True)
    ]
    done = edit_all(edits, ownership=rules, **by)
    for number, one in enumerate(drawn):
        row = ways[main][number]
        if row.pk not in done:
            singly(row, one, rules, by)
        is_made = singly(ways[other][number], one, rules, by)
        if not (one["is_meanwhile"] or one["holds_unknown"] or one["conflict"]):
            assert (row.pk in done) == is_made
    assert state(main) == state(other)


def singly(row: Property, one: dict[str, Any], rules: Any, by: dict[str, Any]) -> bool:
    """Make an edit by itself; return whether anything was written."""
    try:
        changed = edit(row, one["changes"], ownership=rules, **by)
    except Invalid:
        return False
    if one["columns"]:
        Property.objects.filter(pk=row.pk).update(**one["columns"])
    return bool(changed or one["columns"])


def test_an_edit_together_leaves_to_a_person_what_it_must_not_decide(main):
    rows = [make(main, f"A-{n}") for n in range(4)]
    for row in rows:
        edit(row, {"title": "Old"}, origin=Origin.ADMIN, now=NOW)
    rows[3].desired, rows[3].observed = rows[3].desired | NEWER, NEWER
    rows[3].save(update_fields=["desired", "observed"])
    Conflict.objects.create(
        real_estate_property=rows[0],
        path="title",
        base=None,
        ours="Old",
        theirs="b",
        created_at=NOW,
    )
    edit(Property.objects.get(pk=rows[1].pk), {"title": "Mine"}, origin=Origin.ADMIN, now=NOW)
    new = {"title": "New"}
    edits = [RowEdit(row, new, {}) for row in rows[:3]]
    edits.append(RowEdit(rows[3], {**new, "conditions": ["WELL_KEPT"]}, {}))
    done = edit_all(edits, origin=Origin.FEED, now=LATER, ownership=owners.of_workspace(main))
    assert done == {rows[2].pk}
    titles = [merge.leaves(Property.objects.get(pk=row.pk).desired)["title"] for row in rows]
    assert titles == ["Old", "Mine", "New", "Old"]
